package postgres_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/controlplane/postgres/pgtest"
	"github.com/nullops/nullops/internal/testpart"
	"github.com/nullops/nullops/migrations"
	"github.com/nullops/nullops/pipeline"
)

func connectTo(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

func toRun(t *testing.T, conn *pgx.Conn, sql string, args ...any) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), sql, args...); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// rows that every refused statement below can be tried on.
const seed = `
INSERT INTO users (id, name, role, password_hash)
	VALUES ('01900000-0000-7000-8000-00000000aaa1', 'ada', 'admin', '$argon2id$x');
INSERT INTO audit (actor, action, object, result) VALUES ('ada', 'put', 'service', 'ok');
INSERT INTO projects (id, name) VALUES ('01900000-0000-7000-8000-00000000bbb1', 'shop');
INSERT INTO pipeline_versions (project_id, version, pipeline, digest, created_by)
	VALUES ('01900000-0000-7000-8000-00000000bbb1', 1, '{}', 'd', 'ada');
INSERT INTO environments (id, name, domain)
	VALUES ('01900000-0000-7000-8000-00000000ccc1', 'qa', 'localhost');
INSERT INTO services (id, name, registry_id, image, tag_mode)
	SELECT '01900000-0000-7000-8000-00000000ddd1', 'api', id, 'api', 'selectable'
	FROM registries WHERE name = 'quay';
INSERT INTO project_services VALUES ('01900000-0000-7000-8000-00000000bbb1',
	'01900000-0000-7000-8000-00000000ddd1');
INSERT INTO nodes (id, name, environment_id, address) VALUES
	('01900000-0000-7000-8000-00000000eee1', 'n1', '01900000-0000-7000-8000-00000000ccc1', 'a:1');
`

// The schema refuses invalid rows, whoever writes them.
func TestSchema_RefusesIllegalStates(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t, migrations.FS)
	conn := connectTo(t, url)
	toRun(t, conn, seed)
	for name, sql := range map[string]string{
		"audit changed":      `UPDATE audit SET actor = 'eve'`,
		"audit deleted":      `DELETE FROM audit`,
		"audit truncated":    `TRUNCATE audit`,
		"version changed":    `UPDATE pipeline_versions SET digest = 'e'`,
		"version's pipeline": `UPDATE pipeline_versions SET pipeline = '{"a": 1}'`,
		"version deleted":    `DELETE FROM pipeline_versions`,
		"version truncated":  `TRUNCATE pipeline_versions CASCADE`,
		"registry in use":    `DELETE FROM registries WHERE name = 'quay'`,
		"service in use":     `DELETE FROM services`,
		"environment in use": `DELETE FROM environments`,
		"name not a label":   `UPDATE environments SET name = 'No Label'`,
		"clear password":     `UPDATE users SET password_hash = 'hunter2'`,
		"pinned without tag": `UPDATE services SET tag_mode = 'pinned'`,
		"online unknown":     `UPDATE nodes SET status = 'online'`,
		"proof of nothing":   `UPDATE nodes SET pending_proof_valid = true`,
		"grant of nothing": `INSERT INTO teams VALUES ('01900000-0000-7000-8000-00000000fff1', 't');
			INSERT INTO grants (team_id, level) VALUES
			('01900000-0000-7000-8000-00000000fff1', 'full')`,
		"secret with neither": `INSERT INTO secrets (id, project_id, name, version, updated_at)
			VALUES ('01900000-0000-7000-8000-00000000aba1',
			'01900000-0000-7000-8000-00000000bbb1', 'A', 1, now())`,
		"two identities": `INSERT INTO identity (certificate, key) VALUES ('', '');
			INSERT INTO identity (certificate, key) VALUES ('', '')`,
	} {
		// promise: N-050
		if _, err := conn.Exec(t.Context(), sql); err == nil {
			t.Errorf("%s: was accepted", name)
		}
	}
	// A version goes with its project, and with nothing else.
	toRun(t, conn, `DELETE FROM projects`)
}

