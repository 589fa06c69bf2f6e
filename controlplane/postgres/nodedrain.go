package postgres

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres/internal/dbsqlc"
)

// toDrain reads the drain of a node's row; nil is none.
func toDrain(n dbsqlc.Node) *controlplane.Drain {
	if n.DrainSince == nil {
		return nil
	}
	return &controlplane.Drain{Status: controlplane.DrainStatus(n.Drain), Since: *n.DrainSince,
		By: n.DrainBy, Deadline: n.DrainDeadline}
}

// StartDrain excludes a node from placement. A running drain gets the new deadline; a finished one
// stays finished.
func (t Nodes) StartDrain(ctx context.Context, id controlplane.NodeID, by string,
	deadline *time.Time) error {
	if _, err := t.q.StartDrain(ctx, deadline, by, string(id)); err != nil {
		return fmt.Errorf("drain node: %w", translateError(err))
	}
	t.tx.NotifyOnCommit(controlplane.TopicNode, string(id))
	return nil
}

// EndDrain lets a node take deployments again; ended is false when it did.
func (t Nodes) EndDrain(ctx context.Context, id controlplane.NodeID) (ended bool, err error) {
	n, err := t.q.EndDrain(ctx, string(id))
	if err != nil {
		return false, fmt.Errorf("end drain of node: %w", translateError(err))
	}
	t.tx.NotifyOnCommit(controlplane.TopicNode, string(id))
	return n > 0, nil
}

// FinishDrains moves the drains whose nodes are empty, or late.
func (t Nodes) FinishDrains(ctx context.Context) error {
	ids, err := t.q.FinishDrains(ctx)
	if err != nil {
		return fmt.Errorf("finish drains: %w", translateError(err))
	}
	for _, id := range ids {
		t.tx.NotifyOnCommit(controlplane.TopicNode, id)
	}
	return nil
}

// ListRemainingDeployments lists what is on a node, by name.
func (t Nodes) ListRemainingDeployments(
	ctx context.Context, id controlplane.NodeID,
) ([]controlplane.RemainingDeployment, error) {
	rows, err := t.q.ListStaying(ctx, nullIfEmpty(id))
	if err != nil {
		return nil, fmt.Errorf("list deployments of node: %w", err)
	}
	all := make([]controlplane.RemainingDeployment, len(rows))
	ids := make([]controlplane.DeploymentID, len(rows))
	for i, r := range rows {
		ids[i] = controlplane.DeploymentID(r.ID)
		all[i] = controlplane.RemainingDeployment{ID: ids[i], Name: r.Name, Project: r.Project,
			CreatedBy: r.CreatedBy, Status: controlplane.DeploymentStatus(r.Status)}
	}
	ends, err := t.tx.Lifetimes().ListExpiryTimes(ctx, ids...)
	if err != nil {
		return nil, err
	}
	for i := range all {
		if at, ok := ends[all[i].ID]; ok {
			all[i].EndsAt = &at
		}
	}
	return all, nil
}

// InsertForgotten records a node that is removed by force.
func (t Nodes) InsertForgotten(
	ctx context.Context, n controlplane.ForgottenNode,
) (controlplane.ForgottenNode, error) {
	left, err := encodeJSON(n.Left)
	if err != nil {
		return n, err
	}
	row, err := t.q.InsertForgottenNode(ctx, dbsqlc.InsertForgottenNodeParams{Name: n.Name,
		Environment: n.Environment, Address: n.Address, Thumbprint: string(n.Thumbprint),
		ForgottenBy: n.By, LeftBehind: left})
	if err != nil {
		return n, fmt.Errorf("record forgotten node: %w", translateError(err))
	}
	n.ID, n.At = row.ID, row.ForgottenAt
	return n, nil
}

// ListForgotten returns up to most below the number, newest first.
func (t Nodes) ListForgotten(
	ctx context.Context, before int64, most int,
) ([]controlplane.ForgottenNode, error) {
	if before <= 0 {
		before = math.MaxInt64
	}
	rows, err := t.q.ListForgottenNodes(ctx, before, int32(most))
	if err != nil {
		return nil, fmt.Errorf("list forgotten nodes: %w", err)
	}
	all := make([]controlplane.ForgottenNode, len(rows))
	for i, r := range rows {
		all[i] = controlplane.ForgottenNode{ID: r.ID, Name: r.Name, Environment: r.Environment,
			Address: r.Address, Thumbprint: controlplane.Thumbprint(r.Thumbprint),
			By: r.ForgottenBy, At: r.ForgottenAt}
		if err := decodeJSON(r.LeftBehind, &all[i].Left); err != nil {
			return nil, err
		}
	}
	return all, nil
}
