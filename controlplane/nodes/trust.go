package nodes

import (
	"context"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
)

// RejectNode rejects a changed certificate: the trusted one stays, and the rejected
// one raises no new question. If the old certificate was really lost, a new token lets
// the node enrol again.
func (s *Nodes) RejectNode(
	ctx context.Context, actor access.Actor, name, thumbprint string,
) (controlplane.Node, error) {
	return s.onNode(ctx, actor, "reject node", name,
		func(tx *postgres.Tx, n controlplane.Node) error {
			print, err := controlplane.ParseThumbprint("thumbprint", thumbprint)
			if err != nil {
				return err
			}
			if n.Pending == "" {
				return controlplane.NewConflictError(
					"nothing_to_reject", "the node's certificate did not change",
					"Nothing needs to be done.")
			}
			rejected, err := tx.RejectPending(ctx, n.ID, print)
			if err != nil {
				return err
			}
			if !rejected {
				return controlplane.NewConflictError("thumbprint_changed",
					"the node answered with another certificate than this one",
					"Load the node again and compare the thumbprints.")
			}
			err = tx.AddNodeEvent(ctx, n.ID, controlplane.NodeRejected,
				string(print)+" by "+actor.Name())
			if err != nil || n.Status != controlplane.NodeUntrusted {
				return err
			}
			return moveNode(
				ctx,
				tx,
				n,
				undialedStatus(n),
				"the other certificate was rejected by "+actor.Name(),
			)
		})
}

// NodeEvents returns one page of a node's events, newest first, and the number to
// continue below.
func (s *Nodes) NodeEvents(
	ctx context.Context, actor access.Actor, name string, before int64, limit int,
) (all []controlplane.NodeEvent, next int64, err error) {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return nil, 0, err
	}
	if limit <= 0 || limit > 500 {
		limit = 100
	}
	err = s.store.Read(ctx, func(tx *postgres.Tx) error {
		if _, err := tx.NodeByName(ctx, name); err != nil {
			return err
		}
		all, err = tx.NodeEvents(ctx, name, before, limit+1)
		return err
	})
	if len(all) > limit {
		all, next = all[:limit], all[limit-1].ID
	}
	return all, next, err
}

// NodeEventsSince returns the events of all nodes after the mark, and whether there
// are more. With a zero mark it returns only the current mark.
func (s *Nodes) NodeEventsSince(
	ctx context.Context, actor access.Actor, mark controlplane.NodeEventMark,
) (all []controlplane.NodeEvent, next controlplane.NodeEventMark, more bool, err error) {
	const most = 500
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return nil, mark, false, err
	}
	err = s.store.Read(ctx, func(tx *postgres.Tx) error {
		if mark == (controlplane.NodeEventMark{}) {
			next, err = tx.NodeEventMark(ctx)
			return err
		}
		all, err = tx.NodeEventsSince(ctx, mark, most)
		if next = mark; len(all) > 0 {
			next = all[len(all)-1].Mark
		}
		return err
	})
	return all, next, len(all) == most, err
}
