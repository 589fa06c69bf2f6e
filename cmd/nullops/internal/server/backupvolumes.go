package server

import (
	"context"
	"errors"
	"log/slog"
	"os"

	"github.com/nullops/nullops/cmd/nullops/internal/cli/output"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/backup"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/controlplane/seal"
	"github.com/nullops/nullops/internal/quantity"
	"github.com/nullops/nullops/migrations"
)

func backUpVolumes(ctx context.Context, s Settings, log *slog.Logger, o *copyOptions) error {
	return withCopier(ctx, s, log, func(b *serverBase, c *backup.VolumeCopier) error {
		actor := access.System("backup")
		results, err := c.Backup(ctx, actor, backup.BackupOptions{VolumeSelection: o.selection(),
			Running: o.running, Folder: o.folder})
		printVolumes(results)
		recordBackup(ctx, b.store, log, err)
		if err = auditCopy(ctx, b.store, actor, "back up", err); err == nil {
			how := "services were stopped for the copy"
			if o.running {
				how = "services kept running: what they wrote meanwhile may be copied in part"
			}
			log.InfoContext(ctx, "backup written; keep the master key apart from it", "folder", o.folder,
				"volumes", len(results), "consistency", how)
		}
		return err
	})
}

func restoreVolumes(ctx context.Context, s Settings, log *slog.Logger, o *copyOptions) error {
	return withCopier(ctx, s, log, func(b *serverBase, c *backup.VolumeCopier) error {
		actor := access.System("restore")
		f, err := backup.OpenFolder(o.folder, c.Keys)
		var results []backup.VolumeResult
		if err == nil {
			results, err = c.Restore(ctx, actor, f, backup.RestoreOptions{
				VolumeSelection: o.selection(), Node: o.node})
		}
		printVolumes(results)
		if err = auditCopy(ctx, b.store, actor, "restore", err); err == nil {
			log.InfoContext(ctx, "volumes restored", "folder", o.folder, "volumes", len(results))
		}
		return err
	})
}

// restoreFolder fills the database from a backup with volumes.
func restoreFolder(ctx context.Context, s Settings, log *slog.Logger, path string) error {
	keys, err := openSealingKeys(ctx, s, log)
	if err != nil {
		return err
	}
	f, err := backup.OpenFolder(path, keys.ring)
	if err != nil {
		return err
	}
	database, err := f.OpenDatabase()
	if err != nil {
		return err
	}
	defer func() { _ = database.Close() }()
	return restoreFrom(ctx, s, log, database)
}

// withCopier opens what it takes to copy volumes beside a running control plane: the schema is
// that one's.
func withCopier(ctx context.Context, s Settings, log *slog.Logger,
	do func(*serverBase, *backup.VolumeCopier) error) error {
	s.Database.Migrate = "off"
	keys, err := openSealingKeys(ctx, s, log)
	if err != nil {
		return err
	}
	b, err := openBase(ctx, s, log, false)
	if err != nil {
		return err
	}
	defer b.close()
	return do(b, b.newVolumeCopier(keys.ring))
}

func (b *serverBase) newVolumeCopier(keys *seal.Keyring) *backup.VolumeCopier {
	return &backup.VolumeCopier{
		Source: backup.Source{Store: b.store, Migrations: migrations.FS, Keys: keys, Build: release},
		Nodes:  b.dialer, Deployments: b.lifecycle, Holder: b.nodeTable.Holder,
		Log: b.logOf("jobs"),
	}
}

// auditCopy writes what was done into the audit, also if it was interrupted.
func auditCopy(ctx context.Context, store *postgres.Store, actor access.Actor, action string,
	failed error) error {
	err := auditAction(context.WithoutCancel(ctx), store, actor, action+" volumes", failed)
	if failed != nil && !errors.Is(err, failed) {
		return errors.Join(failed, err)
	}
	return err
}

// printVolumes lists what became of each volume.
func printVolumes(results []backup.VolumeResult) {
	if len(results) == 0 {
		return
	}
	rows := [][]string{{"DEPLOYMENT", "ENVIRONMENT", "VOLUME", "SIZE", "STATE"}}
	for _, r := range results {
		name := r.Volume.Name
		if r.Volume.Step != "" {
			name = string(r.Volume.Step) + "/" + name
		}
		rows = append(rows, []string{r.Deployment, r.Environment, name, quantity.FormatBytes(r.Bytes),
			r.State})
	}
	_ = output.PrintTable(os.Stdout, rows)
}
