// Package jobs runs the control plane's periodic tasks: it deletes old rows, and
// removes expired deployments.
//
// The time at which a job is due is a row in the database. However many control planes
// there are, one of them claims the job and runs it in small batches. A crash loses
// nothing: every job starts from stored state, and jobs are idempotent. A job that failed
// is due again in a minute; when it has failed three times in a row, webhooks are told.
package jobs

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/internal/text"
)

const (
	// lookEvery is how often due jobs are claimed.
	lookEvery = 5 * time.Second
	// longest bounds one run of a job that does not say more: the next continues with the rest.
	longest = 5 * time.Minute
	// longestReason is how much of a failure is kept, in bytes.
	longestReason = 500
)

// Job is one thing to do, and how often. The name is its row's.
type Job struct {
	Name  string
	Every time.Duration
	Do    func(context.Context) error
	// Longest bounds one run; zero is five minutes.
	Longest time.Duration
}

// Jobs does them.
type Jobs struct {
	store *postgres.Store
	log   *slog.Logger
	jobs  []Job
	// Ran hears how long a job took and how it ended; nil hears of nothing.
	Ran func(ctx context.Context, name string, took time.Duration, err error)
}

// New makes a set of jobs; nothing is done before Run.
func New(store *postgres.Store, log *slog.Logger, jobs ...Job) *Jobs {
	return &Jobs{store: store, log: log, jobs: jobs}
}

// Run does what is due until ctx ends. A database that is away is waited for.
func (j *Jobs) Run(ctx context.Context) error {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for known := false; ; {
		if !known {
			known = j.logFailure(ctx, "jobs could not be stored", j.registerJobs(ctx))
		}
		if known {
			j.logFailure(ctx, "jobs could not be claimed", j.runDue(ctx))
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// logFailure logs an error, and reports whether there was none.
func (j *Jobs) logFailure(ctx context.Context, what string, err error) bool {
	if err != nil && ctx.Err() == nil {
		j.log.WarnContext(ctx, what, "error", err)
	}
	return err == nil
}

func (j *Jobs) registerJobs(ctx context.Context) error {
	return j.store.InTx(ctx, func(tx *postgres.Tx) error {
		for _, job := range j.jobs {
			if err := tx.Jobs().Put(ctx, job.Name, job.Every); err != nil {
				return err
			}
		}
		return nil
	})
}

// runDue claims what is due and does it, one after the other. A claim is
// committed first: a job that takes long holds no lock.
func (j *Jobs) runDue(ctx context.Context) error {
	names := make([]string, len(j.jobs))
	for i, job := range j.jobs {
		names[i] = job.Name
	}
	var due []string
	err := j.store.InTx(ctx, func(tx *postgres.Tx) (err error) {
		due, err = tx.Jobs().Claim(ctx, names)
		return err
	})
	if err != nil {
		return err
	}
	for _, name := range due {
		j.runJob(ctx, name)
	}
	return nil
}

func (j *Jobs) runJob(ctx context.Context, name string) {
	for _, job := range j.jobs {
		if job.Name == name {
			began := time.Now()
			err := j.doJob(ctx, job)
			if j.Ran != nil {
				j.Ran(ctx, name, time.Since(began), err)
			}
			j.logFailure(ctx, "job "+name+" failed; it is tried again", err)
			j.logFailure(ctx, "how job "+name+" ended was not stored", j.storeEnd(ctx, name, err))
		}
	}
}

// storeEnd stores how a job ended. One that was interrupted by our own end did not fail.
func (j *Jobs) storeEnd(ctx context.Context, name string, failure error) error {
	if ctx.Err() != nil {
		return nil
	}
	return j.store.InTx(ctx, func(tx *postgres.Tx) error {
		if failure == nil {
			return tx.Jobs().End(ctx, name)
		}
		return tx.Jobs().Fail(ctx, name, text.Clip(failure.Error(), longestReason))
	})
}

func (j *Jobs) doJob(ctx context.Context, job Job) (err error) {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(job.Longest, longest))
	defer cancel()
	defer controlplane.CatchPanic(ctx, j.log, "job "+job.Name, &err)
	return job.Do(ctx)
}
