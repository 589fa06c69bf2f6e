package postgres

import (
	"context"
	"fmt"
	"time"
)

// Put makes sure that a job is known, and how often it is due.
func (t Jobs) Put(ctx context.Context, name string, every time.Duration) error {
	if err := t.q.PutJob(ctx, name, every.Seconds()); err != nil {
		return fmt.Errorf("put job %s: %w", name, translateError(err))
	}
	return nil
}

// Wake makes a job due now.
func (t Jobs) Wake(ctx context.Context, name string) error {
	if err := t.q.WakeJob(ctx, name); err != nil {
		return fmt.Errorf("wake job %s: %w", name, err)
	}
	return nil
}

// End notes that a job was done.
func (t Jobs) End(ctx context.Context, name string) error {
	if err := t.q.EndJob(ctx, name); err != nil {
		return fmt.Errorf("end job %s: %w", name, translateError(err))
	}
	return nil
}

// Fail notes that a job failed, and why.
func (t Jobs) Fail(ctx context.Context, name, reason string) error {
	if err := t.q.FailJob(ctx, reason, name); err != nil {
		return fmt.Errorf("note that job %s failed: %w", name, translateError(err))
	}
	return nil
}

// Claim returns those of the jobs that are due, each to one caller only.
func (t Jobs) Claim(ctx context.Context, names []string) ([]string, error) {
	due, err := t.q.ClaimJobs(ctx, names)
	if err != nil {
		return nil, fmt.Errorf("claim jobs: %w", err)
	}
	return due, nil
}
