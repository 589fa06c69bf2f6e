package keyring

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/audit"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/controlplane/seal"
)

const (
	// resealAtOnce bounds one transaction of a rotation.
	resealAtOnce = 100
	// resealPerCall bounds one call: progress is shown between calls.
	resealPerCall = 2000
	// resealWithin bounds the time of one call: a key in Vault takes two requests a value.
	resealWithin = 10 * time.Second
)

// ListKeys lists the master keys: those of this control plane, newest first, and
// any other that values are still sealed under.
func (k *Keyring) ListKeys(
	ctx context.Context, actor access.Actor,
) (all []controlplane.KeyState, err error) {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return nil, err
	}
	// An outage of Vault is no reason not to list what is known.
	if err := k.keys.Refresh(ctx); err != nil {
		k.log.WarnContext(ctx, "sealing keys were not refreshed", "error", err.Error())
	}
	err = k.store.Read(ctx, func(tx *postgres.Tx) error {
		uses, err := tx.MasterKeys().CountValues(ctx)
		all = k.keyStates(uses)
		return err
	})
	return all, err
}

// CountUnderMissingKeys returns the keys that values are sealed under and that this process does
// not have, with how many values each has. Each key that was ever used has a check, so that nothing
// is counted while none is missing.
func (k *Keyring) CountUnderMissingKeys(
	ctx context.Context, actor access.Actor,
) (missing map[string]int64, err error) {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return nil, err
	}
	var checks map[string]controlplane.Sealed
	err = k.store.Read(ctx, func(tx *postgres.Tx) error {
		checks, err = tx.MasterKeys().ListChecks(ctx)
		return err
	})
	missing = map[string]int64{}
	lacks := func(kid string) bool { return !k.hasKey(kid) }
	if err != nil || !slices.ContainsFunc(slices.Collect(maps.Keys(checks)), lacks) {
		return missing, err
	}
	all, err := k.ListKeys(ctx, actor)
	for _, s := range all {
		if !s.Present && s.Values > 0 {
			missing[s.Key] = s.Values
		}
	}
	return missing, err
}

func (k *Keyring) keyStates(uses []controlplane.KeyUse) []controlplane.KeyState {
	all := []controlplane.KeyState{}
	at := map[string]int{}
	add := func(s controlplane.KeyState) int {
		at[s.Key] = len(all)
		all = append(all, s)
		return at[s.Key]
	}
	for _, kid := range k.keys.KeyIDs() {
		add(controlplane.KeyState{Key: kid, Present: true, Primary: kid == k.keys.PrimaryKeyID(),
			Source: k.keys.SourceOf(kid)})
	}
	for _, use := range uses {
		i, ok := at[use.Key]
		if !ok {
			i = add(controlplane.KeyState{Key: use.Key})
		}
		all[i].Uses = append(all[i].Uses, use)
		all[i].Values += use.Values
	}
	return all
}

// RotateKeys seals a bounded number of values under the first key, and returns how
// many are left. It may be interrupted and called again at any time: every value can
// be opened before, during and after. To is where the first key has to be, "local" or
// "vault", so that the values do not stay under a local key unnoticed; empty is anywhere.
func (k *Keyring) RotateKeys(
	ctx context.Context, actor access.Actor, to string,
) (done, left int64, err error) {
	object := "keys to " + k.keys.PrimaryKeyID()
	if err := audit.RequireAdmin(ctx, k.store, actor, "rotate", object); err != nil {
		return 0, 0, err
	}
	if err := k.keys.Refresh(ctx); err != nil {
		return 0, 0, explainRefresh(err)
	}
	object = "keys to " + k.keys.PrimaryKeyID()
	if err := k.checkMove(to); err != nil {
		return 0, 0, audit.RecordRefusal(ctx, k.store, actor, "rotate", object, err)
	}
	start := time.Now()
	for more := true; more && done < resealPerCall && time.Since(start) < resealWithin; {
		err := audit.ChangeAsAdmin(ctx, k.store, actor, "rotate", object, func(tx *postgres.Tx) error {
			n, err := k.resealBatch(ctx, tx)
			done, more = done+int64(n), n == resealAtOnce
			return err
		})
		if err != nil {
			return done, 0, err
		}
	}
	err = k.store.Read(ctx, func(tx *postgres.Tx) error {
		uses, err := tx.MasterKeys().CountValues(ctx)
		for _, use := range uses {
			if use.Key != k.keys.PrimaryKeyID() {
				left += use.Values
			}
		}
		return err
	})
	return done, left, err
}

// checkMove refuses to move values to where new ones do not go.
func (k *Keyring) checkMove(to string) error {
	primary := k.keys.PrimaryKeyID()
	source := k.keys.SourceOf(primary)
	if to == "" || source == to || strings.HasPrefix(source, to+" ") {
		return nil
	}
	return &controlplane.Error{
		Kind: controlplane.Conflict, Code: "key_elsewhere",
		Message: "new values are sealed under the key " + primary + " (" + source +
			"), which is not in " + to,
		Remedy: "Change master.primary, restart every control plane and ingress, one after the " +
			"other, and try again.",
	}
}

func explainRefresh(err error) error {
	if !errors.Is(err, seal.ErrUnavailable) && !errors.Is(err, seal.ErrRefused) {
		return err
	}
	return &controlplane.Error{
		Kind: controlplane.Unavailable, Code: "sealing_key_unavailable",
		Message: "the sealing keys in Vault cannot be listed", RetryAfter: RetryWaiting, Cause: err,
		Remedy: "Check that Vault runs and is unsealed, and the control plane's policy there. " +
			"What was rotated stays rotated: run it again.",
	}
}

func (k *Keyring) resealBatch(ctx context.Context, tx *postgres.Tx) (int, error) {
	values, err := tx.MasterKeys().ListValuesUnderOthers(ctx, k.keys.PrimaryKeyID(), resealAtOnce)
	if err != nil {
		return 0, err
	}
	for _, v := range values {
		place, err := locationOf(v)
		if err != nil {
			return 0, err
		}
		sealed, err := k.rewrap(place, v.Value)
		if err != nil {
			return 0, fmt.Errorf("%s %s: %w", v.Place, v.ID, err)
		}
		if err := tx.MasterKeys().Reseal(ctx, v, sealed); err != nil {
			return 0, err
		}
	}
	return len(values), nil
}

// checkUsedKeys refuses to start without a key that values are still sealed under.
func (k *Keyring) checkUsedKeys(ctx context.Context, tx *postgres.Tx) error {
	uses, err := tx.MasterKeys().CountValues(ctx)
	if err != nil {
		return err
	}
	for _, s := range k.keyStates(uses) {
		if !s.Present {
			return &controlplane.Error{
				Kind: controlplane.Invalid, Code: "master_key_missing", Field: "NULLOPS_MASTER_KEYS",
				Message: fmt.Sprintf("%d values are still sealed under the key %s", s.Values, s.Key),
				Remedy: "Add the key behind the others, or the settings of the Vault that holds it, " +
					"then run 'nullops keys rotate'.",
			}
		}
	}
	return nil
}
