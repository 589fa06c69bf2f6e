package main_test

import (
	"context"
	"crypto/rand"
	"net/url"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/nullops/nullops/plugins/stdio/stdiotest"
)

func TestSamples_OfInput(t *testing.T) {
	stdiotest.Samples(t, stdiotest.Build(t), "input-", nil)
}

// The samples run in order: the first fills the table, the others fail, and
// what the first did must stand after them.
func TestSamples_OnARealServer(t *testing.T) {
	address := newDatabase(t)
	stdiotest.Samples(t, stdiotest.Build(t), "server-", map[string]string{"URL": address})
	conn, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	var rows int
	err = conn.QueryRow(t.Context(), "SELECT count(*) FROM products").Scan(&rows)
	if err != nil || rows != 3 {
		t.Errorf("%d rows, %v; the failed run was not undone", rows, err)
	}
}

// newDatabase makes an empty database and returns its address.
func newDatabase(t *testing.T) string {
	t.Helper()
	address := stdiotest.PostgresURL(t)
	admin, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	name := "plugin_" + strings.ToLower(rand.Text()[:10])
	if _, err := admin.Exec(t.Context(), "CREATE DATABASE "+name); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		_, _ = admin.Exec(ctx, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)")
		_ = admin.Close(ctx)
	})
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	u.Path = "/" + name
	return u.String()
}
