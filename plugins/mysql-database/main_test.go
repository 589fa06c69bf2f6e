package main_test

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/nullops/nullops/plugins/stdio"
	"github.com/nullops/nullops/plugins/stdio/stdiotest"
)

const adminPassword = "the-admins-own"

// server is one MariaDB of the test.
type server struct {
	t     *testing.T
	port  string
	admin *sql.DB
}

func newServer(t *testing.T) server {
	t.Helper()
	at := stdiotest.MariaDB(t, "127.0.0.1", adminPassword)
	own := server{t: t, port: at.Port, admin: openDB(t, at.Port, "root", adminPassword, "")}
	return own
}

func openDB(t *testing.T, port, user, password, database string) *sql.DB {
	t.Helper()
	c := mysql.NewConfig()
	c.Net, c.Addr, c.User, c.Passwd = "tcp", "127.0.0.1:"+port, user, password
	c.DBName, c.Logger = database, &mysql.NopLogger{}
	connector, err := mysql.NewConnector(c)
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(connector)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func TestSamples_OfInput(t *testing.T) {
	stdiotest.Samples(t, stdiotest.Build(t), "input-", map[string]string{
		"CLOSED": stdiotest.FreePort(t),
	})
}

// One server serves all the tests that need one: it takes seconds to make.
func TestPlugin_OnARealServer(t *testing.T) {
	s, program := newServer(t), stdiotest.Build(t)
	t.Run("samples", func(t *testing.T) {
		stdiotest.Samples(t, program, "server-", map[string]string{
			"PORT": s.port, "PASSWORD": adminPassword,
		})
		s.expectNothing(t, "shop_42")
	})
	t.Run("a working database of its own", func(t *testing.T) { s.ownDatabase(t, program) })
	t.Run("check finds a database that is gone", func(t *testing.T) {
		var port int
		if _, err := fmt.Sscan(s.port, &port); err != nil {
			t.Fatal(err)
		}
		stdiotest.Check(t, program, stdio.Request{
			Parameters: map[string]any{"host": "127.0.0.1", "port": port, "database": "checked"},
			Secrets:    map[string]string{"adminPassword": adminPassword},
		}, func() {
			if _, err := s.admin.ExecContext(t.Context(), "DROP DATABASE checked"); err != nil {
				t.Fatal(err)
			}
		})
		s.call(t, program, stdio.ActionDelete, "checked")
		s.expectNothing(t, "checked")
	})
	t.Run("names that need quoting", func(t *testing.T) { s.oddNames(t, program) })
}

// The credentials work, a second create keeps the rows and changes the
// password, and delete ends open sessions and leaves nothing.
func (s server) ownDatabase(t *testing.T, program string) {
	first := s.call(t, program, stdio.ActionCreate, "shop")
	own := openDB(t, s.port, "shop", first["password"].(string), "shop")
	if _, err := own.ExecContext(t.Context(), "CREATE TABLE kept AS SELECT 7 AS n"); err != nil {
		t.Fatalf("the account may not make tables in its own database: %v", err)
	}
	if _, err := own.ExecContext(t.Context(), "CREATE DATABASE other"); err == nil {
		t.Error("the account may make other databases")
	}
	if _, err := own.ExecContext(t.Context(), "SELECT * FROM mysql.global_priv"); err == nil {
		t.Error("the account may read the server's own tables")
	}
	second := s.call(t, program, stdio.ActionCreate, "shop")
	if first["password"] == second["password"] || len(second["password"].(string)) < 20 {
		t.Error("the second create gave no new password of at least 20 letters")
	}
	var n int
	if err := own.QueryRowContext(t.Context(), "SELECT n FROM kept").Scan(&n); err != nil || n != 7 {
		t.Errorf("the second create lost the rows: %d, %v", n, err)
	}
	s.call(t, program, stdio.ActionDelete, "shop")
	s.expectNothing(t, "shop")
	s.call(t, program, stdio.ActionDelete, "shop")
}

// A name with an underscore opens no neighbour, quotes stay names.
func (s server) oddNames(t *testing.T, program string) {
	neighbour := s.call(t, program, stdio.ActionCreate, "pr1x")
	odd := s.call(t, program, stdio.ActionCreate, "pr1_")
	own := openDB(t, s.port, "pr1_", odd["password"].(string), "")
	if _, err := own.ExecContext(t.Context(), "USE pr1x"); err == nil {
		t.Error("the account pr1_ may use the database pr1x")
	}
	if neighbour["database"] != "pr1x" {
		t.Errorf("outputs are %v", neighbour)
	}
	quoted := "it's `odd` \\"
	s.call(t, program, stdio.ActionCreate, quoted)
	for _, name := range []string{"pr1x", "pr1_", quoted} {
		s.call(t, program, stdio.ActionDelete, name)
		s.expectNothing(t, name)
	}
}

// call runs an action and returns its outputs; no password may be in the log.
func (s server) call(
	t *testing.T, program string, action stdio.Action, name string,
) map[string]any {
	t.Helper()
	var port int
	if _, err := fmt.Sscan(s.port, &port); err != nil {
		t.Fatal(err)
	}
	request, err := json.Marshal(stdio.Request{Action: action,
		Parameters: map[string]any{"host": "127.0.0.1", "port": port, "database": name},
		Secrets:    map[string]string{"adminPassword": adminPassword}})
	if err != nil {
		t.Fatal(err)
	}
	got := stdiotest.Run(t.Context(), t, program, request)
	resp, err := stdio.ParseResponse(got.Stdout)
	if err != nil || !resp.Success {
		t.Fatalf("%s %s: %v %s\n%s", action, name, err, got.Stdout, got.Stderr)
	}
	password, _ := resp.Outputs["password"].(string)
	for _, secret := range []string{adminPassword, password} {
		if secret != "" && strings.Contains(string(got.Stderr), secret) {
			t.Errorf("the log holds a password:\n%s", got.Stderr)
		}
	}
	return resp.Outputs
}

// expectNothing looks everywhere the server keeps databases, accounts, rights
// and sessions.
func (s server) expectNothing(t *testing.T, name string) {
	t.Helper()
	left, err := 1, error(nil)
	// The server lists a session that it was told to end for as long as that takes.
	for end := time.Now().Add(10 * time.Second); left > 0 && err == nil && time.Now().Before(end); {
		err = s.admin.QueryRowContext(t.Context(), `SELECT
			(SELECT count(*) FROM information_schema.schemata WHERE schema_name = ?) +
			(SELECT count(*) FROM mysql.global_priv WHERE user = ?) +
			(SELECT count(*) FROM mysql.db WHERE user = ?) +
			(SELECT count(*) FROM information_schema.processlist WHERE user = ?)`,
			name, name, name, name).Scan(&left)
	}
	if err != nil || left != 0 {
		t.Errorf("delete left %d things of %s, %v", left, name, err)
	}
}
