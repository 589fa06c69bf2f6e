package server

import (
	"bytes"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/agent/wire/wiretest"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/backup"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/controlplane/postgres/pgtest"
	"github.com/nullops/nullops/controlplane/seal"
	"github.com/nullops/nullops/migrations"
)

// An older agent leaves the data folder of a newer one as it is, and says what to do.
//
// fault: F22
func TestDowngrade_AgentLeavesNewerFolder(t *testing.T) {
	t.Parallel()
	s := defaultSettings()
	s.Agent.Data, s.Agent.Run = t.TempDir(), t.TempDir()
	s.Agent.Docker, s.Agent.Listen = "unix:///nonexistent/docker.sock", "127.0.0.1:0"
	s.Agent.Token = wire.NewToken(wiretest.NewIdentity(t).SPKI()).Reveal()
	for name, text := range map[string]string{"journal": "nullops-journal 2\nwhat is new",
		"state.json": `{"kid":"newer","what_is_new":1}`, "journal.tmp-1": "half written",
		"images.json": "{}"} {
		if err := os.WriteFile(filepath.Join(s.Agent.Data, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	before := readFolder(t, s.Agent.Data)
	err := runAgent(t.Context(), s, slog.New(slog.DiscardHandler))
	if err == nil || !strings.Contains(err.Error(), "start the newer release") {
		t.Errorf("the agent ended with %v", err)
	}
	// promise: R-03
	if after := readFolder(t, s.Agent.Data); !maps.Equal(before, after) {
		t.Errorf("the folder was\n%q\nand is\n%q", before, after)
	}
}

// readFolder returns the files of a folder by name.
func readFolder(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		files[path] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// An older program leaves a newer database as it is, whatever it was asked for.
func TestDowngrade_LeavesNewerDatabase(t *testing.T) {
	t.Parallel()
	s, log := defaultSettings(), slog.New(slog.DiscardHandler)
	s.Database.URL = pgtest.URL(t, migrations.FS)
	s.Master.Keys = newTestKey(t, "k1")
	pgtest.Exec(t, s.Database.URL,
		`INSERT INTO goose_db_version (version_id, is_applied) VALUES (99999, true)`)
	before := hashDatabase(t, s.Database.URL)
	store := pgtest.Open(t, s.Database.URL)
	off := s
	off.Database.Migrate = "off"
	for what, do := range map[string]func() error{
		"migrate up":         func() error { return migrateUp(t.Context(), s, log) },
		"start":              func() error { return migrateAtStart(t.Context(), store, s) },
		"start, migrate off": func() error { return migrateAtStart(t.Context(), store, off) },
		"backup":             func() error { return writeBackup(t.Context(), s, log) },
	} {
		err := do()
		if err == nil || !strings.Contains(err.Error(), "has schema 99999") ||
			!strings.Contains(err.Error(), "start the newer release") {
			t.Errorf("%s: %v", what, err)
		}
		// promise: R-03
		if after := hashDatabase(t, s.Database.URL); after != before {
			t.Errorf("%s changed the database", what)
		}
	}
}

// A backup of a newer release is refused, and the database stays empty.
func TestDowngrade_RefusesNewerBackup(t *testing.T) {
	t.Parallel()
	s, log := defaultSettings(), slog.New(slog.DiscardHandler)
	s.Database.URL, s.Master.Keys = pgtest.URL(t, migrations.FS), newTestKey(t, "k1")
	const more = "-- +goose Up\nCREATE TABLE what_is_new (id integer);\n-- +goose Down\n" +
		"DROP TABLE what_is_new;\n"
	newer := fstest.MapFS{"99999_new.sql": &fstest.MapFile{Data: []byte(more)}}
	names, err := fs.Glob(migrations.FS, "*.sql")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		data, err := fs.ReadFile(migrations.FS, name)
		if err != nil {
			t.Fatal(err)
		}
		newer[name] = &fstest.MapFile{Data: data}
	}
	var file bytes.Buffer
	err = withDatabase(t.Context(), s, log, func(store *postgres.Store, keys *seal.Keyring) error {
		if err := store.Migrate(t.Context(), newer); err != nil {
			return err
		}
		return backup.Write(t.Context(), access.System("test"), backup.Source{Store: store,
			Migrations: newer, Keys: keys, Build: "9.0.0"}, &file)
	})
	if err != nil {
		t.Fatal(err)
	}
	s.Database.URL = pgtest.NewEmptyDatabase(t)
	err = restoreFrom(t.Context(), s, log, &file)
	if err == nil || !strings.Contains(err.Error(), "restore it with that release or a newer one") {
		t.Errorf("restored: %v", err)
	}
	// promise: R-03
	if n := pgtest.QueryValue[int](t, s.Database.URL,
		`SELECT count(*) FROM pg_tables WHERE schemaname = 'public'`); n != 0 {
		t.Errorf("the database has %d tables", n)
	}
}

// hashDatabase returns a hash of every row.
func hashDatabase(t *testing.T, url string) string {
	t.Helper()
	return pgtest.QueryValue[string](t, url, `SELECT md5(string_agg(query_to_xml(
		format('SELECT * FROM %I t ORDER BY t::text', tablename), true, false, '')::text, ''
		ORDER BY tablename)) FROM pg_tables WHERE schemaname = 'public'`)
}
