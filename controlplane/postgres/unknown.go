package postgres

import (
	"context"
	"fmt"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres/internal/dbsqlc"
)

// Put stores a deployment about which node and database disagree.
func (t UnknownDeployments) Put(ctx context.Context, u controlplane.UnknownDeployment) error {
	err := t.q.PutUnknown(ctx, dbsqlc.PutUnknownParams{NodeID: string(u.Node),
		DeploymentID: string(u.ID), Name: u.Name, Project: u.Project,
		Environment: u.Environment, Phase: string(u.Phase), Disputed: u.Disputed, Reason: u.Reason,
		RunID: string(u.Run), Generation: u.Generation})
	if err != nil {
		return fmt.Errorf("note unknown deployment: %w", translateError(err))
	}
	t.tx.NotifyOnCommit(controlplane.TopicNode, string(u.Node))
	return nil
}

// List lists the deployments about which a node and the database disagree.
func (t UnknownDeployments) List(
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
			Environment: r.Environment, Phase: controlplane.DeploymentStatus(r.Phase),
			FoundAt: r.FoundAt, PurgedAt: r.PurgedAt,
			Disputed: r.Disputed, Reason: r.Reason, Run: controlplane.RunID(r.RunID),
			Generation: r.Generation, Status: controlplane.DeploymentStatus(row.Status),
			RowRun: controlplane.RunID(row.RowRun), RowGeneration: row.RowGeneration}
	}
	return all, nil
}

// ListDisputingNodes names the nodes that contradict what is written of a deployment.
func (t UnknownDeployments) ListDisputingNodes(
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
func (t UnknownDeployments) EndDisputes(ctx context.Context, id controlplane.DeploymentID) error {
	nodes, _, err := t.ListDisputingNodes(ctx, id)
	if err != nil {
		return err
	}
	if err := t.q.DeleteDisputes(ctx, string(id)); err != nil {
		return fmt.Errorf("end disputes about %s: %w", id, translateError(err))
	}
	for _, n := range nodes {
		t.tx.NotifyOnCommit(controlplane.TopicNode, string(n))
	}
	return nil
}

// Purge has it removed, and reports whether it is on the list.
func (t UnknownDeployments) Purge(
	ctx context.Context, node controlplane.NodeID, id controlplane.DeploymentID,
) (bool, error) {
	n, err := t.q.PurgeUnknown(ctx, string(node), string(id))
	if err != nil {
		return false, fmt.Errorf("purge unknown deployment: %w", translateError(err))
	}
	t.tx.NotifyOnCommit(controlplane.TopicNode, string(node))
	return n > 0, nil
}

// Delete takes one off the list that was adopted.
func (t UnknownDeployments) Delete(
	ctx context.Context, node controlplane.NodeID, id controlplane.DeploymentID,
) error {
	if _, err := t.q.DeleteUnknown(ctx, string(node), string(id)); err != nil {
		return fmt.Errorf("forget unknown deployment: %w", translateError(err))
	}
	t.tx.NotifyOnCommit(controlplane.TopicNode, string(node))
	return nil
}

// DeletePurged takes those off the list that were purged and are gone.
func (t UnknownDeployments) DeletePurged(
	ctx context.Context, node controlplane.NodeID, still []controlplane.DeploymentID,
) error {
	if err := t.q.DeletePurged(ctx, string(node), toStrings(still)); err != nil {
		return fmt.Errorf("forget purged deployments: %w", translateError(err))
	}
	return nil
}
