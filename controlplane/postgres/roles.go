package postgres

import (
	"context"
	"fmt"
	"io/fs"
	"strings"

	"github.com/jackc/pgx/v5"
)

// Roles are the database roles of processes that do not own the schema. One without a name is
// a role that the installation does not have.
type Roles struct {
	// Server runs the control plane: it reads and writes rows, and changes no table.
	Server Role
	// Ingress runs the ingress.
	Ingress Role
}

// Role is one database role.
type Role struct {
	Name string
	// Passfile is a passfile of libpq with the role's password. If it is set, the role is
	// created with that password, or gets it.
	Passfile string
}

// serverRights is what a control plane needs that changes no table.
var serverRights = []string{
	"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO %[1]s",
	"GRANT USAGE, SELECT, UPDATE ON ALL SEQUENCES IN SCHEMA public TO %[1]s",
	// It checks which migrations were applied, and must not pretend one.
	"REVOKE INSERT, UPDATE, DELETE ON goose_db_version FROM %[1]s",
}

// ingressRights is what the ingress's queries need. It reads routes, passes, the answers to
// ACME challenges and what is sealed for it; it writes visits, that it is alive, and the passes of
// those who come. It reads no value that the master keys sealed.
var ingressRights = []string{
	"GRANT SELECT ON route_rows, environments, environment_gates, deployment_gates, nodes, " +
		"node_leases, acme_challenges, ingress_values, grants, memberships, deployment_hosts, " +
		"former_hosts, standby_hosts TO %[1]s",
	"GRANT SELECT (kid, node_id, created_at, revoked_at, revocation_pending) ON node_tokens TO %[1]s",
	"GRANT SELECT (id, name, role, active) ON users TO %[1]s",
	"GRANT SELECT (id, expires_at) ON sessions TO %[1]s",
	"GRANT SELECT (id, deployment_id, number, pipeline_version, traceparent) ON runs TO %[1]s",
	"GRANT SELECT (id, name) ON projects TO %[1]s",
	"GRANT SELECT (id, verdicts) ON teams TO %[1]s",
	"GRANT SELECT (id, deployment_id, outcome, author, at, voided_at) ON verdicts TO %[1]s",
	"GRANT SELECT ON deployment_expiries TO %[1]s",
	"GRANT SELECT (deployment_id, next_id, number, title, link, branch, commit, changed_at) " +
		"ON reviews TO %[1]s",
	"GRANT SELECT (run_id, title, status, position) ON run_steps TO %[1]s",
	"GRANT SELECT (deployment_id, removed_by, successor_id) ON deployment_lives TO %[1]s",
	"GRANT SELECT, INSERT, UPDATE, DELETE ON gate_passes TO %[1]s",
	"GRANT SELECT, INSERT, UPDATE ON processes TO %[1]s",
	"GRANT SELECT ON log_levels, support_requests TO %[1]s",
	"GRANT SELECT (request_id, process), INSERT ON support_parts TO %[1]s",
	"GRANT SELECT ON deployments TO %[1]s",
	"GRANT UPDATE (active_at) ON deployments TO %[1]s",
	"GRANT SELECT, INSERT, UPDATE ON deployment_activity TO %[1]s",
	"GRANT SELECT, INSERT, UPDATE ON deployment_visitors TO %[1]s",
	"GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO %[1]s",
}

// GrantRoles grants each role the rights it needs on the present schema, and takes all others
// that it has on tables. It creates a role that has a passfile. It runs after the migrations,
// as the role that owns the tables.
func (s *Store) GrantRoles(ctx context.Context, r Roles) error {
	for _, one := range []struct {
		Role
		rights []string
	}{{r.Server, serverRights}, {r.Ingress, ingressRights}} {
		if one.Name == "" {
			continue
		}
		if err := s.grantRole(ctx, one.Role, one.rights); err != nil {
			return fmt.Errorf("grant rights to the role %s: %w", one.Name, err)
		}
	}
	return nil
}

func (s *Store) grantRole(ctx context.Context, r Role, rights []string) error {
	name := pgx.Identifier{r.Name}.Sanitize()
	statements := []string{
		"REVOKE ALL ON ALL TABLES IN SCHEMA public FROM %[1]s",
		"REVOKE ALL ON ALL SEQUENCES IN SCHEMA public FROM %[1]s",
		// Databases that were made by PostgreSQL 14 or older let every role create tables.
		"REVOKE CREATE ON SCHEMA public FROM PUBLIC, %[1]s",
		"GRANT USAGE ON SCHEMA public TO %[1]s",
	}
	for i, statement := range statements {
		statements[i] = fmt.Sprintf(statement, name)
	}
	for _, right := range rights {
		statements = append(statements, fmt.Sprintf(right, name))
	}
	return pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		// Two processes that start together would change the same rows.
		if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock(7311092)"); err != nil {
			return err
		}
		if err := s.ensureRole(ctx, tx, r, name); err != nil {
			return err
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
