package main_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/nullops/nullops/plugins/stdio"
	"github.com/nullops/nullops/plugins/stdio/stdiotest"
)

func TestSamples_OfInput(t *testing.T) {
	stdiotest.Samples(t, stdiotest.Build(t), "input-", map[string]string{
		"CLOSED": closedPort(t),
	})
}

func TestSamples_OnARealServer(t *testing.T) {
	s := newServer(t)
	stdiotest.Samples(t, stdiotest.Build(t), "server-", s.values)
}

// The outputs are credentials that work, for a database of its own; a second
// create changes the password and keeps the rows; delete leaves nothing.
func TestCreate_GivesAWorkingDatabase(t *testing.T) {
	s, program := newServer(t), stdiotest.Build(t)
	first := s.call(t, program, stdio.ActionCreate)
	own, err := pgx.Connect(t.Context(), first["connectionString"].(string))
	if err != nil {
		t.Fatalf("the connection string does not work: %v", err)
	}
	if _, err := own.Exec(t.Context(), "CREATE TABLE kept AS SELECT 7 AS n"); err != nil {
		t.Fatalf("the role may not make tables in its own database: %v", err)
	}
	second := s.call(t, program, stdio.ActionCreate)
	if first["password"] == second["password"] || len(second["password"].(string)) < 20 {
		t.Error("the second create gave no new password of at least 20 letters")
	}
	var n int
	err = own.QueryRow(t.Context(), "SELECT n FROM kept").Scan(&n)
	if err != nil || n != 7 {
		t.Errorf("the second create lost the rows: %d, %v", n, err)
	}
	// The session is still open: delete must end it, as services may linger.
	s.call(t, program, stdio.ActionDelete)
	if left := s.count(t); left != 0 {
		t.Errorf("delete left %d of the database and the role", left)
	}
}

// Roles of other databases on the same server stay outside.
func TestCreate_ClosesTheDatabaseToOtherRoles(t *testing.T) {
	s, program := newServer(t), stdiotest.Build(t)
	s.call(t, program, stdio.ActionCreate)
	var open bool
	err := s.admin.QueryRow(t.Context(), `SELECT EXISTS (
		SELECT FROM pg_database, aclexplode(datacl) AS a
		WHERE datname = $1 AND a.grantee = 0)`, s.values["DATABASE"]).Scan(&open)
	if err != nil || open {
		t.Errorf("PUBLIC has rights on the database: %v, %v", open, err)
	}
}

// Check is yes to what create made, and no once someone else changed it.
func TestCheck_FindsADatabaseThatIsGone(t *testing.T) {
	s, program := newServer(t), stdiotest.Build(t)
	made := s.call(t, program, stdio.ActionCreate)
	ask := func() stdio.Response {
		var r stdio.Request
		if err := json.Unmarshal(s.request(t, stdio.ActionCheck), &r); err != nil {
			t.Fatal(err)
		}
		r.Outputs = made
		data, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		got := stdiotest.Run(t.Context(), t, program, data)
		answer, err := stdio.ParseResponse(got.Stdout)
		if err != nil {
			t.Fatalf("%v\n%s", err, got.Stderr)
		}
		if said := answer.Output + string(got.Stderr); strings.Contains(said, made["password"].(string)) {
			t.Errorf("check shows the password: %s", said)
		}
		return answer
	}
	if said := ask(); !said.Success {
		t.Errorf("check says no to a database that is there: %s", said.Output)
	}
	if _, err := s.admin.Exec(t.Context(), "DROP DATABASE "+s.values["DATABASE"]); err != nil {
		t.Fatal(err)
	}
	if said := ask(); said.Success {
		t.Errorf("check says yes to a database that is gone: %s", said.Output)
	}
}

func TestCreate_KeepsSecretsOutOfTheLog(t *testing.T) {
	s, program := newServer(t), stdiotest.Build(t)
	got := stdiotest.Run(t.Context(), t, program, s.request(t, stdio.ActionCreate))
	resp, err := stdio.ParseResponse(got.Stdout)
	if err != nil || !resp.Success {
		t.Fatalf("%v: %s", err, got.Stderr)
	}
	for _, secret := range []string{resp.Outputs["password"].(string), s.values["PASSWORD"]} {
		if strings.Contains(string(got.Stderr), secret) {
			t.Errorf("the log holds a password:\n%s", got.Stderr)
		}
	}
}

// server is a database name of the test's own on the test server.
type server struct {
	admin  *pgx.Conn
	values map[string]string
}

func newServer(t *testing.T) server {
	t.Helper()
	config, err := pgx.ParseConfig(stdiotest.PostgresURL(t))
	if err != nil {
		t.Fatal(err)
	}
	admin, err := pgx.ConnectConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	name := "plugin_" + strings.ToLower(rand.Text()[:10])
	password := config.Password
	if password == "" {
		password = "unused-as-the-server-trusts" // the plugin insists on one
	}
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		_, _ = admin.Exec(ctx, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)")
		_, _ = admin.Exec(ctx, "DROP ROLE IF EXISTS "+name)
		_ = admin.Close(ctx)
	})
	return server{admin: admin, values: map[string]string{
		"HOST": config.Host, "PORT": strconv.Itoa(int(config.Port)), "ADMIN": config.User,
		"ADMINDB": config.Database, "PASSWORD": password, "DATABASE": name,
	}}
}

func (s server) request(t *testing.T, action stdio.Action) []byte {
	t.Helper()
	port, err := strconv.Atoi(s.values["PORT"])
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(stdio.Request{
		Action: action,
		Parameters: map[string]any{
			"host": s.values["HOST"], "port": port, "admin_user": s.values["ADMIN"],
			"admin_database": s.values["ADMINDB"], "database": s.values["DATABASE"],
		},
		Secrets: map[string]string{"adminPassword": s.values["PASSWORD"]},
	})
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// call runs the plugin, which must succeed, and returns its outputs.
func (s server) call(t *testing.T, program string, action stdio.Action) map[string]any {
	t.Helper()
	got := stdiotest.Run(t.Context(), t, program, s.request(t, action))
	resp, err := stdio.ParseResponse(got.Stdout)
	if err != nil || !resp.Success {
		t.Fatalf("%s: %v %s\n%s", action, err, resp.Output, got.Stderr)
	}
	return resp.Outputs
}

// count returns how many of database and role exist.
func (s server) count(t *testing.T) int {
	t.Helper()
	var n int
	err := s.admin.QueryRow(t.Context(), `SELECT
		(SELECT count(*) FROM pg_database WHERE datname = $1) +
		(SELECT count(*) FROM pg_roles WHERE rolname = $1)`, s.values["DATABASE"]).Scan(&n)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// closedPort is a port nobody listens on.
func closedPort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return fmt.Sprint(l.Addr().(*net.TCPAddr).Port)
}
