package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres/internal/dbsqlc"
)

// Start has the services of a deployment stopped where they are. It reports false if another
// process has the deployment's volumes; one that restored them and was silent for so long
// has not.
func (t VolumeHolds) Start(ctx context.Context, d controlplane.Deployment,
	h controlplane.VolumeHold, silent time.Duration) (bool, error) {
	n, err := t.q.StartVolumeHold(ctx, dbsqlc.StartVolumeHoldParams{DeploymentID: string(d.ID),
		Purpose: string(h.Purpose), ByName: h.By, Holder: h.Holder, SilentSeconds: silent.Seconds()})
	if err != nil {
		return false, fmt.Errorf("hold the volumes of %s: %w", d.ID, translateError(err))
	}
	if n == 0 {
		return false, nil
	}
	return true, t.changeGoal(ctx, d)
}

// changeGoal has the deployment's node told what changed.
func (t VolumeHolds) changeGoal(ctx context.Context, d controlplane.Deployment) error {
	if err := t.q.NextGeneration(ctx, string(d.ID)); err != nil {
		return fmt.Errorf("change the goal of %s: %w", d.ID, translateError(err))
	}
	t.tx.NotifyOnCommit(controlplane.TopicNode, string(d.NodeID))
	return nil
}

// Get returns a deployment's hold; nil if there is none, or it has ended.
func (t VolumeHolds) Get(
	ctx context.Context, id controlplane.DeploymentID,
) (*controlplane.VolumeHold, error) {
	r, err := t.q.GetVolumeHold(ctx, string(id))
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("load the volume hold of %s: %w", id, err)
	}
	return &controlplane.VolumeHold{Deployment: id, Purpose: controlplane.HoldPurpose(r.Purpose),
		By: r.ByName, Since: r.Since, Holder: r.Holder}, nil
}

// Touch notes a sign of life, and reports whether the hold is there still.
func (t VolumeHolds) Touch(
	ctx context.Context, id controlplane.DeploymentID, holder string,
) (bool, error) {
	n, err := t.q.SeeVolumeHold(ctx, string(id), holder)
	if err != nil {
		return false, fmt.Errorf("note the volume hold of %s: %w", id, translateError(err))
	}
	return n > 0, nil
}

// End has the services started again. It reports false if the hold was another process's.
func (t VolumeHolds) End(
	ctx context.Context, d controlplane.Deployment, holder string,
) (bool, error) {
	n, err := t.q.EndVolumeHold(ctx, string(d.ID), holder)
	if err != nil {
		return false, fmt.Errorf("end the volume hold of %s: %w", d.ID, translateError(err))
	}
	if n == 0 {
		return false, nil
	}
	return true, t.changeGoal(ctx, d)
}

// Abandon leaves the services stopped, and the hold to whoever tries again.
func (t VolumeHolds) Abandon(
	ctx context.Context, id controlplane.DeploymentID, holder string,
) error {
	if err := t.q.AbandonVolumeHold(ctx, string(id), holder); err != nil {
		return fmt.Errorf("abandon the volume hold of %s: %w", id, translateError(err))
	}
	return nil
}

// Delete forgets a hold: its node is told something else, or was told that it ended.
func (t VolumeHolds) Delete(ctx context.Context, id controlplane.DeploymentID) error {
	if err := t.q.DeleteVolumeHold(ctx, string(id)); err != nil {
		return fmt.Errorf("delete the volume hold of %s: %w", id, translateError(err))
	}
	return nil
}

// ClaimFill takes an update whose volumes are to be filled, or those of a worker that was silent
// for so long. It is empty if there is none.
func (t VolumeHolds) ClaimFill(
	ctx context.Context, holder string, silent time.Duration,
) (a controlplane.RelocationAttempt, err error) {
	rows, err := t.q.ClaimFill(ctx, holder, silent.Seconds())
	if err != nil {
		return a, fmt.Errorf("claim volumes to fill: %w", translateError(err))
	}
	if len(rows) == 0 {
		return a, nil
	}
	return controlplane.RelocationAttempt{Deployment: controlplane.DeploymentID(rows[0].DeploymentID),
		Since: rows[0].Since}, nil
}

// Announce has the deployment's node told of the attempt that fills its volumes.
func (t VolumeHolds) Announce(ctx context.Context, d controlplane.Deployment) error {
	return t.changeGoal(ctx, d)
}

// EndedSource is a deployment that stands still for an update that has failed; Late says that the
// update is only not ready yet.
type EndedSource struct {
	Deployment, Update controlplane.DeploymentID
	Late               bool
}

// ListEndedSources returns what nothing keeps still any more. An update has so long to become
// ready.
func (t VolumeHolds) ListEndedSources(
	ctx context.Context, patience time.Duration,
) ([]EndedSource, error) {
	rows, err := t.q.ListEndedSources(ctx, patience.Seconds())
	if err != nil {
		return nil, fmt.Errorf("list deployments that stand still for updates: %w", err)
	}
	all := make([]EndedSource, len(rows))
	for i, r := range rows {
		all[i] = EndedSource{Deployment: controlplane.DeploymentID(r.DeploymentID),
			Update: controlplane.DeploymentID(r.Holder), Late: r.Late}
	}
	return all, nil
}

// LostVolumeHold is a hold that is to be ended, or, if it ended a while ago, to be deleted.
type LostVolumeHold struct {
	Deployment controlplane.DeploymentID
	Holder     string
	Ended      bool
}

// ListLost returns backups that were silent for so long, and holds that ended a while ago.
func (t VolumeHolds) ListLost(
	ctx context.Context, silent time.Duration,
) ([]LostVolumeHold, error) {
	rows, err := t.q.ListLostVolumeHolds(ctx, silent.Seconds())
	if err != nil {
		return nil, fmt.Errorf("list lost volume holds: %w", err)
	}
	all := make([]LostVolumeHold, len(rows))
	for i, r := range rows {
		all[i] = LostVolumeHold{Deployment: controlplane.DeploymentID(r.DeploymentID),
			Holder: r.Holder, Ended: r.Ended}
	}
	return all, nil
}

// ListOwners returns the deployments that may have volumes: all, those of an environment, or
// those of the IDs and names that were chosen.
func (t VolumeHolds) ListOwners(
	ctx context.Context, environment string, chosen []string,
) ([]controlplane.DeploymentID, error) {
	if chosen == nil {
		chosen = []string{}
	}
	ids, err := t.q.ListVolumeOwners(ctx, environment, chosen)
	if err != nil {
		return nil, fmt.Errorf("list deployments with volumes: %w", err)
	}
	return fromStrings[controlplane.DeploymentID](ids), nil
}
