package server

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"github.com/nullops/nullops/cmd/nullops/internal/cli/output"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/migrations"
)

// migrateCommand is for operators who run migrations separately.
func migrateCommand() *cobra.Command {
	c := &cobra.Command{Use: "migrate", Short: "Upgrade the database's schema to this release"}
	check := func(s Settings) error {
		return checkRequired("database.url", s.Database.URL, "a PostgreSQL connection URL")
	}
	c.AddCommand(serverCommand("up", "Apply what is missing", check, migrateUp),
		serverCommand("status", "List migrations, applied and waiting", check, migrateStatus),
		serverCommand("check", "Say what an upgrade to this release would change, and change nothing",
			check, checkUpgrade))
	return c
}

func migrateUp(ctx context.Context, s Settings, log *slog.Logger) error {
	store, err := openStarting(ctx, s, log)
	if err != nil {
		return err
	}
	defer store.Close()
	return migrateAndGrant(ctx, store, s)
}

// openStarting opens the database for a command that runs once, such as one of a page's block: the
// line before it may have started the database.
func openStarting(ctx context.Context, s Settings, log *slog.Logger) (*postgres.Store, error) {
	return postgres.OpenStarting(ctx, postgres.Config{URL: s.Database.URL}, func() {
		log.InfoContext(ctx, "the database does not take connections yet; waiting for it")
	})
}

// migrateAndGrant brings the schema up to date, and gives the roles of the settings their
// rights on it.
func migrateAndGrant(ctx context.Context, store *postgres.Store, s Settings) error {
	if err := store.Migrate(ctx, migrations.FS); err != nil {
		return err
	}
	err := store.GrantRoles(ctx, postgres.Roles{
		Server:  postgres.Role{Name: s.Database.Role, Passfile: s.Database.Passfile},
		Ingress: postgres.Role{Name: s.Ingress.Role, Passfile: s.Ingress.Passfile}})
	if err != nil {
		return fmt.Errorf("settings database.role and ingress.role: %w", err)
	}
	// The control plane's role may make no database. Where this one may not either, the first backup
	// says so.
	if s.Database.Role != "" {
		_ = store.EnsureScratch(ctx, s.Database.Role)
	}
	return nil
}

// migrateAtStart brings the schema up to date, unless that is left to another role.
func migrateAtStart(ctx context.Context, store *postgres.Store, s Settings) error {
	if s.Database.Migrate != "off" {
		return migrateAndGrant(ctx, store, s)
	}
	if err := store.RefuseNewer(ctx, migrations.FS); err != nil {
		return err
	}
	missing, err := store.CountMissingMigrations(ctx, migrations.FS)
	if err == nil && missing > 0 {
		err = fmt.Errorf("%d migrations are missing and database.migrate is off: run "+
			"'nullops migrate up' of this release, with a role that owns the database", missing)
	}
	return err
}

func migrateStatus(ctx context.Context, s Settings, log *slog.Logger) error {
	store, err := openStarting(ctx, s, log)
	if err != nil {
		return err
	}
	defer store.Close()
	states, err := store.MigrationStates(ctx, migrations.FS)
	if err != nil {
		return err
	}
	rows := [][]string{{"VERSION", "STATE", "NAME"}}
	for _, m := range states {
		state := "waiting"
		if m.Applied {
			state = "applied"
		}
		rows = append(rows, []string{fmt.Sprint(m.Version), state, m.Name})
	}
	return output.PrintTable(os.Stdout, rows)
}
