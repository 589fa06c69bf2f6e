package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/nullops/nullops/controlplane"
)

// ListLeasable returns every node that the holder commands or could command: no other
// holder has a valid lease on it. d is how long a lease lasts. The digest of all these is of: if it
// is known, nothing has changed and all is nil.
func (t Leases) ListLeasable(
	ctx context.Context, holder, known string, d time.Duration,
) (all map[controlplane.NodeID]controlplane.NodeStatus, of string, err error) {
	rows, err := t.q.ListLeasable(ctx, known, holder, d.Seconds())
	if err != nil {
		return nil, "", fmt.Errorf("list nodes to command: %w", err)
	}
	for _, r := range rows {
		of = r.Fleet
		if of == known {
			return nil, of, nil
		}
		if all == nil {
			all = make(map[controlplane.NodeID]controlplane.NodeStatus, len(rows))
		}
		if r.NodeID != "" {
			all[controlplane.NodeID(r.NodeID)] = controlplane.NodeStatus(r.Status)
		}
	}
	return all, of, nil
}

// Lock reports whether the holder has the node's lease, and locks the lease until
// the transaction ends.
func (t Leases) Lock(
	ctx context.Context, node controlplane.NodeID, holder string,
) (bool, error) {
	holds, err := t.q.HoldLease(ctx, holder, string(node))
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("check lease of node %s: %w", node, err)
	}
	return holds, nil
}

// GetEpoch returns the epoch of the node's current lease.
func (t Leases) GetEpoch(ctx context.Context, node controlplane.NodeID) (int64, error) {
	epoch, err := t.q.GetLeaseEpoch(ctx, string(node))
	if err != nil {
		return 0, fmt.Errorf("epoch of node %s: %w", node, translateMissing(err, "lease", string(node)))
	}
	return epoch, nil
}

// Release lets the next holder in without waiting.
func (t Leases) Release(ctx context.Context, id controlplane.NodeID, holder string) error {
	if err := t.q.ReleaseLease(ctx, string(id), holder); err != nil {
		return fmt.Errorf("release lease of node %s: %w", id, err)
	}
	return nil
}

// Acquire acquires or renews leases. It returns the epochs of those that the
// holder has now; the others belong to another holder.
func (t Leases) Acquire(ctx context.Context, ids []controlplane.NodeID, holder string,
	d time.Duration) (map[controlplane.NodeID]int64, error) {
	rows, err := t.q.AcquireLeases(ctx, holder, d.Seconds(), toStrings(ids))
	if err != nil {
		return nil, fmt.Errorf("acquire leases: %w", translateError(err))
	}
	all := make(map[controlplane.NodeID]int64, len(rows))
	for _, r := range rows {
		all[controlplane.NodeID(r.NodeID)] = r.Epoch
	}
	return all, nil
}

// Renew renews leases of the holder. It returns those that were not renewed:
// lost ones belong to another holder, busy ones are retried next time.
func (t Leases) Renew(ctx context.Context, ids []controlplane.NodeID, holder string,
	d time.Duration) (lost, busy []controlplane.NodeID, err error) {
	rows, err := t.q.RenewLeases(ctx, holder, toStrings(ids), d.Seconds())
	if err != nil {
		return nil, nil, fmt.Errorf("renew leases: %w", translateError(err))
	}
	for _, r := range rows {
		if r.Lost {
			lost = append(lost, controlplane.NodeID(r.ID))
		} else {
			busy = append(busy, controlplane.NodeID(r.ID))
		}
	}
	return lost, busy, nil
}

// RaiseEpoch makes the lease's epoch higher than any from before a restore.
func (t Leases) RaiseEpoch(ctx context.Context, node controlplane.NodeID) (bool, error) {
	n, err := t.q.RaiseEpoch(ctx, string(node))
	if err != nil {
		return false, fmt.Errorf("raise epoch of node %s: %w", node, translateError(err))
	}
	t.tx.NotifyOnCommit(controlplane.TopicNode, string(node))
	return n > 0, nil
}
