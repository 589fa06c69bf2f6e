package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	// scratchMark is the comment of a database that may be emptied. Without it, a database that has
	// tables is somebody's.
	scratchMark = "NullOps restores its backups into this database to verify them, and empties it"
	// scratchLock lets one process at a time restore into it.
	scratchLock = 4812001

	codeNoRight = "42501"
)

// Scratch is an empty database beside the installation's, for restoring backups to verify them.
type Scratch struct {
	*Store
	// lock is the connection that holds the lock.
	lock *pgx.Conn
}

func (s *Store) scratchName() string { return s.pool.Config().ConnConfig.Database + "_scratch" }

// EnsureScratch makes the scratch database if it is missing, for a role; empty is one's own.
func (s *Store) EnsureScratch(ctx context.Context, owner string) error {
	name := s.scratchName()
	var there bool
	err := s.pool.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)",
		name).Scan(&there)
	if err != nil || there {
		return err
	}
	statement := "CREATE DATABASE " + pgx.Identifier{name}.Sanitize()
	if owner != "" {
		statement += " OWNER " + pgx.Identifier{owner}.Sanitize()
	}
	_, err = s.pool.Exec(ctx, statement)
	if hasCode(err, codeNoRight) {
		return fmt.Errorf("backups are verified in the database %s, which this role may not make. "+
			"As a role that may: CREATE DATABASE %[1]s OWNER %[2]s", name,
			pgx.Identifier{s.pool.Config().ConnConfig.User}.Sanitize())
	}
	if err != nil {
		return fmt.Errorf("make the database %s: %w", name, err)
	}
	return nil
}

// OpenScratch opens the scratch database, empty. Close empties it again.
func (s *Store) OpenScratch(ctx context.Context) (*Scratch, error) {
	if err := s.EnsureScratch(ctx, ""); err != nil {
		return nil, err
	}
	conf := s.pool.Config()
	conf.ConnConfig.Database = s.scratchName()
	conf.MaxConns, conf.MinConns = 4, 0
	lock, err := pgx.ConnectConfig(ctx, conf.ConnConfig)
	if err != nil {
		return nil, fmt.Errorf("open the database %s: %w", s.scratchName(), err)
	}
	pool, err := pgxpool.NewWithConfig(ctx, conf)
	if err != nil {
		return nil, errors.Join(err, lock.Close(ctx))
	}
	x := &Scratch{Store: &Store{pool: pool, patient: make(chan struct{}, conf.MaxConns)}, lock: lock}
	if err := x.prepare(ctx); err != nil {
		x.pool.Close()
		return nil, errors.Join(err, lock.Close(ctx))
	}
	return x, nil
}

// prepare locks the database, proves that it may be emptied, and empties it.
func (x *Scratch) prepare(ctx context.Context) error {
	var locked, marked bool
	if err := x.lock.QueryRow(ctx, "SELECT pg_try_advisory_lock($1)", scratchLock).Scan(
		&locked); err != nil {
		return fmt.Errorf("lock the scratch database: %w", err)
	}
	name := x.pool.Config().ConnConfig.Database
	if !locked {
		return fmt.Errorf("another backup is being verified in the database %s: try again later", name)
	}
	err := x.lock.QueryRow(ctx, `SELECT coalesce(shobj_description(oid, 'pg_database') = $1, false)
		FROM pg_database WHERE datname = current_database()`, scratchMark).Scan(&marked)
	if err != nil {
		return fmt.Errorf("look at the scratch database: %w", err)
	}
	if !marked {
		if err := x.refuseFilled(ctx); err != nil {
			return fmt.Errorf("backups are verified in the database %s, which holds something else. "+
				"Drop or rename it: %w", name, err)
		}
		_, err := x.lock.Exec(ctx, "COMMENT ON DATABASE "+pgx.Identifier{name}.Sanitize()+" IS '"+
			scratchMark+"'")
		if err != nil {
			return fmt.Errorf("mark the database %s: its owner has to be this role: %w", name, err)
		}
	}
	return x.empty(ctx)
}

func (x *Scratch) empty(ctx context.Context) error {
	_, err := x.lock.Exec(ctx, "DROP SCHEMA public CASCADE; CREATE SCHEMA public")
	if err != nil {
		return fmt.Errorf("empty the scratch database: %w", err)
	}
	return nil
}

// Close empties the database, and lets others use it.
func (x *Scratch) Close(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	x.pool.Close()
	return errors.Join(x.empty(ctx), x.lock.Close(ctx))
}

func hasCode(err error, code string) bool {
	failure, ok := errors.AsType[*pgconn.PgError](err)
	return ok && failure.Code == code
}
