// Package postgres is the only package that uses SQL. It converts rows to domain types
// and back, and contains no product rules except those that the schema enforces.
//
// Everything happens inside a transaction (Store.InTx to change, Store.Read to read),
// whose Tx has a handle for each subject, such as tx.Deployments(). A transaction's
// notifications are delivered at its commit, never without one; a Listener wakes the
// subscribers, and every loop also has a ticker in case a notification is lost.
package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/internal/tracing"
	"github.com/nullops/nullops/internal/wait"
)

// Config is where the database is, and limits on its use.
type Config struct {
	// URL is a libpq URL or keyword string.
	URL string
	// MaxConns limits the pool; zero means 10.
	MaxConns int32
	// Trace writes a span for each statement of what is traced.
	Trace bool
}

// Store is the way to the database. It is safe for concurrent use.
type Store struct {
	pool     *pgxpool.Pool
	auditKey *controlplane.AuditKey
	// patient limits the connections of low-priority work, see Patient.
	patient chan struct{}
}

// Open makes the pool and proves that the database answers.
func Open(ctx context.Context, c Config) (*Store, error) {
	conf, err := pgxpool.ParseConfig(c.URL)
	if err != nil {
		// The library's error repeats the URL, which holds a password.
		return nil, errors.New("database URL: not a PostgreSQL URL; " +
			"use postgres://user@host:port/name")
	}
	conf.MaxConns = c.MaxConns
	if conf.MaxConns == 0 {
		conf.MaxConns = 10
	}
	conf.MaxConnIdleTime = 5 * time.Minute
	conf.ConnConfig.ConnectTimeout = 5 * time.Second
	conf.ConnConfig.RuntimeParams["application_name"] = "nullops"
	// A client that is gone must not hold locks forever.
	conf.ConnConfig.RuntimeParams["idle_in_transaction_session_timeout"] = "60000"
	// A large read takes one core, and leaves the others to people.
	conf.ConnConfig.RuntimeParams["max_parallel_workers_per_gather"] = "0"
	if c.Trace {
		conf.ConnConfig.Tracer = statementTracer{}
	}
	conf.AfterConnect = func(_ context.Context, conn *pgx.Conn) error {
		registerUUIDs(conn.TypeMap())
		return nil
	}
	pool, err := pgxpool.NewWithConfig(ctx, conf)
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	if err := pool.Ping(ctx); err != nil {
		pool.Close()
		return nil, fmt.Errorf("reach database: %w", err)
	}
	return &Store{pool: pool, patient: make(chan struct{}, max(1, conf.MaxConns-kept))}, nil
}

// OpenStarting is Open for commands that run once: they may come before a database that is being
// started takes connections. The function is called when there is something to wait for.
func OpenStarting(ctx context.Context, c Config, starting func()) (store *Store, err error) {
	err = wait.Retry{Every: startingPause, For: startingLimit,
		IsFinal: func(err error) bool { return !isStarting(err) },
		Failed: func(attempt, _ int) {
			if attempt == 1 {
				starting()
			}
		},
	}.Do(ctx, func() (err error) {
		store, err = Open(ctx, c)
		return err
	})
	return store, err
}

// startingLimit is how long a database may take to start: the first start of PostgreSQL's image
// makes its files, which takes seconds on a slow disk.
const (
	startingPause = 500 * time.Millisecond
	startingLimit = 30 * time.Second
)

// isStarting reports that nothing listens yet, or that the server says that it is starting.
func isStarting(err error) bool {
	refused, ok := errors.AsType[*pgconn.PgError](err)
	return ok && refused.Code == codeStarting || errors.Is(err, syscall.ECONNREFUSED)
}

// OpenApart opens so many connections to the same database, apart from the store's own: for work
// that has to go on when all of those are in use, such as telling that they are.
func (s *Store) OpenApart(ctx context.Context, connections int32) (*Store, error) {
	conf := s.pool.Config()
	conf.MaxConns, conf.MinConns = connections, 0
	pool, err := pgxpool.NewWithConfig(ctx, conf)
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	return &Store{pool: pool, auditKey: s.auditKey, patient: make(chan struct{}, connections)}, nil
}

// Close waits for connections in use and closes them all.
func (s *Store) Close() { s.pool.Close() }

// Ping proves that the database answers.
func (s *Store) Ping(ctx context.Context) error {
	if err := s.pool.Ping(ctx); err != nil {
		return fmt.Errorf("reach database: %w", err)
	}
	return nil
}

