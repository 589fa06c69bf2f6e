package postgres

import (
	"context"
	"fmt"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres/internal/dbsqlc"
)

// Recorded gives those of the ids that a deployment has or had.
func (t *Tx) Recorded(
	ctx context.Context, ids []controlplane.DeploymentID,
) (map[controlplane.DeploymentID]bool, error) {
	rows, err := t.q.ListRecorded(ctx, strs(ids))
	if err != nil {
		return nil, fmt.Errorf("look for deployments: %w", translate(err))
	}
	all := map[controlplane.DeploymentID]bool{}
	for _, id := range rows {
		all[controlplane.DeploymentID(id)] = true
	}
	return all, nil
}

// PutUnknown notes a deployment that a node runs and nobody here knows.
func (t *Tx) PutUnknown(ctx context.Context, u controlplane.UnknownDeployment) error {
	err := t.q.PutUnknown(ctx, dbsqlc.PutUnknownParams{NodeID: string(u.Node),
		DeploymentID: string(u.ID), Name: u.Name, Project: u.Project,
		Environment: u.Environment, Phase: u.Phase})
	if err != nil {
		return fmt.Errorf("note unknown deployment: %w", translate(err))
	}
	t.Wake(controlplane.TopicNode, string(u.Node))
	return nil
}

// Unknown lists what a node runs and nobody here knows.
func (t *Tx) Unknown(
	ctx context.Context, node controlplane.NodeID,
) ([]controlplane.UnknownDeployment, error) {
	rows, err := t.q.ListUnknown(ctx, string(node))
	if err != nil {
		return nil, fmt.Errorf("list unknown deployments: %w", err)
	}
	all := make([]controlplane.UnknownDeployment, len(rows))
	for i, r := range rows {
		all[i] = controlplane.UnknownDeployment{Node: node,
			ID: controlplane.DeploymentID(r.DeploymentID), Name: r.Name, Project: r.Project,
			Environment: r.Environment, Phase: r.Phase, FoundAt: r.FoundAt, PurgedAt: r.PurgedAt}
	}
	return all, nil
}

// PurgeUnknown has it removed, and reports whether it is on the list.
func (t *Tx) PurgeUnknown(
	ctx context.Context, node controlplane.NodeID, id controlplane.DeploymentID,
) (bool, error) {
	n, err := t.q.PurgeUnknown(ctx, string(node), string(id))
	if err != nil {
		return false, fmt.Errorf("purge unknown deployment: %w", translate(err))
	}
	t.Wake(controlplane.TopicNode, string(node))
	return n > 0, nil
}

// ForgetUnknown takes one off the list that was adopted.
func (t *Tx) ForgetUnknown(
	ctx context.Context, node controlplane.NodeID, id controlplane.DeploymentID,
) error {
	if _, err := t.q.DeleteUnknown(ctx, string(node), string(id)); err != nil {
		return fmt.Errorf("forget unknown deployment: %w", translate(err))
	}
	t.Wake(controlplane.TopicNode, string(node))
	return nil
}

// ForgetPurged takes those off the list that were purged and are gone.
func (t *Tx) ForgetPurged(
	ctx context.Context, node controlplane.NodeID, still []controlplane.DeploymentID,
) error {
	if err := t.q.DeletePurged(ctx, string(node), strs(still)); err != nil {
		return fmt.Errorf("forget purged deployments: %w", translate(err))
	}
	return nil
}

// RaiseGeneration makes sure that the next goal is newer than what was seen.
func (t *Tx) RaiseGeneration(
	ctx context.Context, id controlplane.DeploymentID, seen int64,
) error {
	if err := t.q.RaiseGeneration(ctx, seen+1, string(id), seen); err != nil {
		return fmt.Errorf("raise generation of %s: %w", id, translate(err))
	}
	return nil
}

// MarkAdopted writes down which goal the node was told, and who took it over.
func (t *Tx) MarkAdopted(
	ctx context.Context, id controlplane.DeploymentID, generation int64, by string,
) error {
	if err := t.q.AdoptDeployment(ctx, generation, by, string(id)); err != nil {
		return fmt.Errorf("adopt deployment %s: %w", id, translate(err))
	}
	return nil
}

// RaiseEpoch makes the lease's epoch higher than any from before a restore.
func (t *Tx) RaiseEpoch(ctx context.Context, node controlplane.NodeID) (bool, error) {
	n, err := t.q.RaiseEpoch(ctx, string(node))
	if err != nil {
		return false, fmt.Errorf("raise epoch of node %s: %w", node, translate(err))
	}
	t.Wake(controlplane.TopicNode, string(node))
	return n > 0, nil
}
