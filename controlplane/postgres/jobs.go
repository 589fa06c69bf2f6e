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
		return fmt.Errorf("put job %s: %w", name, translateError(err))
	}
	return nil
}

// ClaimJobs returns those of the jobs that are due, each to one caller only.
func (t *Tx) ClaimJobs(ctx context.Context, names []string) ([]string, error) {
	due, err := t.q.ClaimJobs(ctx, names)
	if err != nil {
		return nil, fmt.Errorf("claim jobs: %w", err)
	}
	return due, nil
}

// ExpiredDeployments returns up to most deployments whose lifetime has ended, oldest first.
func (t *Tx) ExpiredDeployments(
	ctx context.Context,
	most int,
) ([]controlplane.DeploymentID, error) {
	rows, err := t.q.ListExpired(ctx, int32(most))
	if err != nil {
		return nil, fmt.Errorf("list expired deployments: %w", err)
	}
	return fromStrings[controlplane.DeploymentID](rows), nil
}

// ExpiryTimes returns when deployments will be removed because they are not used. Those
// that never expire are left out.
func (t *Tx) ExpiryTimes(
	ctx context.Context, ids ...controlplane.DeploymentID,
) (map[controlplane.DeploymentID]time.Time, error) {
	rows, err := t.q.ListExpiries(ctx, toStrings(ids))
	if err != nil {
		return nil, fmt.Errorf("list expiries: %w", err)
	}
	all := map[controlplane.DeploymentID]time.Time{}
	for _, r := range rows {
		all[controlplane.DeploymentID(r.ID)] = r.ExpiresAt
	}
	return all, nil
}

// TouchDeployment records that a deployment is in use, which restarts its lifetime.
func (t *Tx) TouchDeployment(ctx context.Context, id controlplane.DeploymentID) error {
	if err := t.q.TouchDeployment(ctx, string(id)); err != nil {
		return fmt.Errorf("note interest in %s: %w", id, err)
	}
	return nil
}

// DatabaseTime is the time of the database's clock.
func (t *Tx) DatabaseTime(ctx context.Context) (time.Time, error) {
	now, err := t.q.DatabaseTime(ctx)
	if err != nil {
		return now, fmt.Errorf("read the database's clock: %w", err)
	}
	return now, nil
}
