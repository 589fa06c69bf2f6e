package backup_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/backup"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/controlplane/postgres/pgtest"
	"github.com/nullops/nullops/controlplane/seal"
	"github.com/nullops/nullops/internal/testpart"
	"github.com/nullops/nullops/migrations"
)

const canary = "canary-3e5d-environment"

var system = access.System("test")

func newRing(t *testing.T, kid string) *seal.Keyring {
	t.Helper()
	k, err := seal.NewKey(kid)
	if err != nil {
		t.Fatal(err)
	}
	keys, err := seal.ParseKeyring(k)
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

// fillDatabase returns a database with rows in tables that refer to each other, with counters,
// triggers and more bytes than fit in one piece.
func fillDatabase(t *testing.T) (*postgres.Store, string) {
	t.Helper()
	url := pgtest.URL(t, migrations.FS)
	store := pgtest.Open(t, url)
	for i := range 3 {
		e := controlplane.AuditEntry{Actor: "ada", Action: "put", Object: fmt.Sprint(i)}
		err := store.InAuditedTx(t.Context(), &e, func(tx *postgres.Tx) error {
			return tx.Environments().Put(t.Context(), controlplane.Environment{
				ID:   controlplane.NewID[controlplane.EnvironmentID](),
				Name: fmt.Sprintf("qa%d", i), Domain: canary})
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	pgtest.Exec(t, url, `INSERT INTO nodes (id, name, environment_id, address)
		SELECT gen_random_uuid(), 'n' || name, id, name || ':1' FROM environments;
		INSERT INTO node_leases SELECT id, 'holder', 7, now() FROM nodes;
		INSERT INTO audit (actor, action, object, result, detail)
		SELECT 'ada', 'try', 'x', 'ok', repeat(md5(n::text), 20) FROM generate_series(1, 5000) n`)
	return store, url
}

func writeBackup(t *testing.T, store *postgres.Store, keys *seal.Keyring) []byte {
	t.Helper()
	var file bytes.Buffer
	err := backup.Write(t.Context(), system, backup.Source{Store: store,
		Migrations: migrations.FS, Keys: keys, Build: "test"}, &file)
	if err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

func restoreBackup(t *testing.T, url string, keys *seal.Keyring, file []byte) error {
	t.Helper()
	return backup.Read(t.Context(), system, pgtest.Open(t, url), migrations.FS, keys,
		bytes.NewReader(file))
}

// rowReader returns every row of every table as one text, except what a restore changes: the
// epochs of leases, and the times from which lifetimes and deadlines count.
const rowReader = `SELECT string_agg(table_name || ': ' || coalesce((xpath('/table/row/d/text()',
	query_to_xml(format('SELECT md5(string_agg((to_jsonb(x) - ''active_at'' - ''deadline'')::text,
	E''\n'' ORDER BY x::text)) AS d FROM %I x',
	table_name), true, false, '')))[1]::text, ''), E'\n' ORDER BY table_name)
	FROM information_schema.tables WHERE table_schema = 'public' AND table_type = 'BASE TABLE'
	AND table_name NOT IN ('node_leases', 'goose_db_version')`

// A backup holds every row of every table, those with secrets too.
func TestBackup_HoldsEveryTable(t *testing.T) {
	testpart.Rotate(t)
	t.Parallel()
	url, other, keys := pgtest.NewFilledDatabase(
		t,
		migrations.FS,
	), pgtest.NewEmptyDatabase(
		t,
	), newRing(
		t,
		"k1",
	)
	if err := restoreBackup(t, other, keys, writeBackup(t, pgtest.Open(t, url), keys)); err != nil {
		t.Fatal(err)
	}
	// promise: N-329
	if want, got := pgtest.QueryValue[string](t, url, rowReader), pgtest.QueryValue[string](t,
		other, rowReader); want !=
		got ||
		!strings.Contains(got, "secrets: ") {
		t.Errorf("restored\n%s\nwant\n%s", got, want)
	}
}

// A restored database does not know who used what since the backup: by its times everything has
// ended, and would be removed with its data. So each lifetime and each deadline begins again.
func TestRestore_EndsNothingByOldTimes(t *testing.T) {
	testpart.Rotate(t)
	t.Parallel()
	url, other, keys := pgtest.NewFilledDatabase(t, migrations.FS), pgtest.NewEmptyDatabase(t),
		newRing(t, "k1")
	pgtest.Exec(t, url, `UPDATE environments SET cleanup_after_hours = 24;
		UPDATE deployments SET active_at = now() - interval '3 days';
		UPDATE queue SET queued_at = now() - interval '3 days',
			deadline = now() - interval '3 days' + interval '1 hour'`)
	const expired = `SELECT count(*)::int FROM deployment_expiries WHERE expires_at <= now()`
	const overdue = `SELECT count(*)::int FROM queue q JOIN runs r ON r.id = q.run_id
		WHERE r.ended_at IS NULL AND q.deadline < now()`
	for _, question := range []string{expired, overdue} {
		if pgtest.QueryValue[int](t, url, question) == 0 {
			t.Fatalf("nothing has ended before: %s", question)
		}
	}
	if err := restoreBackup(t, other, keys, writeBackup(t, pgtest.Open(t, url), keys)); err != nil {
		t.Fatal(err)
	}
	for _, question := range []string{expired, overdue} {
		if n := pgtest.QueryValue[int](t, other, question); n != 0 {
			t.Errorf("%d would end at once: %s", n, question)
		}
	}
	if n := pgtest.QueryValue[int](t, other, `SELECT count(*)::int FROM queue q
		JOIN runs r ON r.id = q.run_id WHERE r.ended_at IS NULL
			AND q.deadline BETWEEN now() + interval '59 min' AND now() + interval '1 hour'`); n == 0 {
		t.Error("no run has its whole hour again")
	}
}

func TestBackup_RoundTrip(t *testing.T) {
	t.Parallel()
	store, url := fillDatabase(t)
	keys := newRing(t, "k1")
	file := writeBackup(t, store, keys)
	if len(file) < 2<<20 {
		t.Fatalf("%d bytes are no more than one piece", len(file))
	}
	if bytes.Contains(file, []byte(canary)) {
		t.Error("a row is readable in the file")
	}
	other := pgtest.NewEmptyDatabase(t)
	if err := restoreBackup(t, other, keys, file); err != nil {
		t.Fatal(err)
	}
	want, got := pgtest.QueryValue[string](
		t,
		url,
		rowReader,
	), pgtest.QueryValue[string](
		t,
		other,
		rowReader,
	)
	if want != got || !strings.Contains(got, "environments: ") {
		t.Errorf("restored\n%s\nwant\n%s", got, want)
	}
	if n := pgtest.QueryValue[int64](t, other, "SELECT min(epoch) FROM node_leases"); n <= 1<<20 {
		t.Errorf("epoch %d: an agent may have heard a newer one", n)
	}
	// The counters continue behind the rows, and the triggers are on again.
	pgtest.Exec(t, other, `INSERT INTO audit (actor, action, object, result)
		VALUES ('ada', 'put', 'x', 'ok')`)
	if n := pgtest.QueryValue[int64](t, other, "SELECT max(id) FROM audit"); n != 5004 {
		t.Errorf("the next audit entry is %d", n)
	}
	pgtest.Exec(t, other, `DO $$ BEGIN DELETE FROM audit; RAISE EXCEPTION 'it was done';
		EXCEPTION WHEN restrict_violation THEN END $$`)
	if err := restoreBackup(t, other, keys, file); err == nil ||
		!strings.Contains(err.Error(), "not empty") {
		t.Errorf("over a database in use: %v", err)
	}
}

// A file that is not whole is refused, whatever is wrong with it, and leaves a
// database that the right file can still be restored into.
func TestRestore_RefusesWhatIsNotWhole(t *testing.T) {
	testpart.Rotate(t)
	t.Parallel()
	store, _ := fillDatabase(t)
	keys := newRing(t, "k1")
	file := writeBackup(t, store, keys)
	url := pgtest.NewEmptyDatabase(t)
	changed := bytes.Clone(file)
	changed[len(changed)/2] ^= 1
	for name, c := range map[string]struct {
		file []byte
		keys *seal.Keyring
		want string
	}{
		"nothing":             {nil, keys, "not a backup"},
		"something else":      {[]byte("PGDMP and more than sixteen bytes of it"), keys, "not a backup"},
		"the end is missing":  {file[:len(file)-10], keys, "cut off"},
		"half is missing":     {file[:len(file)/2], keys, "cut off"},
		"only its beginning":  {file[:40], keys, "cut off"},
		"something behind it": {append(bytes.Clone(file), 'x'), keys, "was changed"},
		"a bit is changed":    {changed, keys, "was changed"},
		"a hostile length": {append(bytes.Clone(file[:33]), 255, 255, 255, 255, 0), keys,
			"was changed"},
		"another key": {file, newRing(t, "k2"), "under the key k1"},
		"another k1":  {file, newRing(t, "k1"), "not the one it was made with"},
	} {
		err := restoreBackup(t, url, c.keys, c.file)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
		if n := pgtest.QueryValue[int](t, url, `SELECT count(*)::int FROM pg_tables
			WHERE schemaname = 'public'`); n != 0 {
			t.Fatalf("%s: it left %d tables", name, n)
		}
	}
	if err := restoreBackup(t, url, keys, file); err != nil {
		t.Errorf("the whole file: %v", err)
	}
}

// People do not make backups, and none is restored by someone else.
func TestBackup_NeedsAnAdmin(t *testing.T) {
	t.Parallel()
	store, _ := fillDatabase(t)
	ada := access.User(controlplane.User{Name: "ada"}, nil)
	err := backup.Write(t.Context(), ada, backup.Source{Store: store,
		Migrations: migrations.FS, Keys: newRing(t, "k1")}, &bytes.Buffer{})
	if controlplane.KindOf(err) != controlplane.Forbidden {
		t.Errorf("write: %v", err)
	}
	if err := backup.Read(t.Context(), ada, store, migrations.FS, newRing(t, "k1"), nil); err == nil {
		t.Error("read by a user")
	}
}
