package keyring

import (
	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
)

// SealWebhookSecret seals an address or a key that webhooks and rules need, for the
// id it is stored under.
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
