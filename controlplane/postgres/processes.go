package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres/internal/dbsqlc"
)

// Processes is the handle for the processes of the installation, and how its backups ended.
type Processes struct{ subject }

// Processes returns the handle in this transaction.
func (t *Tx) Processes() Processes { return Processes{t.subject()} }

// Put tells that a process is alive.
func (t Processes) Put(ctx context.Context, p controlplane.Process) error {
	report, err := encodeJSON(p.Report)
	if err != nil {
		return err
	}
	err = t.q.PutProcess(ctx, dbsqlc.PutProcessParams{ID: p.ID, Role: string(p.Role),
		Release: p.Release, Skew: p.Skew.Seconds(), Report: report})
	if err != nil {
		return fmt.Errorf("put process: %w", translateError(err))
	}
	return nil
}

// Stop tells that a process was stopped.
func (t Processes) Stop(ctx context.Context, id string) error {
	if err := t.q.StopProcess(ctx, id); err != nil {
		return fmt.Errorf("stop process: %w", err)
	}
	return nil
}

// CountLive counts the processes of a role that told of themselves lately.
func (t Processes) CountLive(
	ctx context.Context, role controlplane.ProcessRole, within time.Duration,
) (int64, error) {
	n, err := t.q.CountLiveProcesses(ctx, string(role), within.Seconds())
	if err != nil {
		return 0, fmt.Errorf("count processes: %w", err)
	}
	return n, nil
}

// DeleteOld forgets those that were stopped, or lost long ago.
func (t Processes) DeleteOld(ctx context.Context) error {
	if err := t.q.DeleteOldProcesses(ctx); err != nil {
		return fmt.Errorf("delete old processes: %w", err)
	}
	return nil
}

// RecordBackup notes that a backup ended.
func (t Processes) RecordBackup(ctx context.Context, b controlplane.BackupRecord) error {
	err := t.q.InsertBackup(ctx, dbsqlc.InsertBackupParams{Error: b.Error, Name: b.Name,
		Bytes: b.Bytes, VerifiedAt: b.VerifiedAt})
	if err != nil {
		return fmt.Errorf("record backup: %w", translateError(err))
	}
	if err := t.q.DeleteOldBackups(ctx); err != nil {
		return fmt.Errorf("delete old backups: %w", err)
	}
	return nil
}

// ListBackups returns how the last backups ended, newest first.
func (t Processes) ListBackups(ctx context.Context) ([]controlplane.BackupRecord, error) {
	rows, err := t.q.ListBackups(ctx)
	if err != nil {
		return nil, fmt.Errorf("list backups: %w", err)
	}
	all := make([]controlplane.BackupRecord, len(rows))
	for i, r := range rows {
		all[i] = controlplane.BackupRecord{At: r.At, Name: r.Name, Bytes: r.Bytes,
			VerifiedAt: r.VerifiedAt, Error: r.Error}
	}
	return all, nil
}
