package postgres_test

import (
	"io"
	"net"
	"net/url"
	"testing"

	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/controlplane/postgres/pgtest"
	"github.com/nullops/nullops/migrations"
)

// A command that comes before its database takes connections waits for it. What waiting cannot help
// fails at once.
func TestOpenStarting_WaitsForTheDatabase(t *testing.T) {
	t.Parallel()
	direct, err := url.Parse(pgtest.URL(t, migrations.FS))
	if err != nil {
		t.Fatal(err)
	}
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	later := *direct
	later.Host = l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	waited := 0
	s, err := postgres.OpenStarting(t.Context(), postgres.Config{URL: later.String()}, func() {
		waited++
		passOn(t, later.Host, direct.Host)
	})
	if err != nil || waited != 1 {
		t.Fatalf("it waited %d times, and says %v", waited, err)
	}
	if err := s.Ping(t.Context()); err != nil {
		t.Error(err)
	}
	s.Close()
	unknown := *direct
	unknown.Path = "/there_is_no_such_database"
	_, err = postgres.OpenStarting(t.Context(), postgres.Config{URL: unknown.String()}, func() {
		t.Error("it waits for a database that does not exist")
	})
	if err == nil {
		t.Error("it opened a database that does not exist")
	}
}

// passOn has an address lead to another one until the test ends.
func passOn(t *testing.T, address, to string) {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			server, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", to)
			if err != nil {
				_ = conn.Close()
				continue
			}
			go func() { _, _ = io.Copy(server, conn); _ = server.Close() }()
			go func() { _, _ = io.Copy(conn, server); _ = conn.Close() }()
		}
	}()
}
