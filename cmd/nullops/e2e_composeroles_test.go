package main_test

import (
	"errors"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/moby/moby/client"

	"github.com/nullops/nullops/agent/docker/dockertest"
	"github.com/nullops/nullops/controlplane/postgres/pgtest"
)

// hasRoles signs in to the database as each role of the installation, with the password that the
// set-up script made, and tries what only others may do.
func (s *shipped) hasRoles(t *testing.T) {
	t.Helper()
	owner := s.databaseAs(t, "nullops", "pgpass")
	edge := s.databaseAs(t, "nullops_ingress", "ingress_pgpass")
	plane := s.databaseAs(t, "nullops_controlplane", "controlplane_pgpass")
	eventually(t, "both processes are signed in, each with its role", func() string {
		found := pgtest.QueryValue[[]string](t, owner, `SELECT array_agg(DISTINCT usename::text
			ORDER BY usename::text) FROM pg_stat_activity WHERE application_name = 'nullops'`)
		if slices.Equal(found, []string{"nullops_controlplane", "nullops_ingress"}) {
			return ""
		}
		return "signed in are " + strings.Join(found, ", ")
	})
	if n := pgtest.QueryValue[int64](t, edge, "SELECT count(*) FROM route_rows"); n != 0 {
		t.Errorf("the ingress reads %d routes of nobody", n)
	}
	if n := pgtest.QueryValue[int64](t, plane, "SELECT count(*) FROM users"); n != 1 {
		t.Errorf("the control plane reads %d users", n)
	}
	for _, sql := range []string{"SELECT * FROM secrets", "SELECT verifier FROM node_tokens",
		"SELECT * FROM run_secrets", "SELECT * FROM identity", "SELECT password_hash FROM users",
		"UPDATE nodes SET address = 'elsewhere:1'", "CREATE TABLE t ()",
		"ALTER TABLE route_rows ADD mine int", "SET ROLE nullops_controlplane"} {
		// promise: N-333
		refusesSQL(t, edge, sql)
	}
	for _, sql := range []string{"ALTER TABLE secrets ADD mine int", "DROP TABLE secrets",
		"CREATE TABLE t ()", "TRUNCATE audit", "DELETE FROM goose_db_version",
		"CREATE ROLE mine", "SET ROLE nullops"} {
		refusesSQL(t, plane, sql)
	}
	none, err := url.Parse(plane)
	if err != nil {
		t.Fatal(err)
	}
	none.User = url.UserPassword("nullops_controlplane", "nullops_controlplane")
	if code := sqlCode(t, none.String(), "SELECT 1"); code != "28P01" {
		t.Errorf("a guessed password: SQLSTATE %q", code)
	}
}

// databaseAs returns the URL of the installation's database for a role.
func (s *shipped) databaseAs(t *testing.T, role, passfile string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(s.dir, "secrets", passfile))
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(strings.TrimSpace(string(text)), ":")
	if len(parts) != 5 || parts[3] != role {
		t.Fatalf("%s has %d parts, and not the role %s", passfile, len(parts), role)
	}
	api := dockertest.Client(t, s.w.docker)
	list, err := api.ContainerList(t.Context(), client.ContainerListOptions{Filters: client.Filters{}.
		Add("label", "com.docker.compose.project="+s.project).
		Add("label", "com.docker.compose.service=postgres")})
	if err != nil || len(list.Items) != 1 {
		t.Fatalf("%d databases, %v", len(list.Items), err)
	}
	for _, network := range list.Items[0].NetworkSettings.Networks {
		u := url.URL{Scheme: "postgres", User: url.UserPassword(role, parts[4]),
			Host: network.IPAddress.String() + ":5432", Path: "/nullops", RawQuery: "sslmode=disable"}
		return u.String()
	}
	t.Fatal("the database has no network")
	return ""
}

// refusesSQL runs a statement that the role may not run.
func refusesSQL(t *testing.T, dsn, sql string) {
	t.Helper()
	if code := sqlCode(t, dsn, sql); code != "42501" {
		t.Errorf("%s: SQLSTATE %q, want 42501", sql, code)
	}
}

// sqlCode returns PostgreSQL's code for the error of a statement or of the sign-in.
func sqlCode(t *testing.T, dsn, sql string) string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err == nil {
		_, err = conn.Exec(t.Context(), sql)
		_ = conn.Close(t.Context())
	}
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok {
		return refused.Code
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

// becomeOlder leaves of an installation what one had that knew one role only.
func (s *shipped) becomeOlder(t *testing.T) {
	t.Helper()
	owner := s.databaseAs(t, "nullops", "pgpass")
	for _, sql := range []string{"DROP DATABASE nullops_scratch WITH (FORCE)",
		"DROP OWNED BY nullops_ingress, nullops_controlplane",
		"DROP ROLE nullops_ingress, nullops_controlplane"} {
		pgtest.Exec(t, owner, sql)
	}
	for _, file := range []string{"ingress_pgpass", "controlplane_pgpass"} {
		if err := os.Remove(filepath.Join(s.dir, "secrets", file)); err != nil {
			t.Fatal(err)
		}
	}
}

// servesHosts waits until the ingress has read its routes: before that it answers 503.
func (s *shipped) servesHosts(t *testing.T) {
	t.Helper()
	visitor := &http.Client{Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true}}
	eventually(t, "the ingress has read its routes", func() string {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+s.ingress, nil)
		if err != nil {
			t.Fatal(err)
		}
		if a := sendRequest(t, visitor, r); a.status != http.StatusNotFound {
			return a.String()
		}
		return ""
	})
}
