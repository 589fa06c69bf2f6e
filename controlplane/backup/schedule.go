package backup

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"regexp"
	"slices"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/internal/text"
)

// JobName is the background job that makes scheduled backups.
const JobName = "back_up"

// fileName is what scheduled backups are called; nothing else at the target is ever removed.
var fileName = regexp.MustCompile(`^nullops-[0-9]{8}T[0-9]{6}Z\.backup$`)

// Schedule makes backups of the database at a target, and proves each by restoring it.
type Schedule struct {
	Source
	// Target is nil while none are wanted.
	Target

	// Every and Keep say how often, and how many of the newest are kept.
	Every time.Duration
	Keep  int
	Log   *slog.Logger
}

// Run makes one backup, reads it back from the target into the scratch database, and removes those
// that are no longer kept. Old ones stay unless the new one is proven.
func (s *Schedule) Run(ctx context.Context) error {
	actor := access.System("backup")
	record := controlplane.BackupRecord{Name: time.Now().UTC().Format("nullops-20060102T150405Z") +
		".backup"}
	err := s.writeAndVerify(ctx, actor, &record)
	if err != nil {
		record.Error = text.Clip(err.Error(), 500)
	}
	stored := s.store(context.WithoutCancel(ctx), actor, record, err)
	if err = errors.Join(err, stored); err != nil {
		return err
	}
	s.Log.InfoContext(ctx, "backup written and verified by restoring it", "place", s.String(),
		"backup", record.Name, "bytes", record.Bytes)
	return s.prune(ctx)
}

// store notes how the backup ended, for alerts and lists, and in the audit.
func (s *Schedule) store(ctx context.Context, actor access.Actor, b controlplane.BackupRecord,
	failed error) error {
	err := s.Store.InTx(ctx, func(tx *postgres.Tx) error {
		return tx.Processes().RecordBackup(ctx, b)
	})
	if err != nil {
		return err
	}
	err = s.Store.InAuditedTx(ctx, actor.NewAuditEntry("back up", "installation"),
		func(*postgres.Tx) error { return failed })
	if failed != nil {
		return nil // it is returned already
	}
	return err
}

func (s *Schedule) writeAndVerify(
	ctx context.Context, actor access.Actor, b *controlplane.BackupRecord,
) (err error) {
	b.Bytes, err = s.Write(ctx, b.Name, func(w io.Writer) error {
		out := bufio.NewWriter(w)
		return errors.Join(Write(ctx, actor, s.Source, out), out.Flush())
	})
	if err != nil {
		return err
	}
	if err := s.verify(ctx, actor, b.Name); err != nil {
		return fmt.Errorf("the backup %s is written, and not proven by restoring it: %w", b.Name, err)
	}
	now := time.Now()
	b.VerifiedAt = &now
	return nil
}

// verify restores what the target has, not what was sent there.
func (s *Schedule) verify(ctx context.Context, actor access.Actor, name string) (err error) {
	scratch, err := s.Store.OpenScratch(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, scratch.Close(ctx)) }()
	file, err := s.Open(ctx, name)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	in := bufio.NewReader(file)
	if err := Read(ctx, actor, scratch.Store, s.Migrations, s.Keys, in); err != nil {
		return err
	}
	return scratch.Migrate(ctx, s.Migrations)
}

// prune removes the oldest backups beyond those that are kept.
func (s *Schedule) prune(ctx context.Context) error {
	names, err := s.List(ctx)
	if err != nil {
		return err
	}
	names = slices.DeleteFunc(names, func(n string) bool { return !fileName.MatchString(n) })
	slices.Sort(names)
	for _, name := range names[:max(0, len(names)-s.Keep)] {
		if err := s.Delete(ctx, name); err != nil {
			return fmt.Errorf("remove the old backup %s: %w", name, err)
		}
		s.Log.InfoContext(ctx, "an old backup was removed", "backup", name)
	}
	return nil
}

// ListRecords returns how the last backups ended, newest first.
func (s *Schedule) ListRecords(
	ctx context.Context, actor access.Actor,
) (all []controlplane.BackupRecord, err error) {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return nil, err
	}
	return all, s.Store.Read(ctx, func(tx *postgres.Tx) (err error) {
		all, err = tx.Processes().ListBackups(ctx)
		return err
	})
}

// StartNow makes the next backup due.
func (s *Schedule) StartNow(ctx context.Context, actor access.Actor) error {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return err
	}
	if s.Target == nil {
		return controlplane.NewConflictError("no_backup_target", "no backups are scheduled",
			"Set backup.to where the control plane is started.")
	}
	return s.Store.InAuditedTx(ctx, actor.NewAuditEntry("start backup", "installation"),
		func(tx *postgres.Tx) error { return tx.Jobs().Wake(ctx, JobName) })
}
