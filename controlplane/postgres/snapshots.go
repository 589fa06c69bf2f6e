package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/nullops/nullops/controlplane"
)

// Put stores a snapshot of a deployment's services.
func (t Snapshots) Put(ctx context.Context, id controlplane.DeploymentID,
	services map[string]controlplane.ServiceSnapshot) error {
	data, err := encodeJSON(services)
	if err != nil {
		return err
	}
	if err := t.q.PutKeepsake(ctx, string(id), data); err != nil {
		return fmt.Errorf("keep the services of %s: %w", id, translateError(err))
	}
	return nil
}

// Get returns the snapshot of a deployment's services; nil if there is none.
func (t Snapshots) Get(
	ctx context.Context, id controlplane.DeploymentID,
) (*controlplane.DeploymentSnapshot, error) {
	r, err := t.q.GetKeepsake(ctx, string(id))
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read what was kept of %s: %w", id, err)
	}
	k := &controlplane.DeploymentSnapshot{TakenAt: r.TakenAt}
	return k, decodeJSON(r.Services, &k.Services)
}
