package postgres_test

import (
	"testing"

	"github.com/nullops/nullops/controlplane/postgres/pgtest"
	"github.com/nullops/nullops/migrations"
)

// Who belongs to whom is held by foreign keys: nodes to their environment;
// deployments to their project, environment and node; runs to their deployment; steps
// and queue entries to their run.
func TestSchema_HoldsBelongings(t *testing.T) {
	t.Parallel()
	conn := connectTo(t, pgtest.URL(t, migrations.FS))
	for _, c := range []struct{ child, column, parent string }{
		{"nodes", "environment_id", "environments"},
		{"deployments", "project_id", "projects"},
		{"deployments", "environment_id", "environments"},
		{"deployments", "node_id", "nodes"},
		{"runs", "deployment_id", "deployments"},
		{"run_steps", "run_id", "runs"},
		{"queue", "run_id", "runs"},
		{"service_health", "deployment_id", "deployments"},
		{"deployment_hosts", "deployment_id", "deployments"},
	} {
		var held bool
		err := conn.QueryRow(t.Context(), `SELECT EXISTS (SELECT 1 FROM pg_constraint c
			JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = ANY (c.conkey)
			WHERE c.contype = 'f' AND c.convalidated AND c.conrelid = $1::text::regclass
			AND c.confrelid = $3::text::regclass AND a.attname = $2)`,
			c.child, c.column, c.parent).Scan(&held)
		// promise: V-26
		if err != nil || !held {
			t.Errorf("no foreign key from %s.%s to %s: %v", c.child, c.column, c.parent, err)
		}
	}
	toRun(t, conn, seed)
	// A GPU is a part of its node's row: without the node there is none, and no list of
	// them beside it that could say otherwise.
	toRun(t, conn, `UPDATE nodes SET inventory = '{"gpus": [{"id": "GPU-1"}]}'`)
	toRun(t, conn, `DELETE FROM nodes`)
	var tables int
	err := conn.QueryRow(t.Context(), `SELECT count(*) FROM pg_tables
		WHERE schemaname = 'public' AND tablename ~ 'gpu'`).Scan(&tables)
	// promise: V-26
	if err != nil || tables != 0 {
		t.Errorf("%d tables of GPUs without a foreign key to their node: %v", tables, err)
	}
}
