package keyring

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"slices"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
)

// known is what a key check holds. Its content does not matter.
const known = "nullops key check"

// CheckKeys checks that the key ring opens what this database holds, so that the start
// fails and not the first secret. The first start stores a known text for that.
func (k *Keyring) CheckKeys(ctx context.Context, actor access.Actor) error {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return err
	}
	return k.store.InTx(ctx, func(tx *postgres.Tx) error {
		checks, err := tx.KeyChecks(ctx)
		if err != nil {
			return err
		}
		opened := false
		for kid, sealed := range checks {
			plain, err := k.open(keyCheckLocation(kid), sealed)
			if controlplane.KindOf(err) == controlplane.Unavailable {
				return err
			}
			right := err == nil && bytes.Equal(plain, []byte(known))
			if k.hasKey(kid) && !right {
				return wrongKey("master key " + kid + " is not the one this database was sealed with")
			}
			opened = opened || right
		}
		if len(checks) > 0 && !opened {
			return wrongKey("none of the master keys opens what this database holds")
		}
		if err := k.checkUsedKeys(ctx, tx); err != nil {
			return err
		}
		return k.insertKeyCheck(ctx, tx, checks)
	})
}

func (k *Keyring) hasKey(kid string) bool {
	return slices.Contains(k.keys.KeyIDs(), kid)
}

func (k *Keyring) insertKeyCheck(
	ctx context.Context, tx *postgres.Tx, checks map[string]controlplane.Sealed,
) error {
	kid := k.keys.PrimaryKeyID()
	if _, ok := checks[kid]; ok {
		return nil
	}
	sealed, err := k.seal(keyCheckLocation(kid), []byte(known))
	if err != nil {
		return fmt.Errorf("seal key check: %w", err)
	}
	return tx.InsertKeyCheck(ctx, kid, sealed)
}

// AuditKey returns the key that links audit entries. The first start creates it; it is
// stored sealed, so that a new master key does not break the chain.
func (k *Keyring) AuditKey(
	ctx context.Context, actor access.Actor,
) (key controlplane.AuditKey, err error) {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return key, err
	}
	err = k.store.InTx(ctx, func(tx *postgres.Tx) error {
		sealed, err := tx.AuditKey(ctx)
		if err != nil {
			return err
		}
		var plain []byte
		if len(sealed) == 0 {
			plain, err = k.makeAuditKey(ctx, tx)
		} else {
			plain, err = k.open(auditKeyLocation(), sealed)
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

func (k *Keyring) makeAuditKey(ctx context.Context, tx *postgres.Tx) ([]byte, error) {
	plain := make([]byte, 32)
	if _, err := rand.Read(plain); err != nil {
		return nil, err
	}
	sealed, err := k.seal(auditKeyLocation(), plain)
	if err != nil {
		return nil, err
	}
	return plain, tx.PutAuditKey(ctx, sealed)
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
func (k *Keyring) LoadOrCreateIdentity(
	ctx context.Context, actor access.Actor, make func() (certificate, key []byte, err error),
) (certificate, key []byte, err error) {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return nil, nil, err
	}
	err = k.store.InTx(ctx, func(tx *postgres.Tx) error {
		_, _, have, err := tx.Identity(ctx)
		if err != nil || have {
			return err
		}
		certificate, key, err := make()
		if err != nil {
			return fmt.Errorf("make identity: %w", err)
		}
		sealed, err := k.seal(identityLocation(), key)
		if err != nil {
			return fmt.Errorf("seal identity: %w", err)
		}
		return tx.InsertIdentity(ctx, certificate, sealed)
	})
	if err != nil {
		return nil, nil, err
	}
	err = k.store.Read(ctx, func(tx *postgres.Tx) error {
		var sealed controlplane.Sealed
		certificate, sealed, _, err = tx.Identity(ctx)
		if err != nil {
			return err
		}
		key, err = k.open(identityLocation(), sealed)
		return err
	})
	if err != nil {
		return nil, nil, fmt.Errorf("open identity: %w", err)
	}
	return certificate, key, nil
}
