package lifecycle

import (
	"context"
	"errors"
	"strings"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/pipeline"
)

// MoveRefusals returns, for each deployment that cannot move now, why Move would refuse.
// Clients that watch a drain call it every few seconds, so it asks no registry and
// writes nothing.
func (l *Lifecycle) MoveRefusals(
	ctx context.Context, actor access.Actor, ids []controlplane.DeploymentID,
) (map[controlplane.DeploymentID]string, error) {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return nil, err
	}
	all := map[controlplane.DeploymentID]string{}
	err := l.store.Read(ctx, func(tx *postgres.Tx) error {
		for _, id := range ids {
			err := checkMove(ctx, tx, actor, id)
			refused, ok := errors.AsType[*controlplane.Error](err)
			switch {
			case ok && refused.Kind == controlplane.NotFound:
				// Gone since the list was read.
			case ok:
				all[id] = DescribeRefusal(refused)
			case err != nil:
				return err
			}
		}
		return nil
	})
	return all, err
}

// DescribeRefusal says why something was refused, and what to do about it, in sentences.
func DescribeRefusal(e *controlplane.Error) string {
	return strings.TrimSpace(controlplane.Sentence(e.Message) + " " + e.Remedy)
}

func checkMove(
	ctx context.Context, tx *postgres.Tx, actor access.Actor, id controlplane.DeploymentID,
) error {
	d, err := tx.Deployments().Get(ctx, id)
	if err != nil || d.Status == controlplane.Removing {
		return err
	}
	if r, err := tx.Relocations().Get(ctx, id); err != nil || r != nil {
		return err
	}
	if err := requirePublished(ctx, tx, d, "moved"); err != nil {
		return err
	}
	if d.Status != controlplane.Ready {
		return notReady(d)
	}
	if err := notHeld(ctx, tx, d); err != nil {
		return err
	}
	run, err := tx.Runs().ByID(ctx, d.RunID)
	if err != nil {
		return err
	}
	if err := checkMovable(d, run.Pipeline); err != nil {
		return err
	}
	return roomElsewhere(ctx, tx, actor, d, run.Pipeline)
}

// roomElsewhere is choose without its locks, for what runs on a node already.
func roomElsewhere(ctx context.Context, tx *postgres.Tx, actor access.Actor,
	d controlplane.Deployment, p pipeline.Pipeline) error {
	env, err := tx.Environments().GetTarget(ctx, d.Environment)
	if err != nil {
		return err
	}
	project, err := tx.Projects().LoadRunTarget(ctx, d.Project)
	if err != nil {
		return err
	}
	nodes, err := tx.Placement().ListNodes(ctx, d.EnvironmentID)
	if err != nil {
		return err
	}
	all, err := withQueue(ctx, tx, d.EnvironmentID, nodes)
	if err != nil {
		return err
	}
	a := resourceRequest(p, env.Placement.Combine(project.Placement))
	a.Avoid = string(d.NodeID)
	if a.Required, err = lastRequired(ctx, tx, d.ID); err != nil {
		return err
	}
	if node, refused := ChooseNode(all, a); node.ID == "" {
		return explainNoRoom(ctx, tx, actor, env, all, a, refused)
	}
	return nil
}
