package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/pipeline"
)

// PutSnapshot stores a snapshot of a deployment's services.
func (t *Tx) PutSnapshot(ctx context.Context, id controlplane.DeploymentID,
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

// GetSnapshot returns the snapshot of a deployment's services; nil if there is none.
func (t *Tx) GetSnapshot(
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

// LastLines returns the last log lines of a step or service of a run, in order.
func (t *Tx) LastLines(ctx context.Context, run controlplane.RunID, key pipeline.StepKey,
	most int) ([]string, error) {
	rows, err := t.q.ListLastLines(ctx, string(run), string(key), int32(most))
	if err != nil {
		return nil, fmt.Errorf("list the last lines of %s: %w", key, err)
	}
	all := make([]string, len(rows))
	for i, r := range rows {
		all[i] = r.Text
	}
	slices.Reverse(all)
	return all, nil
}
