package postgres

import (
	"context"
	"fmt"
	"io/fs"
	"strings"

	"github.com/jackc/pgx/v5"
)

// Roles are the database roles of processes that do not own the schema. An empty name is a
// role that the installation does not have.
type Roles struct {
	// Server runs the control plane: it reads and writes rows, and changes no table.
	Server string
	// Ingress runs the ingress.
	Ingress string
}

// serverRights is what a control plane needs that changes no table.
var serverRights = []string{
	"SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public",
	"USAGE, SELECT, UPDATE ON ALL SEQUENCES IN SCHEMA public",
}

// ingressRights is what the ingress's queries need. It reads routes, passes, the answers to
// ACME challenges and what is sealed for it; it writes visits, and the passes of those who
// come. Values that the master keys sealed are left out, but for the tokens of nodes, which
// stand beside the names of the tokens.
var ingressRights = []string{
	"SELECT ON route_rows, environments, environment_gates, deployment_gates, nodes, node_tokens, " +
		"node_leases, acme_challenges, ingress_values, grants, memberships, deployment_hosts, " +
		"former_hosts, standby_hosts",
	"SELECT (id, name, role, active) ON users",
	"SELECT (id, expires_at) ON sessions",
	"SELECT (id, deployment_id, number) ON runs",
	"SELECT (run_id, title, status, position) ON run_steps",
	"SELECT (deployment_id, removed_by) ON deployment_lives",
	"SELECT, INSERT, UPDATE, DELETE ON gate_passes",
	"SELECT ON deployments",
	"UPDATE (active_at) ON deployments",
	"SELECT, INSERT, UPDATE ON deployment_activity",
	"USAGE ON ALL SEQUENCES IN SCHEMA public",
}

// GrantRoles gives each role the rights it needs on the present schema, and takes all others
// that it has on tables. It runs after the migrations, as the role that owns the tables.
func (s *Store) GrantRoles(ctx context.Context, r Roles) error {
	for _, one := range []struct {
		name   string
		rights []string
	}{{r.Server, serverRights}, {r.Ingress, ingressRights}} {
		if one.name == "" {
			continue
		}
		if err := s.grantRole(ctx, pgx.Identifier{one.name}.Sanitize(), one.rights); err != nil {
			return fmt.Errorf("grant rights to the role %s: %w", one.name, err)
		}
	}
	return nil
}

func (s *Store) grantRole(ctx context.Context, role string, rights []string) error {
	return pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		statements := []string{
			// Two control planes that start together would change the same rows.
			"SELECT pg_advisory_xact_lock(7311092)",
			"REVOKE ALL ON ALL TABLES IN SCHEMA public FROM " + role,
			"REVOKE ALL ON ALL SEQUENCES IN SCHEMA public FROM " + role,
			"GRANT USAGE ON SCHEMA public TO " + role,
		}
		for _, right := range rights {
			statements = append(statements, "GRANT "+right+" TO "+role)
		}
		_, err := tx.Exec(ctx, strings.Join(statements, ";\n"))
		return err
	})
}

// CountMissingMigrations counts the files' migrations that the database does not have.
func (s *Store) CountMissingMigrations(ctx context.Context, files fs.FS) (n int, err error) {
	all, err := s.MigrationStates(ctx, files)
	for _, m := range all {
		if !m.Applied {
			n++
		}
	}
	return n, err
}
