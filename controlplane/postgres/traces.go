package postgres

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/internal/tracing"
	"github.com/nullops/nullops/pipeline"
)

// statementTracer writes a span for each statement that belongs to something that is traced. It
// has the query's name and never its values.
type statementTracer struct{}

var _ pgx.QueryTracer = statementTracer{}

type endKey struct{}

// TraceQueryStart implements pgx.QueryTracer.
func (statementTracer) TraceQueryStart(
	ctx context.Context, _ *pgx.Conn, d pgx.TraceQueryStartData,
) context.Context {
	if !tracing.IsRecording(ctx) {
		return ctx
	}
	ctx, end := tracing.Span(ctx, "sql "+queryName(d.SQL), "db.system.name", "postgresql")
	return context.WithValue(ctx, endKey{}, end)
}

// TraceQueryEnd implements pgx.QueryTracer.
func (statementTracer) TraceQueryEnd(ctx context.Context, _ *pgx.Conn, d pgx.TraceQueryEndData) {
	if end, ok := ctx.Value(endKey{}).(func(error)); ok {
		end(d.Err)
	}
}

// queryName is the name that sqlc puts before a query, or the statement's first word, such as
// commit: what follows may hold a value.
func queryName(sql string) string {
	if rest, ok := strings.CutPrefix(sql, "-- name: "); ok {
		sql = rest
	}
	name, _, _ := strings.Cut(strings.TrimSpace(sql), " ")
	return name
}

// TracedRun is a run that has ended, with what its spans are made from.
type TracedRun struct {
	controlplane.Run
	Name, Node, Project, Environment string
	// QueuedAt and StartedAt are its way through the queue; Attempts is how often a node was
	// told to do it.
	QueuedAt  time.Time
	StartedAt *time.Time
	Attempts  int
	Steps     []TracedStep
}

// TracedStep is a step of such a run, with when a person was asked and answered.
type TracedStep struct {
	controlplane.StepRow
	AskedAt, AnsweredAt *time.Time
}

// ClaimUntraced returns runs that have ended and whose spans nobody has written. They are never
// returned again.
func (t Runs) ClaimUntraced(ctx context.Context, most int) ([]TracedRun, error) {
	rows, err := t.q.ClaimUntracedRuns(ctx, int32(most))
	if err != nil {
		return nil, wrapTraces(err)
	}
	all, ids := make([]TracedRun, len(rows)), make([]string, len(rows))
	at := map[string]*TracedRun{}
	for i, r := range rows {
		all[i] = TracedRun{Name: r.Deployment, Node: r.Node, Project: r.Project,
			Environment: r.Environment, Run: controlplane.Run{ID: controlplane.RunID(r.ID),
				Deployment: controlplane.DeploymentID(r.DeploymentID), Number: int(r.Number),
				Traceparent: r.Traceparent, Status: controlplane.DeploymentStatus(r.Status),
				Result: controlplane.DeploymentStatus(r.Result), CreatedAt: r.CreatedAt,
				EndedAt: r.EndedAt, Failure: toFailure("", r.FailureCode, "")}}
		ids[i], at[r.ID] = r.ID, &all[i]
	}
	if len(ids) == 0 {
		return nil, nil
	}
	queues, err := t.q.ListQueuesToTrace(ctx, ids)
	if err != nil {
		return nil, wrapTraces(err)
	}
	for _, q := range queues {
		r := at[q.RunID]
		r.QueuedAt, r.StartedAt, r.Attempts = q.QueuedAt, q.StartedAt, int(q.Attempts)
	}
	return all, t.addStepsToTrace(ctx, ids, at)
}

func (t Runs) addStepsToTrace(ctx context.Context, ids []string, at map[string]*TracedRun) error {
	steps, err := t.q.ListStepsToTrace(ctx, ids)
	if err != nil {
		return wrapTraces(err)
	}
	for _, s := range steps {
		step := TracedStep{AskedAt: s.AskedAt, AnsweredAt: s.AnsweredAt,
			StepRow: controlplane.StepRow{Key: pipeline.StepKey(s.Key),
				Kind: pipeline.StepKind(s.Kind), Status: pipeline.StepStatus(s.Status),
				StartedAt: s.StartedAt, EndedAt: s.EndedAt, UndoneAt: s.UndoneAt, Code: s.Code}}
		if err := decodeJSON(s.Parts, &step.Parts); err != nil {
			return err
		}
		r := at[s.RunID]
		r.Steps = append(r.Steps, step)
	}
	return nil
}

// LatestTrace returns a deployment's latest run and its trace; empty without one.
func (t Runs) LatestTrace(
	ctx context.Context, id controlplane.DeploymentID,
) (run controlplane.RunID, traceparent string, err error) {
	rows, err := t.q.GetLatestTrace(ctx, string(id))
	if err != nil || len(rows) == 0 {
		return "", "", wrapTraces(err)
	}
	return controlplane.RunID(rows[0].ID), rows[0].Traceparent, nil
}

func wrapTraces(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("read what is traced: %w", translateError(err))
}
