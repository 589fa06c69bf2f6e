package server

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"

	"golang.org/x/term"

	"github.com/nullops/nullops/cmd/nullops/internal/exit"
	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/backup"
	"github.com/nullops/nullops/controlplane/keyring"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/controlplane/seal"
	"github.com/nullops/nullops/internal/text"
	"github.com/nullops/nullops/migrations"
)

// checkBackup wants what the control plane wants to open its database.
func (s Settings) checkBackup() error {
	return errors.Join(
		checkRequired("database.url", s.Database.URL, "a PostgreSQL connection URL"),
		s.checkKeys(),
	)
}

func writeBackup(ctx context.Context, s Settings, log *slog.Logger) error {
	if term.IsTerminal(int(os.Stdout.Fd())) {
		return exit.AsUsageError(errors.New("standard output is a terminal: " +
			"write to a file, nullops backup > FILE"))
	}
	return withDatabase(ctx, s, log, func(store *postgres.Store, keys *seal.Keyring) error {
		// A program that does not know all tables would leave out some, and write into others.
		if err := store.RefuseNewer(ctx, migrations.FS); err != nil {
			return err
		}
		actor := access.System("backup")
		if err := chainAudit(ctx, actor, store, keys, log); err != nil {
			return err
		}
		out := bufio.NewWriter(os.Stdout)
		err := backup.Write(ctx, actor, backup.Source{Store: store, Migrations: migrations.FS,
			Keys: keys, Build: release}, out)
		if err == nil {
			err = out.Flush()
		}
		recordBackup(ctx, store, log, err)
		if err = auditAction(ctx, store, actor, "back up", err); err == nil {
			log.InfoContext(ctx, "backup written; keep the master key apart from it; what is in "+
				"volumes is not in it, see --volumes")
		}
		return err
	})
}

func restoreFrom(ctx context.Context, s Settings, log *slog.Logger, from io.Reader) error {
	return withDatabase(ctx, s, log, func(store *postgres.Store, keys *seal.Keyring) error {
		actor := access.System("restore")
		err := backup.Read(ctx, actor, store, migrations.FS, keys, bufio.NewReader(from))
		if err != nil {
			return err
		}
		if err := migrateAndGrant(ctx, store, s); err != nil {
			return err
		}
		if err := chainAudit(ctx, actor, store, keys, log); err != nil {
			return err
		}
		if err := auditAction(ctx, store, actor, "restore", nil); err != nil {
			return err
		}
		log.InfoContext(ctx, "restored; start the control plane with the same master key")
		return nil
	})
}

func withDatabase(ctx context.Context, s Settings, log *slog.Logger,
	do func(*postgres.Store, *seal.Keyring) error) error {
	keys, err := openSealingKeys(ctx, s, log)
	if err != nil {
		return err
	}
	store, err := openStarting(ctx, s, log)
	if err != nil {
		return fmt.Errorf("setting database.url: %w", err)
	}
	defer store.Close()
	return do(store, keys.ring)
}

func chainAudit(ctx context.Context, actor access.Actor, store *postgres.Store,
	keys *seal.Keyring, log *slog.Logger) error {
	key, err := keyring.New(store, keys, log).AuditKey(ctx, actor)
	if err != nil {
		return err
	}
	store.ChainAudit(key)
	return nil
}

// recordBackup notes how a backup ended, for the alerts about it. A database of an earlier release
// has no place for that.
func recordBackup(ctx context.Context, store *postgres.Store, log *slog.Logger, failed error) {
	ctx = context.WithoutCancel(ctx)
	reason := ""
	if failed != nil {
		reason = text.Clip(failed.Error(), 500)
	}
	err := store.InTx(ctx, func(tx *postgres.Tx) error {
		return tx.Processes().RecordBackup(ctx, controlplane.BackupRecord{Error: reason})
	})
	if err != nil {
		log.WarnContext(ctx, "how the backup ended was not stored; no alert will tell of it",
			"error", err)
	}
}

// auditAction writes the deed, or that it failed, into the audit.
func auditAction(ctx context.Context, store *postgres.Store, actor access.Actor, action string,
	failed error) error {
	return store.InAuditedTx(ctx, actor.NewAuditEntry(action, "installation"),
		func(*postgres.Tx) error { return failed })
}
