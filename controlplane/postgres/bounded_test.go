package postgres_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/controlplane/postgres/pgtest"
	"github.com/nullops/nullops/internal/testpart"
	"github.com/nullops/nullops/migrations"
)

// goneDeployments are kept, presentDeployments are older and still there, on ten nodes.
const (
	goneDeployments    = 6_000
	presentDeployments = 30
	seedNode           = "00000000-0000-7000-8000-000000000001"
	seedEnvironment    = "0f000000-0000-7000-8000-000000000000"
)

const seedDeployments = `
INSERT INTO environments (id, name, domain) VALUES ('` + seedEnvironment + `', 'qa', 'localhost');
INSERT INTO projects (id, name) VALUES ('` + seedEnvironment + `', 'shop');
INSERT INTO pipeline_versions (project_id, version, pipeline, digest, created_by)
	VALUES ('` + seedEnvironment + `', 1, '{}', 'd', 'ada');
INSERT INTO nodes (id, name, environment_id, address)
SELECT ('00000000-0000-7000-8000-' || lpad(i::text, 12, '0'))::uuid, 'n' || i,
	'` + seedEnvironment + `', 'n' || i || ':1' FROM generate_series(1, 10) i;
INSERT INTO node_leases (node_id, holder, epoch, expires_at)
SELECT id, 'me', 1, now() + interval '1 hour' FROM nodes;
INSERT INTO deployments (id, name, project_id, environment_id, node_id, node_name, cpu, memory_mib,
	created_by, status, want)
SELECT ('01000000-0000-7000-8000-' || lpad(i::text, 12, '0'))::uuid, 'd' || i,
	'` + seedEnvironment + `', '` + seedEnvironment + `',
	('00000000-0000-7000-8000-' || lpad((1 + i %% 10)::text, 12, '0'))::uuid, 'n', 0.1, 64, 'ada',
	CASE WHEN i <= %[1]d THEN 'ready' ELSE 'removed' END,
	CASE WHEN i <= %[1]d THEN 'present' ELSE 'gone' END FROM generate_series(1, %[2]d) i;
INSERT INTO runs (id, deployment_id, number, project_id, pipeline_version, pipeline, key_sealed,
	status, started_by, ended_at)
SELECT d.id, d.id, 1, d.project_id, 1, '{}', '', d.status, 'ada', now() FROM deployments d;
INSERT INTO queue (run_id, deployment_id, scope, started_at, left_at)
SELECT r.id, r.deployment_id, '` + seedNode + `', now(), now() FROM runs r;
ANALYZE`

// countRowsRead returns how many rows all statements have read from these tables so far, once no
// other connection is open: that is when PostgreSQL has counted all.
func countRowsRead(t *testing.T, url string, tables ...string) int64 {
	t.Helper()
	for pgtest.QueryValue[int64](t, url, `SELECT count(*) FROM pg_stat_activity
		WHERE datname = current_database() AND backend_type = 'client backend'`) > 1 {
		time.Sleep(5 * time.Millisecond)
	}
	return pgtest.QueryValue[int64](t, url, `
		SELECT sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::bigint
		FROM pg_stat_user_tables WHERE relname = ANY($1)`, tables)
}

// What is asked all the time reads about as many rows as are present, however many deployments
// that are gone are kept. The calls are repeated, since PostgreSQL may change a plan then.
func TestQueries_ReadOnlyWhatIsPresent(t *testing.T) {
	testpart.Rotate(t)
	t.Parallel()
	url := pgtest.URL(t, migrations.FS)
	pgtest.Exec(t, url, fmt.Sprintf(seedDeployments, presentDeployments,
		presentDeployments+goneDeployments))
	const repeated = 8
	for name, call := range map[string]func(context.Context, *postgres.Tx) error{
		"the first page": func(ctx context.Context, tx *postgres.Tx) error {
			_, err := tx.Deployments().Find(ctx, postgres.DeploymentFilter{Everything: true, Most: 51})
			return err
		},
		"the first page by name": func(ctx context.Context, tx *postgres.Tx) error {
			_, err := tx.Deployments().Find(ctx, postgres.DeploymentFilter{Everything: true, Most: 51,
				Order: controlplane.ByName})
			return err
		},
		"a search": func(ctx context.Context, tx *postgres.Tx) error {
			_, err := tx.Deployments().Find(ctx, postgres.DeploymentFilter{Everything: true, Most: 51,
				Search: "nothing has this name"})
			return err
		},
		"what changed for nodes": func(ctx context.Context, tx *postgres.Tx) error {
			_, _, err := tx.NodeSessions().ListDigests(ctx, "me", "")
			return err
		},
		"what is reserved": func(ctx context.Context, tx *postgres.Tx) error {
			_, err := tx.Placement().ListNodes(ctx, seedEnvironment)
			return err
		},
		"the nodes": func(ctx context.Context, tx *postgres.Tx) error {
			_, err := tx.Nodes().List(ctx, controlplane.Page{Limit: 50})
			return err
		},
		"drains": func(ctx context.Context, tx *postgres.Tx) error {
			return tx.Nodes().FinishDrains(ctx)
		},
		"environments that wait": func(ctx context.Context, tx *postgres.Tx) error {
			_, err := tx.Queue().ListEnvironments(ctx)
			return err
		},
		"nodes that runs wait for": func(ctx context.Context, tx *postgres.Tx) error {
			_, err := tx.NodeSessions().ListAwaited(ctx, "me")
			return err
		},
		"overdue runs": func(ctx context.Context, tx *postgres.Tx) error {
			_, err := tx.Queue().ListOverdue(ctx, 100)
			return err
		},
		"expired deployments": func(ctx context.Context, tx *postgres.Tx) error {
			_, err := tx.Lifetimes().ListExpired(ctx, 100)
			return err
		},
	} {
		before := countRowsRead(t, url, "deployments", "runs", "queue")
		t.Run(name, func(t *testing.T) {
			store := pgtest.Open(t, url)
			for range repeated {
				err := store.InTx(t.Context(), func(tx *postgres.Tx) error {
					return call(t.Context(), tx)
				})
				if err != nil {
					t.Fatal(err)
				}
			}
		})
		after := countRowsRead(t, url, "deployments", "runs", "queue")
		if n := (after - before) / repeated; n > goneDeployments/4 {
			t.Errorf("%s: %d rows are read for %d deployments that are present", name, n,
				presentDeployments)
		}
	}
}

