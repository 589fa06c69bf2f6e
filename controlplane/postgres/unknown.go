package postgres

import (
	"context"
	"fmt"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres/internal/dbsqlc"
)

// RecordedDeployments returns the rows of the deployments that a node remembers, and of those
// that it should have, by id.
func (t *Tx) RecordedDeployments(ctx context.Context, node controlplane.NodeID,
	ids []controlplane.DeploymentID,
) (map[controlplane.DeploymentID]controlplane.RecordedDeployment, error) {
	rows, err := t.q.ListRecorded(ctx, toStrings(ids), nullIfEmpty(node))
	if err != nil {
		return nil, fmt.Errorf("look for deployments: %w", translateError(err))
	}
	all := map[controlplane.DeploymentID]controlplane.RecordedDeployment{}
	for _, r := range rows {
		all[controlplane.DeploymentID(r.ID)] = controlplane.RecordedDeployment{
			ID: controlplane.DeploymentID(r.ID), Name: r.Name, Project: r.Project,
			Environment: r.Environment, Generation: r.Generation,
			Status: controlplane.DeploymentStatus(r.Status),
			Node:   emptyIfNull[controlplane.NodeID](r.NodeID), Run: controlplane.RunID(r.RunID),
			Relocating: r.Relocating}
	}
	return all, nil
}

// RecordedRuns returns those of the ids that belong to a run.
func (t *Tx) RecordedRuns(
	ctx context.Context, ids []controlplane.RunID,
) (map[controlplane.RunID]bool, error) {
	rows, err := t.q.ListRecordedRuns(ctx, toStrings(ids))
	if err != nil {
		return nil, fmt.Errorf("look for runs: %w", translateError(err))
	}
	all := map[controlplane.RunID]bool{}
	for _, id := range rows {
		all[controlplane.RunID(id)] = true
	}
	return all, nil
}

// PutUnknown stores a deployment about which node and database disagree.
func (t *Tx) PutUnknown(ctx context.Context, u controlplane.UnknownDeployment) error {
	err := t.q.PutUnknown(ctx, dbsqlc.PutUnknownParams{NodeID: string(u.Node),
		DeploymentID: string(u.ID), Name: u.Name, Project: u.Project,
		Environment: u.Environment, Phase: u.Phase, Disputed: u.Disputed, Reason: u.Reason,
		RunID: string(u.Run), Generation: u.Generation})
	if err != nil {
		return fmt.Errorf("note unknown deployment: %w", translateError(err))
	}
	t.NotifyOnCommit(controlplane.TopicNode, string(u.Node))
	return nil
}

// UnknownDeployments lists the deployments about which a node and the database disagree.
func (t *Tx) UnknownDeployments(
	ctx context.Context, node controlplane.NodeID,
) ([]controlplane.UnknownDeployment, error) {
	rows, err := t.q.ListUnknown(ctx, string(node))
	if err != nil {
		return nil, fmt.Errorf("list unknown deployments: %w", err)
	}
	all := make([]controlplane.UnknownDeployment, len(rows))
	for i, row := range rows {
		r := row.UnknownDeployment
		all[i] = controlplane.UnknownDeployment{Node: node,
			ID: controlplane.DeploymentID(r.DeploymentID), Name: r.Name, Project: r.Project,
			Environment: r.Environment, Phase: r.Phase, FoundAt: r.FoundAt, PurgedAt: r.PurgedAt,
			Disputed: r.Disputed, Reason: r.Reason, Run: controlplane.RunID(r.RunID),
			Generation: r.Generation, Status: controlplane.DeploymentStatus(row.Status),
			RowRun: controlplane.RunID(row.RowRun), RowGeneration: row.RowGeneration}
	}
	return all, nil
}

