package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/nullops/nullops/controlplane"
)

type sharedTxKey struct{}

// sharedTx is a transaction that a context carries. Everything the same store is
// asked for with that context happens inside it.
type sharedTx struct {
	store *Store
	tx    *Tx
	// refused are entries of attempts that were refused. Written inside, they would
	// be rolled back together with what was refused.
	refused []controlplane.AuditEntry
}

// sharedOf returns the transaction that takes part in the context, nil if none does.
func (s *Store) sharedOf(ctx context.Context) *sharedTx {
	if shared, ok := ctx.Value(sharedTxKey{}).(*sharedTx); ok && shared.store == s {
		return shared
	}
	return nil
}

// ErrRollback ends a shared transaction that must not be committed.
var ErrRollback = errors.New("rolled back on purpose")

// InSharedTx runs fn in one transaction: everything that fn does in this store with its context,
// through any number of use cases, is committed together or not at all. Inside, InTx becomes a
// savepoint, so that one refused use case undoes only itself and fn may continue to find further
// problems. Inside, the context must not be used from two goroutines at once. Like InTx it tries
// again when PostgreSQL asks for that.
//
// Audit entries of refused attempts are written after a rollback, unless fn ends with ErrRollback:
// that rolls back, is returned as it is, and writes no entries.
func (s *Store) InSharedTx(ctx context.Context, fn func(context.Context) error) error {
	const tries = 5
	for try := 1; ; try++ {
		refused, err := s.runShared(ctx, fn)
		if try < tries && isRetryable(err) {
			continue
		}
		if err == nil || errors.Is(err, ErrRollback) {
			return err
		}
		for _, e := range refused {
			err = errors.Join(err, s.insertRefused(ctx, e))
		}
		return err
	}
}

func (s *Store) runShared(
	ctx context.Context, fn func(context.Context) error,
) (refused []controlplane.AuditEntry, err error) {
	err = s.tryTx(ctx, pgx.TxOptions{}, func(tx *Tx) error {
		shared := &sharedTx{store: s, tx: tx}
		err := fn(context.WithValue(ctx, sharedTxKey{}, shared))
		refused = shared.refused
		return err
	})
	return refused, err
}

// runInSavepoint runs fn inside the shared transaction, in a savepoint.
func (t *sharedTx) runInSavepoint(ctx context.Context, fn func(*Tx) error) (err error) {
	inner, err := t.tx.tx.Begin(ctx)
	if err != nil {
		return fmt.Errorf("begin savepoint: %w", err)
	}
	defer func() {
		if err != nil {
			undo, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
			defer cancel()
			_ = inner.Rollback(undo)
		}
	}()
	one := t.tx.withTx(inner)
	if err := fn(one); err != nil {
		return err
	}
	if err := inner.Commit(ctx); err != nil {
		return fmt.Errorf("release savepoint: %w", translateError(err))
	}
	for wake := range one.wakes {
		t.tx.wakes[wake] = true
	}
	return nil
}
