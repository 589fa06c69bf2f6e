package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"github.com/nullops/nullops/internal/wait"
)

// migrationLock is the advisory lock that lets one process migrate at a time.
// Any number does, as long as it never changes.
const migrationLock = 4812000

// Migrate brings the schema up to what the files say. Several processes may
// call it at once: one works, the others wait. A schema newer than the files
// is refused, because an old binary would misread it.
func (s *Store) Migrate(ctx context.Context, files fs.FS) error {
	return migrateSchema(ctx, s.pool, files)
}

func migrateSchema(ctx context.Context, pool *pgxpool.Pool, files fs.FS) error {
	return withProvider(pool, files, func(p *goose.Provider) error {
		if err := notNewer(ctx, p); err != nil {
			return err
		}
		err := runMigrations(ctx, func(ctx context.Context) error {
			_, err := p.Up(ctx)
			return err
		})
		if err != nil {
			return fmt.Errorf("migrate database: %w", err)
		}
		return nil
	})
}

const (
	// lockPatience is how long a migration waits for a table: everybody who comes after it waits too,
	// readers among them.
	lockPatience = 3 * time.Second
	// lockPause is how long it lets the others go on then, and lockTries how often it tries: more than
	// ten minutes, for a backup of a large database.
	lockPause = time.Second
	lockTries = 200
)

// runMigrations runs goose until no other transaction is in its way. During an upgrade the release
// before still works in the same tables. A migration that waited for one too long, or that
// PostgreSQL ended because two transactions waited for each other, was rolled back as a whole, and
// begins again.
func runMigrations(ctx context.Context, run func(context.Context) error) error {
	for try := 1; ; try++ {
		err := run(ctx)
		if !isRetryable(err) && !isLockTimeout(err) {
			return err
		}
		if try == lockTries {
			return fmt.Errorf("%w; another transaction holds a table that it needs, such as that of "+
				"a backup. Wait until it is over, and try again", err)
		}
		if err := wait.Sleep(ctx, lockPause); err != nil {
			return err
		}
	}
}

// patientLocker is goose's lock, which also bounds how long statements of its connection wait for
// tables.
type patientLocker struct{ lock.SessionLocker }

func (l patientLocker) SessionLock(ctx context.Context, conn *sql.Conn) error {
	if err := l.SessionLocker.SessionLock(ctx, conn); err != nil {
		return err
	}
	_, err := conn.ExecContext(ctx, fmt.Sprintf("SET lock_timeout = %d", lockPatience.Milliseconds()))
	if err != nil {
		return errors.Join(err, l.SessionLocker.SessionUnlock(context.WithoutCancel(ctx), conn))
	}
	return nil
}

func (l patientLocker) SessionUnlock(ctx context.Context, conn *sql.Conn) error {
	_, err := conn.ExecContext(ctx, "RESET lock_timeout")
	return errors.Join(err, l.SessionLocker.SessionUnlock(ctx, conn))
}

// RefuseNewer returns an error if the schema is newer than the files. It changes nothing.
func (s *Store) RefuseNewer(ctx context.Context, files fs.FS) error {
	return withProvider(s.pool, files, func(p *goose.Provider) error { return notNewer(ctx, p) })
}

// MigrationState is one migration: Applied or waiting.
type MigrationState struct {
	Version int64
	Name    string
	Applied bool
}

// MigrationStates lists the files' migrations, oldest first.
func (s *Store) MigrationStates(ctx context.Context, files fs.FS) ([]MigrationState, error) {
	var all []MigrationState
	err := withProvider(s.pool, files, func(p *goose.Provider) error {
		states, err := p.Status(ctx)
		if err != nil {
			return fmt.Errorf("read migration states: %w", err)
		}
		for _, st := range states {
			all = append(all, MigrationState{
				Version: st.Source.Version, Name: st.Source.Path,
				Applied: st.State == goose.StateApplied,
			})
		}
		return nil
	})
	return all, err
}

// MigrateTo goes down or up to exactly one version, for tests and operators.
func (s *Store) MigrateTo(ctx context.Context, files fs.FS, version int64) error {
	return withProvider(s.pool, files, func(p *goose.Provider) error {
		now, err := p.GetDBVersion(ctx)
		if err != nil {
			return fmt.Errorf("read schema version: %w", err)
		}
		err = runMigrations(ctx, func(ctx context.Context) (err error) {
			if version < now {
				_, err = p.DownTo(ctx, version)
			} else {
				_, err = p.UpTo(ctx, version)
			}
			return err
		})
		if err != nil {
			return fmt.Errorf("migrate database to %d: %w", version, err)
		}
		return nil
	})
}

// notNewer returns an error early if the schema is newer than the files. It is checked before the
// lock, so another process may still migrate in between.
func notNewer(ctx context.Context, p *goose.Provider) error {
	has, err := p.GetDBVersion(ctx)
	if err != nil {
		return fmt.Errorf("read schema version: %w", err)
	}
	sources := p.ListSources()
	if len(sources) == 0 {
		return errors.New("migrate database: no migrations in the binary")
	}
	if knows := sources[len(sources)-1].Version; has > knows {
		return fmt.Errorf("the database has schema %d, this program knows %d: "+
			"start the newer release, or restore a backup made by this one", has, knows)
	}
	return nil
}

func withProvider(pool *pgxpool.Pool, files fs.FS, fn func(*goose.Provider) error) (err error) {
	db := stdlib.OpenDBFromPool(pool)
	defer func() { err = errors.Join(err, db.Close()) }()
	locker, err := lock.NewPostgresSessionLocker(
		lock.WithLockID(migrationLock), lock.WithLockTimeout(1, 300))
	if err != nil {
		return fmt.Errorf("migration lock: %w", err)
	}
	p, err := goose.NewProvider(goose.DialectPostgres, db, files,
		goose.WithSessionLocker(patientLocker{locker}))
	if err != nil {
		return fmt.Errorf("read migrations: %w", err)
	}
	return fn(p)
}

// ListNodesAway names the nodes that are not online. It is used before an upgrade, and so reads a
// schema of an earlier release too: generated queries know columns that it does not have.
func (s *Store) ListNodesAway(ctx context.Context) ([]string, error) {
	var there bool
	err := s.pool.QueryRow(ctx, "SELECT to_regclass('public.nodes') IS NOT NULL").Scan(&there)
	if err != nil || !there {
		return nil, err
	}
	rows, err := s.pool.Query(ctx, "SELECT name FROM nodes WHERE status <> 'online' ORDER BY name")
	if err != nil {
		return nil, fmt.Errorf("list nodes that are away: %w", err)
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}
