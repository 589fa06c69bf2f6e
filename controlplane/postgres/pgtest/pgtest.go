// Package pgtest creates a PostgreSQL database for each test. The migrations run once per content,
// into a template named by their hash; a test gets a clone of it, which takes some tens of
// milliseconds and goes away when the test ends. Any number of tests and processes may share one
// server.
package pgtest

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres"
)

// templateLock and filledLock serialise the making of templates on one server. Who needs an empty
// one does not wait for a filled one, which takes longer.
const (
	templateLock = 4812002
	filledLock   = 4812003
)

// New returns a store on a fresh database that holds the schema of the files.
func New(t testing.TB, files fs.FS) *postgres.Store {
	t.Helper()
	return Open(t, URL(t, files))
}

// Open opens a store that is closed when the test ends.
func Open(t testing.TB, dsn string) *postgres.Store {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	// Each connection is a process that plans every statement anew: with eight of them the tests of
	// the API took some 15 % more of a processor.
	s, err := postgres.Open(ctx, postgres.Config{URL: dsn, MaxConns: 4})
	if err != nil {
		t.Fatalf("open test database: %v", err)
	}
	t.Cleanup(s.Close)
	s.ChainAudit(AuditKey())
	return s
}

// AuditKey is what links the entries of a test's audit.
func AuditKey() controlplane.AuditKey {
	key, _ := controlplane.NewAuditKey([]byte("the audit key of a test, 32 byte"))
	return key
}

// URL makes a database with the schema of the files and returns its URL, for what opens the
// database itself.
func URL(t testing.TB, files fs.FS) string {
	t.Helper()
	admin := serverURL(t)
	hash, err := hashOf(files)
	if err != nil {
		t.Fatal(err)
	}
	template, err := ensureTemplate(t.Context(), admin, "nullops_template_"+hash, templateLock,
		func(ctx context.Context, dsn string) error { return migrateAll(ctx, dsn, files) })
	if err != nil {
		t.Fatalf("make template database: %v", err)
	}
	return cloneDatabase(t, admin, template)
}

// NewEmptyDatabase makes a database without any schema.
func NewEmptyDatabase(t testing.TB) string {
	t.Helper()
	return cloneDatabase(t, serverURL(t), "template0")
}

// Copy makes a database that begins as a copy of another one, which must have no connections. It is
// for tests that all begin with the same data.
func Copy(t testing.TB, dsn string) string {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal("the database to copy has no postgres:// URL")
	}
	return cloneDatabase(t, serverURL(t), strings.TrimPrefix(u.Path, "/"))
}

func serverURL(t testing.TB) string {
	t.Helper()
	dsn := os.Getenv("NULLOPS_TEST_POSTGRES")
	if dsn != "" {
		return dsn
	}
	if os.Getenv("NULLOPS_TEST_STRICT") == "1" {
		t.Fatal("NULLOPS_TEST_POSTGRES is not set: run through make test")
	}
	t.Skip("run through make test")
	return ""
}

func cloneDatabase(t testing.TB, admin, template string) string {
	t.Helper()
	name := "nullops_t_" + randomHex(8)
	// To copy the files takes a third of the processor's time that the log of every page takes. The
	// checkpoint that it begins with costs little on a server that syncs nothing.
	err := execStatement(t.Context(), admin,
		"CREATE DATABASE "+name+" TEMPLATE "+template+" STRATEGY file_copy")
	if err != nil {
		t.Fatalf("clone %s: %v", template, err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		// A product may have made the second, to verify its backups.
		for _, one := range []string{name, name + "_scratch"} {
			if err := execStatement(ctx, admin, "DROP DATABASE IF EXISTS "+one+" WITH (FORCE)"); err != nil {
				t.Errorf("drop test database: %v", err)
			}
		}
	})
	return databaseURL(t, admin, name)
}

// ensureTemplate returns the name of a template, and makes it if it is not there.
func ensureTemplate(ctx context.Context, admin, name string, lock int,
	build func(ctx context.Context, dsn string) error,
) (string, error) {
	conn, err := pgx.Connect(ctx, admin)
	if err != nil {
		return "", fmt.Errorf("reach test server: %w", err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	if _, err := conn.Exec(ctx, "SELECT pg_advisory_lock($1)", lock); err != nil {
		return "", fmt.Errorf("lock: %w", err)
	}
	var there bool
	err = conn.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)",
		name).Scan(&there)
	if err != nil || there {
		return name, err
	}
	return name, buildTemplate(ctx, conn, admin, name, build)
}

// buildTemplate builds under a temporary name and renames at the end, so that a killed build
// leaves no incomplete template.
func buildTemplate(ctx context.Context, conn *pgx.Conn, admin, name string,
	build func(ctx context.Context, dsn string) error,
) error {
	tmp := "nullops_t_" + randomHex(8)
	if _, err := conn.Exec(ctx, "CREATE DATABASE "+tmp+" TEMPLATE template0"); err != nil {
		return fmt.Errorf("create: %w", err)
	}
	dsn, err := withDatabase(admin, tmp)
	if err != nil {
		return err
	}
	if err := build(ctx, dsn); err != nil {
		return errors.Join(err, execStatement(ctx, admin, "DROP DATABASE "+tmp+" WITH (FORCE)"))
	}
	if _, err := conn.Exec(ctx, "ALTER DATABASE "+tmp+" RENAME TO "+name); err != nil {
		return fmt.Errorf("rename: %w", err)
	}
	return nil
}

func migrateAll(ctx context.Context, dsn string, files fs.FS) error {
	s, err := postgres.Open(ctx, postgres.Config{URL: dsn, MaxConns: 4})
	if err != nil {
		return err
	}
	defer s.Close()
	return s.Migrate(ctx, files)
}

// execStatement uses a connection of its own: CREATE DATABASE runs in no transaction.
// Two clones of one template at the same instant may collide; PostgreSQL says
// so and the next try works.
func execStatement(ctx context.Context, admin, sql string) error {
	const objectInUse, tries = "55006", 50
	conn, err := pgx.Connect(ctx, admin)
	if err != nil {
		return fmt.Errorf("reach test server: %w", err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	for try := 1; ; try++ {
		_, err = conn.Exec(ctx, sql)
		var pg *pgconn.PgError
		if !errors.As(err, &pg) || pg.Code != objectInUse || try == tries {
			return err
		}
		if _, err := conn.Exec(ctx, "SELECT pg_sleep(0.1)"); err != nil {
			return err
		}
	}
}

// hashOf names the content of migrations.
func hashOf(files fs.FS) (string, error) { return hashFiles(files, "*.sql") }

func hashFiles(files fs.FS, pattern string) (string, error) {
	h := sha256.New()
	names, err := fs.Glob(files, pattern)
	if err != nil {
		return "", err
	}
	for _, n := range names {
		b, err := fs.ReadFile(files, n)
		if err != nil {
			return "", fmt.Errorf("read migration %s: %w", n, err)
		}
		fmt.Fprintf(h, "%s %d\n%s", n, len(b), b)
	}
	return hex.EncodeToString(h.Sum(nil))[:16], nil
}

func databaseURL(t testing.TB, admin, database string) string {
	t.Helper()
	dsn, err := withDatabase(admin, database)
	if err != nil {
		t.Fatal(err)
	}
	return dsn
}

func withDatabase(admin, database string) (string, error) {
	u, err := url.Parse(admin)
	if err != nil || u.Scheme == "" {
		return "", errors.New("NULLOPS_TEST_POSTGRES: not a postgres:// URL")
	}
	u.Path = "/" + database
	return u.String(), nil
}

func randomHex(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b)
	return hex.EncodeToString(b)
}