// The trigger and the Go table agree about every pair of node statuses.
func TestNodes_TransitionsAgreeWithTheTable(t *testing.T) {
	t.Parallel()
	conn := connectTo(t, pgtest.URL(t, migrations.FS))
	toRun(t, conn, seed)
	toRun(t, conn, `UPDATE nodes SET thumbprint = $1`, strings.Repeat("a", 64))
	for _, from := range controlplane.NodeStatuses() {
		for _, to := range controlplane.NodeStatuses() {
			toRun(t, conn, `ALTER TABLE nodes DISABLE TRIGGER nodes_status`)
			toRun(t, conn, `UPDATE nodes SET status = $1`, string(from))
			toRun(t, conn, `ALTER TABLE nodes ENABLE TRIGGER nodes_status`)
			_, err := conn.Exec(t.Context(), `UPDATE nodes SET status = $1`, string(to))
			if got, want := err == nil, from.CanMove(to); got != want {
				t.Errorf("%s to %s: SQL allows %v, Go %v", from, to, got, want)
			}
		}
	}
}

// The trigger and the Go table agree about every pair of drains, and each move
// is an event.
func TestDrains_TransitionsAgreeWithTheTable(t *testing.T) {
	t.Parallel()
	conn := connectTo(t, pgtest.URL(t, migrations.FS))
	toRun(t, conn, seed)
	const to = `UPDATE nodes SET drain = $1, drain_by = 'ada',
		drain_since = CASE WHEN $1 = '' THEN NULL ELSE now() END`
	for _, from := range controlplane.DrainStatuses() {
		for _, next := range controlplane.DrainStatuses() {
			toRun(t, conn, `ALTER TABLE nodes DISABLE TRIGGER nodes_told`)
			toRun(t, conn, to, string(from))
			toRun(t, conn, `ALTER TABLE nodes ENABLE TRIGGER nodes_told`)
			toRun(t, conn, `DELETE FROM node_events`)
			_, err := conn.Exec(t.Context(), to, string(next))
			if got, want := err == nil, from.CanMove(next); got != want {
				t.Errorf("%q to %q: SQL allows %v, Go %v", from, next, got, want)
			}
			var events int
			if err := conn.QueryRow(t.Context(), `SELECT count(*) FROM node_events`).
				Scan(&events); err != nil {
				t.Fatal(err)
			}
			if moved := err == nil && from != next; moved != (events == 1) {
				t.Errorf("%q to %q: %d events", from, next, events)
			}
		}
	}
}

// However much happens to a node, its history stays short.
func TestNodeEvents_KeepTheNewest(t *testing.T) {
	t.Parallel()
	conn := connectTo(t, pgtest.URL(t, migrations.FS))
	toRun(t, conn, seed)
	for i := range 205 {
		toRun(t, conn, `SELECT tell_of_node(id, 'met', $1) FROM nodes`, fmt.Sprint(i))
	}
	var count int
	var oldest string
	err := conn.QueryRow(t.Context(), `SELECT count(*), min(detail) FILTER (WHERE id =
		(SELECT min(id) FROM node_events)) FROM node_events`).Scan(&count, &oldest)
	if err != nil || count != 200 || oldest != "5" {
		t.Errorf("%d events from %q on, %v", count, oldest, err)
	}
}

