package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/nullops/nullops/controlplane"
)

// PendingMove is a deployment that goes to another node, and what is made there.
type PendingMove struct {
	Deployment controlplane.DeploymentID
	Request    []byte
	Since      time.Time
	// RequestID is the request that began the move.
	RequestID string
}

// Start notes what is made once a deployment is gone where it is.
func (t Moves) Start(
	ctx context.Context, id controlplane.DeploymentID, request []byte,
) error {
	if err := t.q.StartMove(ctx, string(id), request); err != nil {
		return fmt.Errorf("start to move %s: %w", id, translateError(err))
	}
	return nil
}

// ListPending returns moves whose deployment is gone from its old node and not yet created
// on another one.
func (t Moves) ListPending(ctx context.Context, most int) ([]PendingMove, error) {
	rows, err := t.q.ListMoves(ctx, int32(most))
	if err != nil {
		return nil, fmt.Errorf("list moves: %w", err)
	}
	all := make([]PendingMove, len(rows))
	for i, r := range rows {
		all[i] = PendingMove{Deployment: controlplane.DeploymentID(r.DeploymentID), Request: r.Move,
			Since: r.MovingSince, RequestID: r.RequestID}
	}
	return all, nil
}

// End stores the id of the new deployment, empty if none was created. It reports
// false if the move had ended before.
func (t Moves) End(ctx context.Context, id, made controlplane.DeploymentID) (bool, error) {
	n, err := t.q.EndMove(ctx, nullIfEmpty(made), string(id))
	if err != nil {
		return false, fmt.Errorf("end the move of %s: %w", id, translateError(err))
	}
	return n > 0, nil
}
