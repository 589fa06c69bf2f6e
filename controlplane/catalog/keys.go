package catalog

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"slices"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/controlplane/seal"
)

// known is what a key check holds. Its content does not matter.
const known = "nullops key check"

func checkPlace(kid string) seal.Location {
	return seal.Location{Table: "key_check", Row: kid, Column: "sealed",
		Label: "the check of key " + kid}
}

// CheckKeys checks that the key ring opens what this database holds, so that the start
// fails and not the first secret. The first start stores a known text for that.
func CheckKeys(
	ctx context.Context, actor access.Actor, store *postgres.Store, ring *seal.Keyring,
) error {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return err
	}
	keys := valueKeys{ring}
	return store.InTx(ctx, func(tx *postgres.Tx) error {
		checks, err := tx.MasterKeys().ListChecks(ctx)
		if err != nil {
			return err
		}
		opened := false
		for kid, sealed := range checks {
			plain, err := keys.Open(checkPlace(kid), sealed)
			if controlplane.KindOf(err) == controlplane.Unavailable {
				return err
			}
			right := err == nil && bytes.Equal(plain, []byte(known))
			if hasKey(keys, kid) && !right {
				return wrongKey("master key " + kid + " is not the one this database was sealed with")
			}
			opened = opened || right
		}
		if len(checks) > 0 && !opened {
			return wrongKey("none of the master keys opens what this database holds")
		}
		if err := usedKeys(ctx, tx, keys); err != nil {
			return err
		}
		return insertKeyCheck(ctx, tx, keys, checks)
	})
}

func hasKey(keys valueKeys, kid string) bool {
	return slices.Contains(keys.KeyIDs(), kid)
}

func insertKeyCheck(
	ctx context.Context, tx *postgres.Tx, keys valueKeys,
	checks map[string]controlplane.Sealed,
) error {
	kid := keys.PrimaryKeyID()
	if _, ok := checks[kid]; ok {
		return nil
	}
	sealed, err := keys.Seal(checkPlace(kid), []byte(known))
	if err != nil {
		return fmt.Errorf("seal key check: %w", err)
	}
	return tx.MasterKeys().InsertCheck(ctx, kid, sealed)
}

// AuditKey returns the key that links audit entries. The first start creates it; it is
// stored sealed, so that a new master key does not break the chain.
func AuditKey(
	ctx context.Context, actor access.Actor, store *postgres.Store, ring *seal.Keyring,
) (key controlplane.AuditKey, err error) {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return key, err
	}
	keys := valueKeys{ring}
	place := auditKeyPlace()
	err = store.InTx(ctx, func(tx *postgres.Tx) error {
		sealed, err := tx.Audit().LockKey(ctx)
		if err != nil {
			return err
		}
		var plain []byte
		if len(sealed) == 0 {
			plain, err = makeAuditKey(ctx, tx, keys, place)
		} else {
			plain, err = keys.Open(place, sealed)
		}
		if err != nil {
			return fmt.Errorf("audit key: %w", err)
		}
		var ok bool
		if key, ok = controlplane.NewAuditKey(plain); !ok {
			return fmt.Errorf("audit key: it has %d bytes", len(plain))
		}
		return nil
	})
	return key, err
}

func makeAuditKey(
	ctx context.Context, tx *postgres.Tx, keys valueKeys, place seal.Location,
) ([]byte, error) {
	plain := make([]byte, 32)
	if _, err := rand.Read(plain); err != nil {
		return nil, err
	}
	sealed, err := keys.Seal(place, plain)
	if err != nil {
		return nil, err
	}
	return plain, tx.Audit().PutKey(ctx, sealed)
}

func wrongKey(message string) error {
	return &controlplane.Error{
		Kind: controlplane.Invalid, Code: "master_key_wrong", Field: "NULLOPS_MASTER_KEYS",
		Message: message,
		Remedy:  "Set the keys that this database was set up with, newest first.",
	}
}

// LoadOrCreateIdentity returns the control plane's own certificate and private key. The first
// start creates them with the given function; the key is stored sealed.
func LoadOrCreateIdentity(
	ctx context.Context, actor access.Actor, store *postgres.Store, ring *seal.Keyring,
	make func() (certificate, key []byte, err error),
) (certificate, key []byte, err error) {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return nil, nil, err
	}
	keys := valueKeys{ring}
	place := identityPlace()
	err = store.InTx(ctx, func(tx *postgres.Tx) error {
		_, _, have, err := tx.Certificates().GetIdentity(ctx)
		if err != nil || have {
			return err
		}
		certificate, key, err := make()
		if err != nil {
			return fmt.Errorf("make identity: %w", err)
		}
		sealed, err := keys.Seal(place, key)
		if err != nil {
			return fmt.Errorf("seal identity: %w", err)
		}
		return tx.Certificates().InsertIdentity(ctx, certificate, sealed)
	})
	if err != nil {
		return nil, nil, err
	}
	err = store.Read(ctx, func(tx *postgres.Tx) error {
		var sealed controlplane.Sealed
		certificate, sealed, _, err = tx.Certificates().GetIdentity(ctx)
		if err != nil {
			return err
		}
		key, err = keys.Open(place, sealed)
		return err
	})
	if err != nil {
		return nil, nil, fmt.Errorf("open identity: %w", err)
	}
	return certificate, key, nil
}

func auditKeyPlace() seal.Location {
	return seal.Location{Table: "audit_head", Row: "one", Column: "sealed_key",
		Label: "the key of the audit log"}
}

func identityPlace() seal.Location {
	return seal.Location{Table: "identity", Row: "one", Column: "key",
		Label: "the control plane's identity"}
}

func runKeyPlace(run controlplane.RunID) seal.Location {
	return seal.Location{Table: "runs", Row: string(run), Column: "key_sealed",
		Label: "the key of run " + string(run)}
}

// NewRunKey creates the 32-byte key that encrypts a run's secret outputs on its node,
// and returns it sealed.
func (c *Catalog) NewRunKey(run controlplane.RunID) (controlplane.Sealed, error) {
	key := make([]byte, 32)
	if _, err := rand.Read(key); err != nil {
		return nil, fmt.Errorf("make run key: %w", err)
	}
	defer clear(key)
	sealed, err := c.keys.Seal(runKeyPlace(run), key)
	if err != nil {
		return nil, fmt.Errorf("seal run key: %w", err)
	}
	return sealed, nil
}

// openRunKey opens what NewRunKey sealed for this run.
func (c *Catalog) openRunKey(run controlplane.RunID, key controlplane.Sealed) ([]byte, error) {
	plain, err := c.keys.Open(runKeyPlace(run), key)
	if err != nil {
		return nil, fmt.Errorf("open key of run %s: %w", run, err)
	}
	return plain, nil
}
