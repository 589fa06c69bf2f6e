package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres/internal/dbsqlc"
)

// Diagnosis is the handle for the levels of logs, and for support archives that are being written.
type Diagnosis struct{ subject }

// Diagnosis returns the handle in this transaction.
func (t *Tx) Diagnosis() Diagnosis { return Diagnosis{t.subject()} }

// PutLevel has a component log at another level until a time.
func (t Diagnosis) PutLevel(ctx context.Context, l controlplane.LogLevel) error {
	err := t.q.PutLogLevel(ctx, dbsqlc.PutLogLevelParams{Node: l.Node, Component: l.Component,
		Level: l.Level, Until: l.Until, SetBy: l.SetBy})
	if err != nil {
		return fmt.Errorf("put log level: %w", translateError(err))
	}
	return nil
}

// DeleteLevel ends that, and reports whether there was a level to end.
func (t Diagnosis) DeleteLevel(ctx context.Context, node, component string) (bool, error) {
	n, err := t.q.DeleteLogLevel(ctx, node, component)
	if err != nil {
		return false, fmt.Errorf("delete log level: %w", err)
	}
	return n > 0, nil
}

// ListLevels lists the levels that differ from the settings now.
func (t Diagnosis) ListLevels(ctx context.Context) ([]controlplane.LogLevel, error) {
	rows, err := t.q.ListLogLevels(ctx)
	if err != nil {
		return nil, fmt.Errorf("list log levels: %w", err)
	}
	all := make([]controlplane.LogLevel, len(rows))
	for i, r := range rows {
		all[i] = controlplane.LogLevel{Node: r.Node, Component: r.Component, Level: r.Level,
			Until: r.Until, SetBy: r.SetBy, SetAt: r.SetAt}
	}
	return all, nil
}

// Request asks every process for its part of a support archive.
func (t Diagnosis) Request(ctx context.Context, id string) error {
	if err := t.q.InsertSupportRequest(ctx, id); err != nil {
		return fmt.Errorf("request parts of a support archive: %w", translateError(err))
	}
	return nil
}

// ListRequests lists the archives that a process has not added its part to.
func (t Diagnosis) ListRequests(ctx context.Context, process string) ([]string, error) {
	ids, err := t.q.ListSupportRequests(ctx, process)
	if err != nil {
		return nil, fmt.Errorf("list support requests: %w", err)
	}
	return ids, nil
}

// AddPart adds a process's part to an archive.
func (t Diagnosis) AddPart(ctx context.Context, request, process string, files []byte) error {
	if err := t.q.InsertSupportPart(ctx, request, process, files); err != nil {
		return fmt.Errorf("add a part to a support archive: %w", translateError(err))
	}
	return nil
}

// ListParts returns what the processes have added, by process.
func (t Diagnosis) ListParts(ctx context.Context, request string) (map[string][]byte, error) {
	rows, err := t.q.ListSupportParts(ctx, request)
	if err != nil {
		return nil, fmt.Errorf("list parts of a support archive: %w", err)
	}
	all := make(map[string][]byte, len(rows))
	for _, r := range rows {
		all[r.Process] = r.Files
	}
	return all, nil
}

// Finish deletes an archive's parts, and what is left of earlier ones and of levels that are over.
func (t Diagnosis) Finish(ctx context.Context, request string) error {
	if err := t.q.DeleteSupportRequest(ctx, request); err != nil {
		return fmt.Errorf("delete support request: %w", err)
	}
	if err := t.q.DeleteEndedLogLevels(ctx); err != nil {
		return fmt.Errorf("delete log levels: %w", err)
	}
	return nil
}

// ListProcesses lists the processes that have told of themselves lately.
func (t Diagnosis) ListProcesses(ctx context.Context) ([]controlplane.Process, error) {
	rows, err := t.q.ListLiveProcesses(ctx)
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	all := make([]controlplane.Process, len(rows))
	for i, r := range rows {
		all[i] = controlplane.Process{ID: r.ID, Role: controlplane.ProcessRole(r.Role),
			Release: r.Release, StartedAt: r.StartedAt, SeenAt: r.SeenAt,
			Skew: time.Duration(r.Skew * float64(time.Second))}
	}
	return all, nil
}
