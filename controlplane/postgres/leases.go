package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/nullops/nullops/controlplane"
)

// LeasableNodes returns every node that the holder commands or could command: no other
// holder has a valid lease on it.
func (t *Tx) LeasableNodes(
	ctx context.Context, holder string,
) (map[controlplane.NodeID]controlplane.NodeStatus, error) {
	rows, err := t.q.ListLeasable(ctx, holder)
	if err != nil {
		return nil, fmt.Errorf("list nodes to command: %w", err)
	}
	all := make(map[controlplane.NodeID]controlplane.NodeStatus, len(rows))
	for _, r := range rows {
		all[controlplane.NodeID(r.ID)] = controlplane.NodeStatus(r.Status)
	}
	return all, nil
}

// LockLease reports whether the holder has the node's lease, and locks the lease until
// the transaction ends.
func (t *Tx) LockLease(
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