// The trigger and the Go table agree about every pair of deployment statuses.
func TestDeployments_TransitionsAgreeWithTheTable(t *testing.T) {
	t.Parallel()
	conn := connectTo(t, pgtest.URL(t, migrations.FS))
	toRun(t, conn, seed)
	toRun(t, conn, `INSERT INTO deployments (id, name, project_id, environment_id, node_id,
		node_name, created_by, cpu, memory_mib) VALUES ('01900000-0000-7000-8000-00000000dd11',
		'cart', '01900000-0000-7000-8000-00000000bbb1', '01900000-0000-7000-8000-00000000ccc1',
		'01900000-0000-7000-8000-00000000eee1', 'n1', 'ada', 0, 0)`)
	for _, from := range controlplane.DeploymentStatuses() {
		for _, to := range controlplane.DeploymentStatuses() {
			toRun(t, conn, `ALTER TABLE deployments DISABLE TRIGGER USER`)
			toRun(t, conn, `UPDATE deployments SET status = $1`, string(from))
			toRun(t, conn, `ALTER TABLE deployments ENABLE TRIGGER USER`)
			_, err := conn.Exec(t.Context(), `UPDATE deployments SET status = $1`, string(to))
			// promise: G-15
			if got, want := err == nil, from.CanMove(to); got != want {
				t.Errorf("%s to %s: SQL allows %v, Go %v", from, to, got, want)
			}
		}
	}
}

// Every migration goes down and up again, on rows.
func TestMigrate_UpDownUp(t *testing.T) {
	testpart.Rotate(t)
	t.Parallel()
	url := pgtest.NewEmptyDatabase(t)
	s := pgtest.Open(t, url)
	if err := s.Migrate(t.Context(), migrations.FS); err != nil {
		t.Fatal(err)
	}
	states, err := s.MigrationStates(t.Context(), migrations.FS)
	if err != nil {
		t.Fatal(err)
	}
	toRun(t, connectTo(t, url), seed)
	for _, state := range slices.Backward(states) {
		if err := s.MigrateTo(t.Context(), migrations.FS, state.Version-1); err != nil {
			t.Fatalf("down from %s: %v", state.Name, err)
		}
	}
	if err := s.Migrate(t.Context(), migrations.FS); err != nil {
		t.Fatalf("up again: %v", err)
	}
	toRun(t, connectTo(t, url), seed)
}

// Upgrades meet databases that are in use.
func TestMigrate_KeepsTheRowsOfEachOlderVersion(t *testing.T) {
	t.Parallel()
	// promise: N-301
	pgtest.MigrateWithRows(t, migrations.FS)
}

// The release before works in the same tables while the new one migrates. Of two transactions that
// wait for each other, PostgreSQL ends one: if it is the migration, it begins again.
func TestMigrate_BeginsAgainAfterADeadlock(t *testing.T) {
	t.Parallel()
	m := newTwoTables(t)
	// Whoever looks first is the one that is ended.
	toRun(t, m.older, "SET deadlock_timeout = '60s'")
	tx := m.holdTable(t)
	m.startMigration(t)
	toRun(t, m.older, "SELECT FROM first")
	m.finishMigration(t, tx)
}

// Who reads a table for long, as a backup does, holds up the migration, and the migration does not
// hold up everybody else meanwhile.
func TestMigrate_LetsOthersReadWhileItWaits(t *testing.T) {
	t.Parallel()
	m := newTwoTables(t)
	tx := m.holdTable(t)
	m.startMigration(t)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if _, err := connectTo(t, m.url).Exec(ctx, "SELECT FROM second"); err != nil {
		t.Errorf("a reader waited for the migration: %v", err)
	}
	m.finishMigration(t, tx)
}

// twoTables is a database with a migration that changes two tables, and a connection of the
// release before.
type twoTables struct {
	url      string
	files    fstest.MapFS
	older    *pgx.Conn
	migrated chan error
}

func newTwoTables(t *testing.T) *twoTables {
	t.Helper()
	m := &twoTables{url: pgtest.NewEmptyDatabase(t), migrated: make(chan error, 1)}
	m.files = fstest.MapFS{
		"00001_tables.sql": {Data: []byte("-- +goose Up\nCREATE TABLE first ();\n" +
			"CREATE TABLE second ();")},
		"00002_both.sql": {Data: []byte("-- +goose Up\nALTER TABLE first ADD COLUMN a int;\n" +
			"ALTER TABLE second ADD COLUMN a int;")}}
	if err := pgtest.Open(t, m.url).MigrateTo(t.Context(), m.files, 1); err != nil {
		t.Fatal(err)
	}
	m.older = connectTo(t, m.url)
	return m
}

