package server

import (
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/nullops/nullops/controlplane/postgres/pgtest"
	"github.com/nullops/nullops/migrations"
)

// Migrations create the roles of control plane and ingress with the passwords of their
// passfiles, and set them again at each run. That the roles sign in with them, and what they may
// do, is tested with the shipped Compose file: here every role signs in without a password.
func TestMigrate_CreatesTheRoles(t *testing.T) {
	t.Parallel()
	s, log := defaultSettings(), slog.New(slog.DiscardHandler)
	s.Database.URL = pgtest.URL(t, migrations.FS)
	suffix := strings.ReplaceAll(uuid.NewString(), "-", "")
	s.Database.Role, s.Ingress.Role = "server_"+suffix, "ingress_"+suffix
	at, err := url.Parse(s.Database.URL)
	if err != nil {
		t.Fatal(err)
	}
	write := func(line string) string {
		path := filepath.Join(t.TempDir(), "pgpass")
		if err := os.WriteFile(path, []byte(line+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	s.Database.Passfile = write(`*:*:*:` + s.Database.Role + `:one\:pass'word`)
	s.Ingress.Passfile = write(at.Hostname() + ":" + at.Port() + ":" + strings.Trim(at.Path, "/") +
		":" + s.Ingress.Role + ":two")
	stored := func() string {
		if err := migrateUp(t.Context(), s, log); err != nil {
			t.Fatal(err)
		}
		return pgtest.QueryValue[string](t, s.Database.URL, `SELECT string_agg(rolpassword, ' ')
			FROM pg_authid WHERE rolname = ANY($1) AND rolcanlogin
			AND NOT (rolsuper OR rolcreaterole OR rolcreatedb)`,
			[]string{s.Database.Role, s.Ingress.Role})
	}
	first := stored()
	if strings.Count(first, "SCRAM-SHA-256$4096:") != 2 || first == stored() {
		t.Errorf("the roles have the passwords %s", first)
	}
	for _, c := range []struct{ role, passfile, says string }{
		{s.Database.Role, write("*:*:*:another:one"), "has no line"},
		{s.Database.Role, s.Database.Passfile + "-gone", "no such file"},
		{s.Database.Role, write("*:*:*:*:pass wörd"), "ASCII"},
		{"postgres", "", "superuser"},
	} {
		broken := s
		broken.Database.Role, broken.Database.Passfile = c.role, c.passfile
		err := migrateUp(t.Context(), broken, log)
		if err == nil || !strings.Contains(err.Error(), c.says) ||
			strings.Contains(err.Error(), "wörd") {
			t.Errorf("role %s, passfile %s: %v, want %q", c.role, c.passfile, err, c.says)
		}
	}
}
