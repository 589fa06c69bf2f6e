package catalog

import (
	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/seal"
)

// SealWebhookSecret seals an address or a key that webhooks and rules need, for the
// id it is stored under.
func (c *Catalog) SealWebhookSecret(
	actor access.Actor, id string, plain controlplane.Plain,
) (controlplane.Sealed, error) {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return nil, err
	}
	return c.keys.Seal(outwardPlace(id), []byte(plain.Reveal()))
}

// OpenWebhookSecret opens it, to send or to check one message.
func (c *Catalog) OpenWebhookSecret(
	actor access.Actor, id string, sealed controlplane.Sealed,
) (controlplane.Plain, error) {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return controlplane.Plain{}, err
	}
	b, err := c.keys.Open(outwardPlace(id), sealed)
	if err != nil {
		return controlplane.Plain{}, err
	}
	defer clear(b)
	return controlplane.NewPlain(string(b)), nil
}

func outwardPlace(id string) seal.Location {
	return seal.Location{Table: "outward_secrets", Row: id, Column: "value"}
}
