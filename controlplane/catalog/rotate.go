package catalog

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
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
func (c *Catalog) ListKeys(
	ctx context.Context, actor access.Actor,
) (all []controlplane.KeyState, err error) {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return nil, err
	}
	// An outage of Vault is no reason not to list what is known.
	if err := c.keys.Refresh(ctx); err != nil {
		c.log.WarnContext(ctx, "sealing keys were not refreshed", "err", err.Error())
	}
	err = c.store.Read(ctx, func(tx *postgres.Tx) error {
		uses, err := tx.MasterKeys().CountValues(ctx)
		all = keyStates(c.keys, uses)
		return err
	})
	return all, err
}

func keyStates(keys valueKeys, uses []controlplane.KeyUse) []controlplane.KeyState {
	all := []controlplane.KeyState{}
	at := map[string]int{}
	add := func(k controlplane.KeyState) int {
		at[k.Key] = len(all)
		all = append(all, k)
		return at[k.Key]
	}
	for _, kid := range keys.KeyIDs() {
		add(controlplane.KeyState{Key: kid, Present: true, Primary: kid == keys.PrimaryKeyID(),
			Source: keys.SourceOf(kid)})
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
// "vault", so that nobody believes to have moved there who did not; empty is anywhere.
func (c *Catalog) RotateKeys(
	ctx context.Context, actor access.Actor, to string,
) (done, left int64, err error) {
	object := "keys to " + c.keys.PrimaryKeyID()
	if err := c.requireAdmin(ctx, actor, "rotate", object); err != nil {
		return 0, 0, err
	}
	if err := c.keys.Refresh(ctx); err != nil {
		return 0, 0, explainRefresh(err)
	}
	object = "keys to " + c.keys.PrimaryKeyID()
	if err := c.checkMove(to); err != nil {
		return 0, 0, c.auditRefusal(ctx, actor, "rotate", object, err)
	}
	start := time.Now()
	for more := true; more && done < resealPerCall && time.Since(start) < resealWithin; {
		err := c.changeAsAdmin(ctx, actor, "rotate", object, func(tx *postgres.Tx) error {
			n, err := c.resealBatch(ctx, tx)
			done, more = done+int64(n), n == resealAtOnce
			return err
		})
		if err != nil {
			return done, 0, err
		}
	}
	err = c.store.Read(ctx, func(tx *postgres.Tx) error {
		uses, err := tx.MasterKeys().CountValues(ctx)
		for _, use := range uses {
			if use.Key != c.keys.PrimaryKeyID() {
				left += use.Values
			}
		}
		return err
	})
	return done, left, err
}

// checkMove refuses to move values to where new ones do not go.
func (c *Catalog) checkMove(to string) error {
	primary := c.keys.PrimaryKeyID()
	source := c.keys.SourceOf(primary)
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
		Message: "the sealing keys in Vault cannot be listed", RetryAfter: retryWaiting, Cause: err,
		Remedy: "Check that Vault runs and is unsealed, and the control plane's policy there. " +
			"What was rotated stays rotated: run it again.",
	}
}

func (c *Catalog) resealBatch(ctx context.Context, tx *postgres.Tx) (int, error) {
	values, err := tx.MasterKeys().ListValuesUnderOthers(ctx, c.keys.PrimaryKeyID(), resealAtOnce)
	if err != nil {
		return 0, err
	}
	for _, v := range values {
		place, err := placeOf(v)
		if err != nil {
			return 0, err
		}
		sealed, _, err := c.keys.Rewrap(place, v.Value)
		if err != nil {
			return 0, fmt.Errorf("%s %s: %w", v.Place, v.ID, err)
		}
		if err := tx.MasterKeys().Reseal(ctx, v, sealed); err != nil {
			return 0, err
		}
	}
	return len(values), nil
}

// placeOf is where a value belongs: a part of its encryption.
func placeOf(v postgres.SealedValue) (seal.Location, error) {
	switch v.Place {
	case "secrets":
		return secretPlace(controlplane.Secret{
			ID: controlplane.SecretID(v.ID), Version: v.Version}), nil
	case "registries":
		return passwordPlace(controlplane.RegistryID(v.ID)), nil
	case "node_tokens":
		return verifierPlace(controlplane.NodeToken{
			Kid: v.ID, Node: controlplane.NodeID(v.Part)}), nil
	case "identity":
		return identityPlace(), nil
	case "runs":
		return runKeyPlace(controlplane.RunID(v.ID)), nil
	case "deployment_secrets":
		return generatedPlace(controlplane.DeploymentID(v.ID), v.Part), nil
	case "run_secrets":
		return runSecretPlace(controlplane.RunID(v.ID), v.Part), nil
	case "audit_head":
		return auditKeyPlace(), nil
	case "node_ssh":
		return credentialPlace(controlplane.NodeID(v.ID)), nil
	case "certificates":
		return certificatePlace(controlplane.CertificateID(v.ID)), nil
	case "certificate_authority":
		return authorityPlace(controlplane.CertificateID(v.ID)), nil
	case "outward_secrets":
		return outwardPlace(v.ID), nil
	case "acme_settings":
		if v.Part == "eab_key" {
			return acmeBindingPlace(controlplane.EnvironmentID(v.ID)), nil
		}
		return acmeSecretPlace(controlplane.EnvironmentID(v.ID)), nil
	case "acme_accounts":
		return acmeAccountPlace(v.ID), nil
	case "acme_certificates":
		return acmeKeyPlace(controlplane.CertificateID(v.ID)), nil
	default:
		return seal.Location{}, fmt.Errorf("sealed values of %s cannot be rotated", v.Place)
	}
}

// usedKeys refuses to start without a key that values are still sealed under.
func usedKeys(ctx context.Context, tx *postgres.Tx, keys valueKeys) error {
	uses, err := tx.MasterKeys().CountValues(ctx)
	if err != nil {
		return err
	}
	for _, k := range keyStates(keys, uses) {
		if !k.Present {
			return &controlplane.Error{
				Kind: controlplane.Invalid, Code: "master_key_missing", Field: "NULLOPS_MASTER_KEYS",
				Message: fmt.Sprintf("%d values are still sealed under the key %s", k.Values, k.Key),
				Remedy: "Add the key behind the others, or the settings of the Vault that holds it, " +
					"then run 'nullops keys rotate'.",
			}
		}
	}
	return nil
}
