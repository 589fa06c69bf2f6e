package nodes

import (
	"context"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
)

// UpgradeNode replaces a node's agent, and records the request and its result in the
// audit. No transaction is open meanwhile: pulling the image may take minutes.
func (s *Nodes) UpgradeNode(ctx context.Context, actor access.Actor, name, image string,
	replace func(controlplane.NodeID) error) error {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return err
	}
	n, err := s.GetNode(ctx, actor, name)
	if err == nil {
		err = replace(n.ID)
	}
	return s.changeAsAdmin(ctx, actor, "upgrade node", "node "+name+" to "+image,
		func(*postgres.Tx) error { return err })
}
