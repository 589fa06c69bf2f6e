package server

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/migrations"
)

// checkUpgrade fails where this release could not take the database over, and says what it would
// change and what stays to be done.
func checkUpgrade(ctx context.Context, s Settings, log *slog.Logger) error {
	store, err := openStarting(ctx, s, log)
	if err != nil {
		return fmt.Errorf("setting database.url: %w", err)
	}
	defer store.Close()
	if err := store.RefuseNewer(ctx, migrations.FS); err != nil {
		return err
	}
	missing, err := store.CountMissingMigrations(ctx, migrations.FS)
	if err != nil {
		return err
	}
	return printUpgrade(ctx, os.Stdout, store, missing)
}

func printUpgrade(ctx context.Context, out io.Writer, store *postgres.Store, missing int) error {
	_, err := fmt.Fprintf(out, "The database takes %d migrations to %s.\n", missing, release)
	if err != nil {
		return err
	}
	away, err := store.ListNodesAway(ctx)
	for _, name := range away {
		if err == nil {
			_, err = fmt.Fprintf(out, "Node %s is not online: its agent is upgraded once it is.\n", name)
		}
	}
	return err
}
