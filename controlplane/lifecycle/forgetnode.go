package lifecycle

import (
	"context"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
)

// ForgetNode removes a node that will not come back, with everything on it:
// each deployment is given up, its name and hosts are free again, and what was
// left, and where, is recorded. The machine itself is not touched.
func (l *Lifecycle) ForgetNode(
	ctx context.Context, actor access.Actor, name string,
) (out controlplane.ForgottenNode, err error) {
	entry := actor.NewAuditEntry("forget node", "node "+name)
	err = l.store.InAuditedTx(ctx, entry, func(tx *postgres.Tx) error {
		if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
			return err
		}
		n, err := tx.Nodes().ByName(ctx, name)
		if err != nil {
			return err
		}
		out = controlplane.ForgottenNode{Name: n.Name, Environment: n.Environment,
			Address: n.Address, Thumbprint: n.Thumbprint, By: actor.Name()}
		if out.Left, err = giveUpAll(ctx, tx, n, actor.Name()); err != nil {
			return err
		}
		if err := endForeignRelocations(ctx, tx, n); err != nil {
			return err
		}
		if out, err = tx.Nodes().InsertForgotten(ctx, out); err != nil {
			return err
		}
		return tx.Nodes().Delete(ctx, n.ID)
	})
	return out, err
}

// giveUpAll forgets all deployments on the node. Those that are only queued there are
// canceled: nothing of them exists, and they would wait for ever.
func giveUpAll(
	ctx context.Context, tx *postgres.Tx, n controlplane.Node, by string,
) ([]controlplane.ForgottenDeployment, error) {
	staying, err := tx.Nodes().ListRemainingDeployments(ctx, n.ID)
	if err != nil {
		return nil, err
	}
	all := make([]controlplane.ForgottenDeployment, 0, len(staying))
	for _, s := range staying {
		d, err := tx.Deployments().Lock(ctx, s.ID)
		if err != nil {
			return nil, err
		}
		if err := recordRemover(ctx, tx, d, by); err != nil {
			return nil, err
		}
		if waited, err := cancelQueued(ctx, tx, d, nodeGivenUp); err != nil {
			return nil, err
		} else if waited {
			continue
		}
		what, err := giveUp(ctx, tx, d)
		if err != nil {
			return nil, err
		}
		all = append(all, controlplane.ForgottenDeployment{ID: d.ID, Name: d.Name, Project: s.Project,
			Status: d.Status, What: what})
	}
	return all, nil
}

// nodeGivenUp is the one line people read of each.
const nodeGivenUp = "its node is given up"

// giveUp forgets a deployment in any state. One that was not being removed passes
// through that state first, so that its history is complete.
func giveUp(
	ctx context.Context, tx *postgres.Tx, d controlplane.Deployment,
) (left []string, err error) {
	if !d.Status.CanMove(controlplane.Forgotten) {
		between := controlplane.Removing
		if !d.Status.CanMove(between) {
			between = controlplane.Undoing
		}
		if err := tx.Deployments().SetGoal(ctx, d.ID, controlplane.GoalGone, false); err != nil {
			return nil, err
		}
		if err := moveStatus(ctx, tx, d, between, nodeGivenUp, nil); err != nil {
			return nil, err
		}
		d.Status = between
	}
	if err := forgetDeployment(ctx, tx, d); err != nil {
		return nil, err
	}
	if len(d.Left) > 0 {
		return d.Left, nil
	}
	return []string{"everything of it on node " + d.Node}, nil
}
