package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/nullops/nullops/controlplane"
)

// Advance notes the last report applied, and reports whether it is new.
func (t NodeReports) Advance(
	ctx context.Context, node controlplane.NodeID, seq int64,
) (bool, error) {
	n, err := t.q.AdvanceReports(ctx, string(node), seq)
	if err != nil {
		return false, fmt.Errorf("advance reports of node %s: %w", node, translateError(err))
	}
	return n > 0, nil
}

// Reset restarts the node's report count after seq.
func (t NodeReports) Reset(ctx context.Context, node controlplane.NodeID, seq int64) error {
	if err := t.q.ResetReports(ctx, string(node), seq); err != nil {
		return fmt.Errorf("reset reports of node %s: %w", node, translateError(err))
	}
	return nil
}

// GetLast returns the number of the node's last report that was applied.
func (t NodeReports) GetLast(ctx context.Context, node controlplane.NodeID) (int64, error) {
	seq, err := t.q.GetReports(ctx, string(node))
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("last report of node %s: %w", node, err)
	}
	return seq, nil
}