// holdTable begins a transaction that reads the second table.
func (m *twoTables) holdTable(t *testing.T) pgx.Tx {
	t.Helper()
	tx, err := m.older.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	toRun(t, m.older, "SELECT FROM second")
	return tx
}

// startMigration starts the migration, and returns when it waits for the second table.
func (m *twoTables) startMigration(t *testing.T) {
	t.Helper()
	s := pgtest.Open(t, m.url)
	go func() { m.migrated <- s.Migrate(t.Context(), m.files) }()
	watch := connectTo(t, m.url)
	for waits := false; !waits; {
		err := watch.QueryRow(t.Context(), `SELECT EXISTS (SELECT FROM pg_locks
			WHERE NOT granted AND relation = 'second'::regclass)`).Scan(&waits)
		if err != nil {
			t.Fatal(err)
		}
	}
}

// finishMigration ends the transaction, and waits until the migration has succeeded.
func (m *twoTables) finishMigration(t *testing.T, tx pgx.Tx) {
	t.Helper()
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-m.migrated; err != nil {
		t.Error(err)
	}
	toRun(t, m.older, "SELECT first.a, second.a FROM first, second")
}

// A schema from the future stops an old binary before it can misread it.
//
// fault: F19
func TestMigrate_RefusesNewerSchema(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t, migrations.FS)
	toRun(t, connectTo(t, url), `INSERT INTO goose_db_version (version_id, is_applied)
		VALUES (9999, true)`)
	err := pgtest.Open(t, url).Migrate(t.Context(), migrations.FS)
	if err == nil || !strings.Contains(err.Error(), "9999") {
		t.Errorf("got %v", err)
	}
}

