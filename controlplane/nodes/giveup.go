package nodes

import (
	"context"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
)

// GiveUpMachine has a node's agent believe that a machine of its cluster is gone, and records who
// said so in the audit, whether the agent does or not. No transaction is open meanwhile.
func (s *Nodes) GiveUpMachine(ctx context.Context, actor access.Actor, name, machine string,
	giveUp func(controlplane.NodeID) error) error {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return err
	}
	n, err := s.GetNode(ctx, actor, name)
	if err == nil {
		err = giveUp(n.ID)
	}
	return s.changeAsAdmin(ctx, actor, "give up machine", "machine "+machine+" of node "+name,
		func(*postgres.Tx) error { return err })
}
