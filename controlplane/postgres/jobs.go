package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/nullops/nullops/controlplane"
)

// PutJob makes sure that a job is known, and how often it is due.
func (t *Tx) PutJob(ctx context.Context, name string, every time.Duration) error {
	if err := t.q.PutJob(ctx, name, every.Seconds()); err != nil {
		return fmt.Errorf("put job %s: %w", name, translate(err))
	}
	return nil
}

// ClaimJobs gives those of the jobs that are due, each to one claimer only.
func (t *Tx) ClaimJobs(ctx context.Context, names []string) ([]string, error) {
	due, err := t.q.ClaimJobs(ctx, names)
	if err != nil {
		return nil, fmt.Errorf("claim jobs: %w", err)
	}
	return due, nil
}

// Expired gives at most so many deployments whose time is over, oldest first.
func (t *Tx) Expired(ctx context.Context, most int) ([]controlplane.DeploymentID, error) {
	rows, err := t.q.ListExpired(ctx, int32(most))
	if err != nil {
		return nil, fmt.Errorf("list expired deployments: %w", err)
	}
	return typed[controlplane.DeploymentID](rows), nil
}

// Expiries says when deployments will be removed for lack of interest. Those
// that stay for ever are not in it.
func (t *Tx) Expiries(
	ctx context.Context, ids ...controlplane.DeploymentID,
) (map[controlplane.DeploymentID]time.Time, error) {
	rows, err := t.q.ListExpiries(ctx, strs(ids))
	if err != nil {
		return nil, fmt.Errorf("list expiries: %w", err)
	}
	all := map[controlplane.DeploymentID]time.Time{}
	for _, r := range rows {
		all[controlplane.DeploymentID(r.ID)] = r.ExpiresAt
	}
	return all, nil
}

// Touch notes that somebody showed interest in a deployment.
func (t *Tx) Touch(ctx context.Context, id controlplane.DeploymentID) error {
	if err := t.q.TouchDeployment(ctx, string(id)); err != nil {
		return fmt.Errorf("note interest in %s: %w", id, err)
	}
	return nil
}

// Time is what the database's clock says.
func (t *Tx) Time(ctx context.Context) (time.Time, error) {
	now, err := t.q.DatabaseTime(ctx)
	if err != nil {
		return now, fmt.Errorf("read the database's clock: %w", err)
	}
	return now, nil
}