// Whether the node of a deployment is away decides what a list by status shows. The nodes are read
// once for the list, not once for each deployment.
func TestQueries_ListByStatusReadsNodesOnce(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t, migrations.FS)
	pgtest.Exec(t, url, fmt.Sprintf(seedDeployments, presentDeployments, presentDeployments))
	for _, order := range []controlplane.DeploymentOrder{controlplane.NewestFirst,
		controlplane.ByName} {
		before := countRowsRead(t, url, "nodes")
		t.Run(fmt.Sprint(order), func(t *testing.T) {
			store := pgtest.Open(t, url)
			var found int
			err := store.InTx(t.Context(), func(tx *postgres.Tx) error {
				some, err := tx.Deployments().Find(t.Context(), postgres.DeploymentFilter{
					Everything: true, Most: 51, Order: order,
					Statuses: []controlplane.DeploymentStatus{"offline"}})
				found = len(some)
				return err
			})
			if err != nil || found != presentDeployments {
				t.Fatalf("%d deployments are offline, want %d; %v", found, presentDeployments, err)
			}
		})
		if n := countRowsRead(t, url, "nodes") - before; n > 10 {
			t.Errorf("order %v: %d rows of 10 nodes are read for %d deployments", order, n,
				presentDeployments)
		}
	}
}

// A session begins with the digest of its node, which has to be the one that all nodes are compared
// with later. While thousands of nodes come back, a few are asked about at a time: what belongs to
// the others is not read.
func TestQueries_DigestOfFewNodesReadsOnlyTheirs(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t, migrations.FS)
	pgtest.Exec(t, url, fmt.Sprintf(seedDeployments, presentDeployments, presentDeployments))
	const nodes = 3_000
	pgtest.Exec(t, url, fmt.Sprintf(`
		INSERT INTO nodes (id, name, environment_id, address)
		SELECT gen_random_uuid(), 'many' || i, '%s', 'a' || i || ':5000' FROM generate_series(1, %d) i;
		INSERT INTO node_tokens (kid, node_id, verifier) SELECT 'k' || name, id, '\x01' FROM nodes;
		DELETE FROM node_leases;
		INSERT INTO node_leases (node_id, holder, epoch, expires_at)
		SELECT id, 'me', 1, now() + interval '1 hour' FROM nodes;
		ANALYZE;`, seedEnvironment, nodes))
	var all, few map[controlplane.NodeID]string
	store := pgtest.Open(t, url)
	read := func(do func(*postgres.Tx) error) {
		if err := store.InTx(t.Context(), do); err != nil {
			t.Fatal(err)
		}
	}
	read(func(tx *postgres.Tx) (err error) {
		all, _, err = tx.NodeSessions().ListDigests(t.Context(), "me", "")
		return err
	})
	store.Close() // PostgreSQL counts what a connection has read when it is closed
	const repeated = 8
	before := countRowsRead(t, url, "node_tokens")
	t.Run("few", func(t *testing.T) {
		store := pgtest.Open(t, url)
		for range repeated {
			err := store.InTx(t.Context(), func(tx *postgres.Tx) (err error) {
				few, err = tx.NodeSessions().ListDigestsOf(t.Context(), "me",
					[]controlplane.NodeID{seedNode})
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	})
	if n := (countRowsRead(t, url, "node_tokens") - before) / repeated; n > 10 {
		t.Errorf("%d tokens of %d nodes are read for one node", n, nodes)
	}
	if len(all) < nodes || len(few) != 1 || few[seedNode] != all[seedNode] {
		t.Errorf("the digest is %q, and %q among all %d", few, all[seedNode], len(all))
	}
}
