package postgres

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres/internal/dbsqlc"
	"github.com/nullops/nullops/internal/tracing"
)

// Tx is a transaction: the only way to the tables inside InTx and Read. It has a handle
// for each subject, see subjects.go, whose methods turn rows into domain types. Tx
// itself has only what concerns the transaction as a whole.
type Tx struct {
	tx    pgx.Tx
	q     *dbsqlc.Queries
	wakes map[string]bool
	// auditKey is nil in a store without one, see Audit.Insert.
	auditKey *controlplane.AuditKey
	// change is what RecordChange says about the audited change.
	change string
}

// withTx returns a handle like this one on another transaction, or on a savepoint.
func (t *Tx) withTx(tx pgx.Tx) *Tx {
	return &Tx{tx: tx, q: dbsqlc.New(tx), wakes: map[string]bool{}, auditKey: t.auditKey}
}

// RecordChange puts what differs between two readings of an object into the audit entry of the
// transaction, unless the entry has a detail of its own.
func (t *Tx) RecordChange(before, after any) {
	t.change = controlplane.DescribeChange(before, after)
}

// NotifyOnCommit wakes the topic's subscribers if and when the transaction commits. The
// key is "" or the id of the deployment or node it is about. The same twice is
// one wake-up.
func (t *Tx) NotifyOnCommit(topic controlplane.Topic, key string) {
	if topic == controlplane.TopicNode && key == "" {
		// It is about a deployment that has no node yet.
		return
	}
	t.wakes[formatPayload(topic, key)] = true
}

// sendWakeUps hands the wake-ups to PostgreSQL, which delivers them at commit.
func (t *Tx) sendWakeUps(ctx context.Context) error {
	if len(t.wakes) == 0 {
		return nil
	}
	if err := t.q.Notify(ctx, slices.Collect(maps.Keys(t.wakes))); err != nil {
		return fmt.Errorf("announce: %w", err)
	}
	return nil
}

// SetRequestID sets the request ID that is stored with what this transaction creates:
// goals, runs, events, and notifications. Runs are stored with the trace of ctx as well.
func (t *Tx) SetRequestID(ctx context.Context, id string) error {
	parent := tracing.Traceparent(ctx)
	if id == "" && parent == "" {
		return nil
	}
	if err := t.q.NoteRequest(ctx, id, parent); err != nil {
		return fmt.Errorf("note request %s: %w", id, err)
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

// LockObject locks a name until the transaction ends; other callers with the same name
// wait.
func (t *Tx) LockObject(ctx context.Context, name string) error {
	if err := t.q.LockObject(ctx, name); err != nil {
		return fmt.Errorf("lock %s: %w", name, translateError(err))
	}
	return nil
}
