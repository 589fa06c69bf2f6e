package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres/internal/dbsqlc"
	"github.com/nullops/nullops/pipeline"
)

// Start has a deployment go to another node. It reports false when
// something of it is elsewhere already.
func (t Relocations) Start(ctx context.Context, id controlplane.DeploymentID,
	to controlplane.NodeID, by string) (bool, error) {
	n, err := t.q.StartRelocation(ctx, string(id), string(to), by)
	if err != nil {
		return false, fmt.Errorf("start to relocate %s: %w", id, translateError(err))
	}
	return n > 0, nil
}

// StartRestored has a deployment start on another node with data from a backup. It reports
// false when something of it is elsewhere already.
func (t Relocations) StartRestored(ctx context.Context, d controlplane.Deployment,
	r controlplane.Relocation, holder string) (bool, error) {
	n, err := t.q.StartRestoredRelocation(ctx, dbsqlc.StartRestoredRelocationParams{
		DeploymentID: string(d.ID), NodeID: string(r.NodeID), ByName: r.By, Holder: holder,
		Bytes: r.Bytes})
	if err == nil && n > 0 {
		err = t.q.NextGeneration(ctx, string(d.ID))
	}
	if err != nil {
		return false, fmt.Errorf("start to restore %s: %w", d.ID, translateError(err))
	}
	t.tx.NotifyOnCommit(controlplane.TopicNode, string(d.NodeID))
	t.tx.NotifyOnCommit(controlplane.TopicNode, string(r.NodeID))
	return n > 0, nil
}

// Get returns a deployment's relocation; nil if there is none.
func (t Relocations) Get(
	ctx context.Context, id controlplane.DeploymentID,
) (*controlplane.Relocation, error) {
	r, err := t.q.GetRelocation(ctx, string(id))
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("load relocation of %s: %w", id, err)
	}
	return &controlplane.Relocation{Deployment: id, NodeID: controlplane.NodeID(r.NodeID),
		Node: r.Node, Phase: controlplane.RelocationPhase(r.Phase), By: r.ByName,
		Since: r.Since, Bytes: r.Bytes, Resume: fromStrings[pipeline.StepKey](r.Resume),
		FromBackup: r.FromBackup}, nil
}

// ListTo lists the deployments of other nodes that have a relocation involving
// this node.
func (t Relocations) ListTo(
	ctx context.Context, node controlplane.NodeID,
) ([]controlplane.DeploymentID, error) {
	ids, err := t.q.ListRelocationsTo(ctx, string(node))
	if err != nil {
		return nil, fmt.Errorf("list relocations: %w", err)
	}
	return fromStrings[controlplane.DeploymentID](ids), nil
}

// Claim claims a relocation without a worker; the result is empty if there is
// none.
func (t Relocations) Claim(
	ctx context.Context, holder string,
) (a controlplane.RelocationAttempt, err error) {
	r, err := t.q.TakeRelocation(ctx, holder)
	if errors.Is(err, pgx.ErrNoRows) {
		return a, nil
	}
	if err != nil {
		return a, fmt.Errorf("take relocation: %w", translateError(err))
	}
	return controlplane.RelocationAttempt{Deployment: controlplane.DeploymentID(r.DeploymentID),
		Since: r.Since}, nil
}

// Touch notes a sign of life, and reports whether it is wanted still.
func (t Relocations) Touch(
	ctx context.Context, a controlplane.RelocationAttempt, holder string,
) (bool, error) {
	n, err := t.q.SeeRelocation(ctx, string(a.Deployment), a.Since, holder)
	if err != nil {
		return false, fmt.Errorf("note relocation of %s: %w", a.Deployment, translateError(err))
	}
	return n > 0, nil
}

// LockReservedRoom locks the reservations of the node's disk until the transaction ends. It
// returns how many bytes are reserved for other deployments.
func (t Relocations) LockReservedRoom(ctx context.Context, r controlplane.Relocation) (int64,
	error) {
	if err := t.q.HoldRoom(ctx, string(r.NodeID)); err != nil {
		return 0, fmt.Errorf("hold the room of node %s: %w", r.Node, translateError(err))
	}
	promised, err := t.q.GetPromised(ctx, string(r.NodeID), string(r.Deployment))
	if err != nil {
		return 0, fmt.Errorf("count what is promised of node %s: %w", r.Node, err)
	}
	return promised, nil
}

// ReserveRoom notes that a copy may take so many bytes. It reports whether the copy is
// wanted still.
func (t Relocations) ReserveRoom(ctx context.Context, r controlplane.Relocation) (bool, error) {
	n, err := t.q.PromiseRoom(ctx, r.Bytes, string(r.Deployment), r.Since)
	if err != nil {
		return false, fmt.Errorf("promise room to %s: %w", r.Deployment, translateError(err))
	}
	return n > 0, nil
}

// Move changes a relocation's phase, node and size, and so the goals of both
// nodes. It reports false if the phase had changed before.
func (t Relocations) Move(ctx context.Context, d controlplane.Deployment,
	from controlplane.RelocationPhase, r controlplane.Relocation) (bool, error) {
	n, err := t.q.MoveRelocation(ctx, dbsqlc.MoveRelocationParams{DeploymentID: string(d.ID),
		Since: r.Since, FromPhase: string(from), ToPhase: string(r.Phase),
		NodeID: string(r.NodeID), Bytes: r.Bytes, Resume: toStrings(r.Resume)})
	if err == nil && n > 0 {
		err = t.q.NextGeneration(ctx, string(d.ID))
	}
	if err != nil {
		return false, fmt.Errorf("relocate %s: %w", d.ID, translateError(err))
	}
	t.tx.NotifyOnCommit(controlplane.TopicNode, string(d.NodeID))
	t.tx.NotifyOnCommit(controlplane.TopicNode, string(r.NodeID))
	return n > 0, nil
}

// End records that no other node has anything of a deployment.
func (t Relocations) End(ctx context.Context, id controlplane.DeploymentID) error {
	if err := t.q.EndRelocation(ctx, string(id)); err != nil {
		return fmt.Errorf("end relocation of %s: %w", id, translateError(err))
	}
	return nil
}

// RelocationTimeouts bounds how long a relocation may make no progress.
type RelocationTimeouts struct {
	// Away bounds how long one of its nodes may be offline, Silent how long the worker may
	// be silent, Start how long its services may take to start.
	Away, Silent, Start time.Duration
}

// ListLost returns relocations that have exceeded a limit, and why.
func (t Relocations) ListLost(
	ctx context.Context, p RelocationTimeouts,
) (map[controlplane.RelocationAttempt]string, error) {
	rows, err := t.q.ListLostRelocations(ctx, p.Away.Seconds(), p.Silent.Seconds(),
		p.Start.Seconds())
	if err != nil {
		return nil, fmt.Errorf("list lost relocations: %w", err)
	}
	all := map[controlplane.RelocationAttempt]string{}
	for _, r := range rows {
		all[controlplane.RelocationAttempt{Deployment: controlplane.DeploymentID(r.DeploymentID),
			Since: r.Since}] = r.Why
	}
	return all, nil
}
