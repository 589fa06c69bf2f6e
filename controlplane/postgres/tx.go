package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres/internal/dbsqlc"
)

// Tx is a transaction: the only handle there is inside InTx and Read. Its
// methods, one file per subject, turn rows into nouns.
type Tx struct {
	tx    pgx.Tx
	q     *dbsqlc.Queries
	wakes map[string]bool
	// auditKey is nil in a store without one, see InsertAudit.
	auditKey *controlplane.AuditKey
}

// withTx returns a handle like this one on another transaction, or on a savepoint.
func (t *Tx) withTx(tx pgx.Tx) *Tx {
	return &Tx{tx: tx, q: dbsqlc.New(tx), wakes: map[string]bool{}, auditKey: t.auditKey}
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
	for p := range t.wakes {
		if err := t.q.Notify(ctx, p); err != nil {
			return fmt.Errorf("announce: %w", err)
		}
	}
	return nil
}
