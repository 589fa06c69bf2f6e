package server

import (
	"bytes"
	"log/slog"
	"maps"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/keyring"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/controlplane/postgres/pgtest"
	"github.com/nullops/nullops/controlplane/seal"
	"github.com/nullops/nullops/internal/previoustest"
	"github.com/nullops/nullops/internal/testpart"
)

// The database and the backup of the previous release are upgraded: no row is lost, and every
// secret opens. The second database has a hundred thousand lines of logs more.
func TestPrevious_DatabaseAndBackup(t *testing.T) {
	testpart.Rotate(t)
	t.Parallel()
	dump := string(previoustest.Read(t, "database.sql.gz"))
	for name, prepare := range map[string]func(*testing.T) Settings{
		"dump": func(t *testing.T) Settings { return loadDump(t, dump, "") },
		"large dump": func(t *testing.T) Settings {
			return loadDump(t, dump, `INSERT INTO audit (actor, action, object, result, detail)
				SELECT 'ada', 'try', 'many', 'ok', md5(n::text) FROM generate_series(1, 100000) n`)
		},
		"backup": func(t *testing.T) Settings {
			s := previousSettings(t, pgtest.NewEmptyDatabase(t))
			file := bytes.NewReader(previoustest.Read(t, "backup"))
			if err := restoreFrom(t.Context(), s, slog.New(slog.DiscardHandler), file); err != nil {
				t.Fatal(err)
			}
			return s
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := prepare(t)
			before := pgtest.CountRows(t, s.Database.URL)
			if err := migrateUp(t.Context(), s, slog.New(slog.DiscardHandler)); err != nil {
				t.Fatal(err)
			}
			after := pgtest.CountRows(t, s.Database.URL)
			for table, count := range before {
				// promise: R-03
				if after[table] < count {
					t.Errorf("%d of %d rows are left in %s", after[table], count, table)
				}
			}
			checkStates(t, s)
			openSecrets(t, s)
		})
	}
}

// previousSettings are those of the previous installation, on this database.
func previousSettings(t *testing.T, url string) Settings {
	t.Helper()
	s := defaultSettings()
	s.Database.URL = url
	s.Master.Keys = strings.TrimSpace(string(previoustest.Read(t, "key")))
	return s
}

// loadDump puts a dump and more rows into a new database.
func loadDump(t *testing.T, dump, more string) Settings {
	t.Helper()
	url := pgtest.NewEmptyDatabase(t)
	tools, err := filepath.Glob("/usr/lib/postgresql/*/bin/psql")
	if err != nil || len(tools) == 0 {
		t.Fatalf("find psql: %v", err)
	}
	c := exec.CommandContext(t.Context(), tools[len(tools)-1], "--dbname="+url, "--quiet",
		"--set=ON_ERROR_STOP=1", "--single-transaction")
	c.Stdin = strings.NewReader(dump + "\n" + "SET search_path = public;\n" + more)
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("psql: %v: %s", err, out)
	}
	return previousSettings(t, url)
}

// checkStates compares what became of each deployment with what the previous release said.
func checkStates(t *testing.T, s Settings) {
	t.Helper()
	var want map[string]string
	previoustest.ReadJSON(t, "states.json", &want)
	got := map[string]string{}
	for name := range want {
		got[name] = pgtest.QueryValue[string](t, s.Database.URL,
			"SELECT status FROM deployments WHERE name = $1", name)
	}
	// promise: R-03
	if !maps.Equal(got, want) {
		t.Errorf("the deployments are %v; the previous release said %v", got, want)
	}
}

// openSecrets opens every sealed value, and seals it under another key.
func openSecrets(t *testing.T, s Settings) {
	t.Helper()
	s.Master.Keys = newTestKey(t, "next") + "," + s.Master.Keys
	actor, log := access.System("test"), slog.New(slog.DiscardHandler)
	err := withDatabase(t.Context(), s, log, func(store *postgres.Store, keys *seal.Keyring) error {
		if err := chainAudit(t.Context(), actor, store, keys, log); err != nil {
			return err
		}
		done, left, err := keyring.New(store, keys, log).RotateKeys(t.Context(), actor, "")
		if err == nil && (done < 10 || left != 0) {
			t.Errorf("%d sealed values were opened, %d are left", done, left)
		}
		return err
	})
	// promise: R-03
	if err != nil {
		t.Errorf("the secrets do not open: %v", err)
	}
}
