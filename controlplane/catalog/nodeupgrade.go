package catalog

import (
	"context"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
)

// UpgradeNode has somebody who speaks with nodes replace one's agent, and writes
// down that it was asked for and how that ended. No transaction is open
// meanwhile: the new image may take minutes to arrive.
func (c *Catalog) UpgradeNode(ctx context.Context, actor access.Actor, name, image string,
	replace func(controlplane.NodeID) error) error {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return err
	}
	n, err := c.GetNode(ctx, actor, name)
	if err == nil {
		err = replace(n.ID)
	}
	return c.change(ctx, actor, "upgrade node", "node "+name+" to "+image,
		func(*postgres.Tx) error { return err })
}