// Only one of many control planes holds a node's lease, and each new holder
// gets a higher epoch.
func TestLease_OneHolderRisingEpoch(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t, migrations.FS)
	conn := connectTo(t, url)
	toRun(t, conn, seed)
	s := pgtest.Open(t, url)
	const node = controlplane.NodeID("01900000-0000-7000-8000-00000000eee1")
	ids := []controlplane.NodeID{node}
	take := func(holder string) (epoch int64) {
		t.Helper()
		err := s.InTx(t.Context(), func(tx *postgres.Tx) error {
			epochs, err := tx.Leases().Acquire(t.Context(), ids, holder, time.Minute)
			epoch = epochs[node]
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return epoch
	}
	renewed := func(holder string) (lost, busy []controlplane.NodeID) {
		t.Helper()
		err := s.InTx(t.Context(), func(tx *postgres.Tx) (err error) {
			lost, busy, err = tx.Leases().Renew(t.Context(), ids, holder, time.Minute)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return lost, busy
	}
	if a, again := take("a"), take("a"); a != 1 || again != 1 {
		t.Fatalf("first holder: %d %d", a, again)
	}
	if b := take("b"); b != 0 {
		t.Error("two holders at once")
	}
	if lost, busy := renewed("a"); len(lost)+len(busy) > 0 {
		t.Errorf("its holder cannot renew: %v %v", lost, busy)
	}
	toRun(t, conn, `BEGIN; SELECT FROM node_leases FOR SHARE`)
	if lost, busy := renewed("a"); len(lost) > 0 || len(busy) != 1 {
		t.Errorf("a lease that somebody looks at is lost %v, busy %v", lost, busy)
	}
	toRun(t, conn, `COMMIT; UPDATE node_leases SET expires_at = now() - interval '1 second'`)
	if b := take("b"); b != 2 {
		t.Errorf("second holder: %d", b)
	}
	if a := take("a"); a != 0 {
		t.Error("the first holder came back over the second")
	}
	if lost, _ := renewed("a"); len(lost) != 1 {
		t.Error("the first holder does not notice that its lease is lost")
	}
}

// A refusal leaves an entry although its transaction was rolled back.
func TestAudited_KeepsRefusals(t *testing.T) {
	t.Parallel()
	s := pgtest.New(t, migrations.FS)
	no := &controlplane.Error{Kind: controlplane.Forbidden, Code: "forbidden", Message: "no"}
	for _, want := range []error{nil, no, fmt.Errorf("broken")} {
		e := controlplane.AuditEntry{Actor: "ada", Action: "try", Object: "x"}
		_ = s.InAuditedTx(t.Context(), &e, func(tx *postgres.Tx) error {
			if err := tx.Environments().Put(t.Context(), controlplane.Environment{
				ID:   controlplane.NewID[controlplane.EnvironmentID](),
				Name: fmt.Sprintf("e%v", want != nil), Domain: "x",
			}); err != nil {
				return err
			}
			return want
		})
	}
	err := s.Read(t.Context(), func(tx *postgres.Tx) error {
		entries, err := tx.Audit().List(t.Context(),
			postgres.AuditFilter{Everything: true, Most: 10})
		if err != nil {
			return err
		}
		var got []string
		for _, e := range entries {
			got = append(got, string(e.Result)+" "+e.Detail)
		}
		if want := "failed internal,refused forbidden,ok "; strings.Join(got, ",") != want {
			t.Errorf("entries %q", got)
		}
		if _, err := tx.Environments().ByName(t.Context(), "etrue"); err == nil {
			t.Error("a refused change stayed")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// The same key with the same request returns the same object; with another request it is a
// conflict.
func TestIdempotent(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t, migrations.FS)
	toRun(t, connectTo(t, url), seed)
	s := pgtest.Open(t, url)
	const user = controlplane.UserID("01900000-0000-7000-8000-00000000aaa1")
	object := string(controlplane.NewID[controlplane.DeploymentID]())
	err := s.InTx(t.Context(), func(tx *postgres.Tx) error {
		if got, err := tx.IdempotencyKeys().FindObject(t.Context(), user, "create", "k",
			[32]byte{1}); got != "" {
			t.Errorf("found %q, %v", got, err)
		}
		return tx.IdempotencyKeys().RecordResult(t.Context(), user, "create", "k", [32]byte{1},
			object)
	})
	if err != nil {
		t.Fatal(err)
	}
	err = s.Read(t.Context(), func(tx *postgres.Tx) error {
		got, err := tx.IdempotencyKeys().FindObject(t.Context(), user, "create", "k", [32]byte{1})
		if got != object || err != nil {
			t.Errorf("same request: %q, %v", got, err)
		}
		_, err = tx.IdempotencyKeys().FindObject(t.Context(), user, "create", "k", [32]byte{2})
		if controlplane.KindOf(err) != controlplane.Conflict {
			t.Errorf("other request: %v", err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A pipeline comes back from the database exactly as it went in.
func TestVersion_RoundTrip(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t, migrations.FS)
	toRun(t, connectTo(t, url), seed)
	s := pgtest.Open(t, url)
	const project = controlplane.ProjectID("01900000-0000-7000-8000-00000000bbb1")
	p := pipeline.Pipeline{Format: 1, Order: []pipeline.StepKey{"db"}, Steps: []pipeline.Step{{
		Key: "db", Service: &pipeline.ServiceStep{Name: "db", Env: map[string]string{"A": "<&>"}},
		Position: &pipeline.Position{X: 1.5, Y: -2},
	}}}
	want, err := pipeline.Digest(p)
	if err != nil {
		t.Fatal(err)
	}
	err = s.InTx(t.Context(), func(tx *postgres.Tx) error {
		return tx.Pipelines().InsertVersion(t.Context(), controlplane.PipelineVersion{
			Project: project, Version: 2, Pipeline: p, Digest: want, CreatedBy: "ada",
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	err = s.Read(t.Context(), func(tx *postgres.Tx) error {
		v, err := tx.Pipelines().GetVersion(t.Context(), project, 2)
		if err != nil {
			return err
		}
		if got, err := pipeline.Digest(v.Pipeline); got != want || err != nil {
			t.Errorf("digest %s, %v; want %s", got, err, want)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
