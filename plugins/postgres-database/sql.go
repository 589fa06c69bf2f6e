package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Classes and codes of PostgreSQL's errors, from appendix A of its manual.
const (
	classAuthorization = "28"
	codeNoDatabase     = "3D000"
)

// worthRetrying is false for what more time cannot mend: a wrong password or
// a database that is not there.
func worthRetrying(err error) bool {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		return true
	}
	return !strings.HasPrefix(pg.Code, classAuthorization) && pg.Code != codeNoDatabase
}

// ensureRole creates the role or gives an existing one the new password. The
// statement travels in PostgreSQL's own protocol; the server logs no statement
// unless told to, and a failed one is reported without its text.
func ensureRole(
	ctx context.Context, c *pgx.Conn, user, password string, log *slog.Logger,
) error {
	there, err := queryExists(ctx, c, "SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = $1)", user)
	if err != nil {
		return fmt.Errorf("look for the role %q: %w", user, err)
	}
	verb := "CREATE"
	if there {
		verb = "ALTER"
		log.Info("the role is already there; it gets a new password", "user", user)
	}
	// Neither statement takes parameters, so both values are quoted here. The
	// password is of letters and digits only.
	_, err = c.Exec(ctx, fmt.Sprintf("%s ROLE %s LOGIN PASSWORD '%s'",
		verb, pgx.Identifier{user}.Sanitize(), password))
	if err != nil {
		return fmt.Errorf("%s role %q: %w", strings.ToLower(verb), user, err)
	}
	log.Info("role ready", "user", user)
	return nil
}

func ensureDatabase(ctx context.Context, c *pgx.Conn, p parameters, log *slog.Logger) error {
	there, err := queryExists(ctx, c,
		"SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)", p.Database)
	if err != nil {
		return fmt.Errorf("look for the database %q: %w", p.Database, err)
	}
	database, owner := pgx.Identifier{p.Database}.Sanitize(), pgx.Identifier{p.User}.Sanitize()
	if there {
		log.Info("the database is already there; its rows are kept", "database", p.Database)
		_, err = c.Exec(ctx, fmt.Sprintf("ALTER DATABASE %s OWNER TO %s", database, owner))
	} else {
		_, err = c.Exec(ctx, fmt.Sprintf("CREATE DATABASE %s OWNER %s", database, owner))
	}
	if err != nil {
		return fmt.Errorf("create database %q: %w", p.Database, err)
	}
	// Other roles of the same server have no business in it.
	_, err = c.Exec(ctx, fmt.Sprintf("REVOKE ALL ON DATABASE %s FROM PUBLIC", database))
	if err != nil {
		return fmt.Errorf("close database %q to other roles: %w", p.Database, err)
	}
	log.Info("database ready", "database", p.Database, "owner", p.User)
	return nil
}

// dropDatabase removes both, whether or not they exist.
func dropDatabase(ctx context.Context, c *pgx.Conn, p parameters) error {
	database, user := pgx.Identifier{p.Database}.Sanitize(), pgx.Identifier{p.User}.Sanitize()
	// FORCE ends the sessions of services that have not been stopped yet.
	if _, err := c.Exec(ctx, "DROP DATABASE IF EXISTS "+database+" WITH (FORCE)"); err != nil {
		return fmt.Errorf("drop database %q: %w", p.Database, err)
	}
	if _, err := c.Exec(ctx, "DROP ROLE IF EXISTS "+user); err != nil {
		return fmt.Errorf("drop role %q: %w", p.User, err)
	}
	return nil
}

func queryExists(ctx context.Context, c *pgx.Conn, query, name string) (bool, error) {
	var there bool
	err := c.QueryRow(ctx, query, name).Scan(&there)
	return there, err
}
