package pgtest

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
)

// Exec runs a statement on a test's database without going through the store, for tests that look
// at, or damage, what is stored.
func Exec(t testing.TB, dsn, sql string, args ...any) {
	t.Helper()
	withConnection(t, dsn, func(conn *pgx.Conn) error {
		_, err := conn.Exec(t.Context(), sql, args...)
		return err
	})
}

// RefusedExec runs a statement that the database has to refuse, and returns its reason.
func RefusedExec(t testing.TB, dsn, sql string) string {
	t.Helper()
	var refused error
	withConnection(t, dsn, func(conn *pgx.Conn) error {
		_, refused = conn.Exec(t.Context(), sql)
		return nil
	})
	if refused == nil {
		t.Fatalf("the database did it: %s", sql)
	}
	return refused.Error()
}

// QueryValue reads one value from a test's database without going through the store.
func QueryValue[T any](t testing.TB, dsn, sql string, args ...any) (v T) {
	t.Helper()
	withConnection(t, dsn, func(conn *pgx.Conn) error {
		return conn.QueryRow(t.Context(), sql, args...).Scan(&v)
	})
	return v
}

// withConnection closes its connection at once: many tests share one server.
func withConnection(t testing.TB, dsn string, fn func(*pgx.Conn) error) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	if err := fn(conn); err != nil {
		t.Fatalf("query: %v", err)
	}
}