// DisputingNodes names the nodes that contradict what is written of a deployment.
func (t *Tx) DisputingNodes(
	ctx context.Context, id controlplane.DeploymentID,
) (ids []controlplane.NodeID, names []string, err error) {
	rows, err := t.q.ListDisputes(ctx, string(id))
	if err != nil {
		return nil, nil, fmt.Errorf("list disputes about %s: %w", id, err)
	}
	for _, r := range rows {
		ids = append(ids, controlplane.NodeID(r.ID))
		names = append(names, r.Name)
	}
	return ids, names, nil
}

// EndDisputes records that a person decided about a deployment.
func (t *Tx) EndDisputes(ctx context.Context, id controlplane.DeploymentID) error {
	nodes, _, err := t.DisputingNodes(ctx, id)
	if err != nil {
		return err
	}
	if err := t.q.DeleteDisputes(ctx, string(id)); err != nil {
		return fmt.Errorf("end disputes about %s: %w", id, translateError(err))
	}
	for _, n := range nodes {
		t.NotifyOnCommit(controlplane.TopicNode, string(n))
	}
	return nil
}

// AlignGoal sets a row's goal to the one that its node works on.
func (t *Tx) AlignGoal(ctx context.Context, id controlplane.DeploymentID, generation int64,
	goal controlplane.Goal) error {
	if err := t.q.AlignDeployment(ctx, generation, string(goal), string(id)); err != nil {
		return fmt.Errorf("align deployment %s: %w", id, translateError(err))
	}
	return nil
}

// PurgeUnknown has it removed, and reports whether it is on the list.
func (t *Tx) PurgeUnknown(
	ctx context.Context, node controlplane.NodeID, id controlplane.DeploymentID,
) (bool, error) {
	n, err := t.q.PurgeUnknown(ctx, string(node), string(id))
	if err != nil {
		return false, fmt.Errorf("purge unknown deployment: %w", translateError(err))
	}
	t.NotifyOnCommit(controlplane.TopicNode, string(node))
	return n > 0, nil
}

// ForgetUnknown takes one off the list that was adopted.
func (t *Tx) ForgetUnknown(
	ctx context.Context, node controlplane.NodeID, id controlplane.DeploymentID,
) error {
	if _, err := t.q.DeleteUnknown(ctx, string(node), string(id)); err != nil {
		return fmt.Errorf("forget unknown deployment: %w", translateError(err))
	}
	t.NotifyOnCommit(controlplane.TopicNode, string(node))
	return nil
}

// DeletePurgedUnknown takes those off the list that were purged and are gone.
func (t *Tx) DeletePurgedUnknown(
	ctx context.Context, node controlplane.NodeID, still []controlplane.DeploymentID,
) error {
	if err := t.q.DeletePurged(ctx, string(node), toStrings(still)); err != nil {
		return fmt.Errorf("forget purged deployments: %w", translateError(err))
	}
	return nil
}

// RaiseGeneration makes sure that the next goal is newer than what was seen.
func (t *Tx) RaiseGeneration(
	ctx context.Context, id controlplane.DeploymentID, seen int64,
) error {
	if err := t.q.RaiseGeneration(ctx, seen+1, string(id), seen); err != nil {
		return fmt.Errorf("raise generation of %s: %w", id, translateError(err))
	}
	return nil
}

// MarkAdopted stores which goal the node has, and who adopted the deployment.
func (t *Tx) MarkAdopted(
	ctx context.Context, id controlplane.DeploymentID, generation int64, by string,
) error {
	if err := t.q.AdoptDeployment(ctx, generation, by, string(id)); err != nil {
		return fmt.Errorf("adopt deployment %s: %w", id, translateError(err))
	}
	return nil
}

// RaiseEpoch makes the lease's epoch higher than any from before a restore.
func (t *Tx) RaiseEpoch(ctx context.Context, node controlplane.NodeID) (bool, error) {
	n, err := t.q.RaiseEpoch(ctx, string(node))
	if err != nil {
		return false, fmt.Errorf("raise epoch of node %s: %w", node, translateError(err))
	}
	t.NotifyOnCommit(controlplane.TopicNode, string(node))
	return n > 0, nil
}
