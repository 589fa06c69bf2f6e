package keyring

import (
	"context"
	"crypto/rand"
	"encoding/hex"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
)

// SealWebhookSecret seals an address or a key that webhooks, rules and sources of definitions need,
// for the id it is stored under.
func (k *Keyring) SealWebhookSecret(
	actor access.Actor, id string, plain controlplane.Plain,
) (controlplane.Sealed, error) {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return nil, err
	}
	return k.seal(webhookLocation(id), []byte(plain.Reveal()))
}

// OpenWebhookSecret opens it, to send or to check one message.
func (k *Keyring) OpenWebhookSecret(
	actor access.Actor, id string, sealed controlplane.Sealed,
) (controlplane.Plain, error) {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return controlplane.Plain{}, err
	}
	return k.openText(webhookLocation(id), sealed)
}

// PutWebhookSecret seals and stores a value, unless it is stored already, and reports whether that
// changed anything.
func (k *Keyring) PutWebhookSecret(ctx context.Context, tx *postgres.Tx, actor access.Actor,
	id string, plain controlplane.Plain) (changed bool, err error) {
	stored, err := tx.OutwardSecrets().Get(ctx, id)
	if err != nil {
		return false, err
	}
	if stored != nil {
		has, err := k.OpenWebhookSecret(actor, id, stored)
		if err == nil && has.Equal(plain) {
			return false, nil
		}
	}
	sealed, err := k.SealWebhookSecret(actor, id, plain)
	if err != nil {
		return false, err
	}
	return stored != nil || !plain.IsEmpty(), tx.OutwardSecrets().Put(ctx, id, sealed)
}

// LoadWebhookSecret opens the value that is stored under an id; it is empty if there is none.
func (k *Keyring) LoadWebhookSecret(
	ctx context.Context, actor access.Actor, id string,
) (controlplane.Plain, error) {
	var sealed controlplane.Sealed
	err := k.store.Read(ctx, func(tx *postgres.Tx) (err error) {
		sealed, err = tx.OutwardSecrets().Get(ctx, id)
		return err
	})
	if err != nil || sealed == nil {
		return controlplane.Plain{}, err
	}
	return k.OpenWebhookSecret(actor, id, sealed)
}

// NewWebhookSecret draws a key that a code host signs its events with.
func NewWebhookSecret() controlplane.Plain {
	var b [32]byte
	_, _ = rand.Read(b[:]) // it never fails, it ends the process
	return controlplane.NewPlain(hex.EncodeToString(b[:]))
}
