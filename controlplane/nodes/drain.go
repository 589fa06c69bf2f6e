package nodes

import (
	"context"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
)

// longestDrain bounds a deadline: a later one is probably a mistyped year.
const longestDrain = 366 * 24 * time.Hour

// Drain is a node, and the deployments that are still on it.
type Drain struct {
	Node    controlplane.Node
	Staying []controlplane.RemainingDeployment
	// EndsAt is an estimate from the clean-up rules; nil while one of those
	// that stay has no end of its own.
	EndsAt *time.Time
}

// DrainNode excludes a node from placement and waits until its deployments have ended.
// It stops none of them. Calling it again changes the deadline.
func (s *Nodes) DrainNode(
	ctx context.Context, actor access.Actor, name string, deadline *time.Time,
) (out Drain, err error) {
	_, err = s.onNode(ctx, actor, "drain node", name,
		func(tx *postgres.Tx, n controlplane.Node) error {
			if err := s.checkDeadline(deadline); err != nil {
				return err
			}
			if err := tx.StartDrain(ctx, n.ID, actor.Name(), deadline); err != nil {
				return err
			}
			// Finish the drain of an empty node now, not at the next tick.
			if err := tx.FinishDrains(ctx); err != nil {
				return err
			}
			out, err = nodeDrain(ctx, tx, name)
			return err
		})
	return out, err
}

func (s *Nodes) checkDeadline(deadline *time.Time) error {
	switch {
	case deadline == nil:
		return nil
	case !deadline.After(s.now()):
		return controlplane.NewInvalidError("deadline", "range", "the deadline is in the past",
			"Give a time to come, or none to wait for as long as it takes.")
	case deadline.After(s.now().Add(longestDrain)):
		return controlplane.NewInvalidError(
			"deadline", "range", "the deadline is more than a year away",
			"Give a nearer one, or none to wait for as long as it takes.")
	default:
		return nil
	}
}

// UndrainNode lets a node take deployments again, whether it is empty or not.
func (s *Nodes) UndrainNode(
	ctx context.Context, actor access.Actor, name string,
) (controlplane.Node, error) {
	return s.onNode(ctx, actor, "undrain node", name,
		func(tx *postgres.Tx, n controlplane.Node) error {
			_, err := tx.EndDrain(ctx, n.ID)
			return err
		})
}

// NodeDrain returns the progress of a drain, or what one would wait for.
func (s *Nodes) NodeDrain(
	ctx context.Context, actor access.Actor, name string,
) (out Drain, err error) {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return out, err
	}
	err = s.store.Read(ctx, func(tx *postgres.Tx) error {
		out, err = nodeDrain(ctx, tx, name)
		return err
	})
	return out, err
}

func nodeDrain(ctx context.Context, tx *postgres.Tx, name string) (out Drain, err error) {
	if out.Node, err = tx.NodeByName(ctx, name); err != nil {
		return out, err
	}
	out.Staying, err = tx.RemainingDeployments(ctx, out.Node.ID)
	out.EndsAt = controlplane.DrainEnds(out.Staying)
	return out, err
}

// ForgottenNodes returns one page of the nodes that were removed by force, newest
// first, and the number to continue below.
func (s *Nodes) ForgottenNodes(
	ctx context.Context, actor access.Actor, before int64, limit int,
) (all []controlplane.ForgottenNode, next int64, err error) {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return nil, 0, err
	}
	if limit <= 0 || limit > 500 {
		limit = 100
	}
	err = s.store.Read(ctx, func(tx *postgres.Tx) error {
		all, err = tx.ForgottenNodes(ctx, before, limit+1)
		return err
	})
	if len(all) > limit {
		all, next = all[:limit], all[limit-1].ID
	}
	return all, next, err
}