// PoolStats is what the pool is doing, for metrics.
type PoolStats struct {
	InUse, Idle, Max int32
	// Acquired counts acquisitions: while it stands still, nobody gets a connection.
	Acquired int64
	// Waited counts acquisitions that found no free connection and got one, WaitedFor how long that
	// took.
	Waited    int64
	WaitedFor time.Duration
}

// Stats reads the pool's counters.
func (s *Store) Stats() PoolStats {
	st := s.pool.Stat()
	return PoolStats{
		InUse: st.AcquiredConns(), Idle: st.IdleConns(), Max: st.MaxConns(),
		Acquired: st.AcquireCount(),
		Waited:   st.EmptyAcquireCount(), WaitedFor: st.EmptyAcquireWaitTime(),
	}
}

// InTx runs fn in one transaction. An error rolls everything back; otherwise it
// commits and sends the notifications. It retries if PostgreSQL asks for that
// (serialization failure, deadlock), so fn may run more than once and must change
// nothing outside.
//
// Within InSharedTx it takes part in that transaction, as a savepoint.
func (s *Store) InTx(ctx context.Context, fn func(*Tx) error) error {
	if shared := s.sharedOf(ctx); shared != nil {
		return shared.runInSavepoint(ctx, fn)
	}
	const tries = 5
	for try := 1; ; try++ {
		err := s.tryTx(ctx, pgx.TxOptions{}, fn)
		if err == nil || try == tries || !isRetryable(err) {
			return err
		}
	}
}

// Read runs fn on one unchanging picture of the database and changes nothing.
// Within InSharedTx it sees what that transaction has changed.
func (s *Store) Read(ctx context.Context, fn func(*Tx) error) error {
	if shared := s.sharedOf(ctx); shared != nil {
		return shared.runInSavepoint(ctx, fn)
	}
	return s.tryTx(ctx, pgx.TxOptions{
		IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly,
	}, fn)
}

func (s *Store) tryTx(ctx context.Context, o pgx.TxOptions, fn func(*Tx) error) (err error) {
	leave, err := s.waitLowPriority(ctx)
	if err != nil {
		return err
	}
	defer leave()
	tx, err := s.pool.BeginTx(ctx, o)
	if err != nil {
		return markAway(fmt.Errorf("begin: %w", err))
	}
	defer func() {
		if err != nil {
			undo, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
			defer cancel()
			_ = tx.Rollback(undo)
		}
	}()
	defer func() { err = markAway(err) }()
	t := (&Tx{auditKey: s.auditKey}).withTx(tx)
	if err := fn(t); err != nil {
		return err
	}
	if err := t.sendWakeUps(ctx); err != nil {
		return err
	}
	if err := tx.Commit(ctx); err != nil {
		return fmt.Errorf("commit: %w", translateError(err))
	}
	return nil
}

// InAuditedTx runs fn in a transaction together with its audit entry, whose request ID is
// stored with what fn creates. If fn fails, the entry is written in a transaction of
// its own, because attempts are audited too. fn may complete the entry.
func (s *Store) InAuditedTx(
	ctx context.Context, e *controlplane.AuditEntry, fn func(*Tx) error,
) (err error) {
	ctx, end := tracing.Span(ctx, e.Action, "object", e.Object, "request_id", e.RequestID)
	defer func() { end(err) }()
	err = s.InTx(ctx, func(tx *Tx) error {
		if err := tx.SetRequestID(ctx, e.RequestID); err != nil {
			return err
		}
		if err := fn(tx); err != nil {
			return err
		}
		e.Result, e.Detail = controlplane.AuditOK, cmp.Or(e.Detail, tx.change)
		return tx.Audit().Insert(ctx, *e)
	})
	if err == nil {
		return nil
	}
	return errors.Join(err, s.RecordRefusal(ctx, *e, err))
}

// RecordRefusal writes the audit entry of an attempt that was refused.
func (s *Store) RecordRefusal(ctx context.Context, e controlplane.AuditEntry, why error) error {
	e.Result, e.Detail = controlplane.AuditFailed, "internal"
	if said, ok := errors.AsType[*controlplane.Error](why); ok {
		e.Result, e.Detail = controlplane.AuditRefused, said.Code
	}
	if shared := s.sharedOf(ctx); shared != nil {
		shared.refused = append(shared.refused, e)
		return nil
	}
	return s.insertRefused(ctx, e)
}

func (s *Store) insertRefused(ctx context.Context, e controlplane.AuditEntry) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer cancel()
	return s.InTx(ctx, func(tx *Tx) error { return tx.Audit().Insert(ctx, e) })
}
