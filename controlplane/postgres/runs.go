package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres/internal/dbsqlc"
	"github.com/nullops/nullops/pipeline"
)

// InsertRun stores a new attempt with its steps, all pending.
func (t *Tx) InsertRun(
	ctx context.Context, r controlplane.Run, steps []controlplane.StepRow,
) error {
	graph, err := encodeJSON(r.Pipeline)
	if err != nil {
		return err
	}
	err = t.q.InsertRun(ctx, dbsqlc.InsertRunParams{
		ID: string(r.ID), DeploymentID: string(r.Deployment), ProjectID: string(r.Project),
		PipelineVersion: int32(r.Version), Pipeline: graph, KeySealed: r.Key,
		StartedBy: r.StartedBy,
	})
	if err != nil {
		return fmt.Errorf("insert run: %w", translateError(err))
	}
	for _, s := range steps {
		err := t.q.InsertRunStep(ctx, dbsqlc.InsertRunStepParams{
			RunID: string(r.ID), Key: string(s.Key), Position: int32(s.Position),
			Kind: s.Kind, Title: s.Title,
		})
		if err != nil {
			return fmt.Errorf("insert step %s: %w", s.Key, translateError(err))
		}
	}
	return nil
}

// Run reads one attempt by its number.
func (t *Tx) Run(
	ctx context.Context, id controlplane.DeploymentID, number int,
) (controlplane.Run, error) {
	row, err := t.q.GetRun(ctx, string(id), int32(number))
	if err != nil {
		return controlplane.Run{}, translateMissing(err, "run", fmt.Sprint(number))
	}
	return toRun(row)
}

// RunByID reads one attempt by the id that reports carry.
func (t *Tx) RunByID(ctx context.Context, id controlplane.RunID) (controlplane.Run, error) {
	if !controlplane.ValidID(string(id)) {
		return controlplane.Run{}, controlplane.NewNotFoundError("run", string(id))
	}
	row, err := t.q.GetRunByID(ctx, string(id))
	if err != nil {
		return controlplane.Run{}, translateMissing(err, "run", string(id))
	}
	return toRun(row)
}

// Runs returns every attempt, newest first.
func (t *Tx) Runs(
	ctx context.Context, id controlplane.DeploymentID,
) ([]controlplane.Run, error) {
	rows, err := t.q.ListRuns(ctx, string(id))
	if err != nil {
		return nil, fmt.Errorf("list runs: %w", err)
	}
	all := make([]controlplane.Run, len(rows))
	for i, r := range rows {
		if all[i], err = toRun(r); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func toRun(r dbsqlc.Run) (controlplane.Run, error) {
	out := controlplane.Run{
		ID: controlplane.RunID(r.ID), Deployment: controlplane.DeploymentID(r.DeploymentID),
		Number: int(r.Number), Project: controlplane.ProjectID(r.ProjectID),
		Version: int(r.PipelineVersion), Status: controlplane.DeploymentStatus(r.Status),
		StartedBy: r.StartedBy, RequestID: r.RequestID, CreatedAt: r.CreatedAt, EndedAt: r.EndedAt,
		Failure: toFailure(r.FailureStep, r.FailureCode, r.FailureMessage), Key: r.KeySealed,
	}
	return out, decodeJSON(r.Pipeline, &out.Pipeline)
}

// MoveRun stores a run's status. Only the first failure is kept.
func (t *Tx) MoveRun(ctx context.Context, id controlplane.RunID,
	to controlplane.DeploymentStatus, ended bool, f *controlplane.Failure) error {
	p := dbsqlc.MoveRunParams{ID: string(id), Status: string(to), Ended: ended}
	if f != nil {
		p.FailureStep, p.FailureCode, p.FailureMessage = string(f.Step), f.Code, f.Message
	}
	if err := t.q.MoveRun(ctx, p); err != nil {
		return fmt.Errorf("move run %s: %w", id, translateError(err))
	}
	return nil
}

// StepsOf returns the steps of an attempt, in order.
func (t *Tx) StepsOf(ctx context.Context, id controlplane.RunID) ([]controlplane.StepRow, error) {
	rows, err := t.q.ListRunSteps(ctx, string(id))
	if err != nil {
		return nil, fmt.Errorf("list steps: %w", err)
	}
	all := make([]controlplane.StepRow, len(rows))
	for i, r := range rows {
		if all[i], err = toStepRow(r); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func toStepRow(r dbsqlc.RunStep) (controlplane.StepRow, error) {
	s := controlplane.StepRow{
		Run: controlplane.RunID(r.RunID), Key: pipeline.StepKey(r.Key), Position: int(r.Position),
		Kind: r.Kind, Title: r.Title, Status: pipeline.StepStatus(r.Status),
		StartedAt: r.StartedAt, EndedAt: r.EndedAt, Code: r.Code, Message: r.Message,
		Sealed: r.Sealed, Lines: r.Lines,
	}
	if r.ExitCode != nil {
		code := int(*r.ExitCode)
		s.ExitCode = &code
	}
	if err := decodeJSON(r.Metadata, &s.Metadata); err != nil {
		return s, err
	}
	if err := decodeJSON(r.Tests, &s.Tests); err != nil {
		return s, err
	}
	return s, decodeJSON(r.Outputs, &s.Outputs)
}

// MoveStep writes what the agent reported of a step, and reads it back. Empty
// fields leave what is there.
func (t *Tx) MoveStep(
	ctx context.Context, s controlplane.StepRow, at time.Time,
) (controlplane.StepRow, error) {
	p := dbsqlc.MoveRunStepParams{
		RunID: string(s.Run), Key: string(s.Key), Status: string(s.Status), At: &at,
		Code: s.Code, Message: s.Message, Sealed: s.Sealed,
	}
	if s.ExitCode != nil {
		code := int32(*s.ExitCode)
		p.ExitCode = &code
	}
	if s.Outputs != nil {
		var err error
		if p.Outputs, err = encodeJSON(s.Outputs); err != nil {
			return s, err
		}
	}
	if len(s.Metadata) > 0 {
		var err error
		if p.Metadata, err = encodeJSON(s.Metadata); err != nil {
			return s, err
		}
	}
	if s.Tests != nil {
		var err error
		if p.Tests, err = encodeJSON(s.Tests); err != nil {
			return s, err
		}
	}
	row, err := t.q.MoveRunStep(ctx, p)
	if err != nil {
		return s, translateMissing(err, "step", string(s.Key))
	}
	return toStepRow(row)
}

// UsualTotals returns, by project, how long a successful run usually takes; zero for a
// project without one.
func (t *Tx) UsualTotals(
	ctx context.Context, projects ...controlplane.ProjectID,
) (map[controlplane.ProjectID]float64, error) {
	rows, err := t.q.ListUsualTotals(ctx, toStrings(projects))
	if err != nil {
		return nil, fmt.Errorf("list usual durations: %w", err)
	}
	all := map[controlplane.ProjectID]float64{}
	for _, r := range rows {
		all[controlplane.ProjectID(r.ProjectID)] = r.Seconds
	}
	return all, nil
}

// UsualSeconds returns, by step, the median of the last twelve good runs.
func (t *Tx) UsualSeconds(
	ctx context.Context, project controlplane.ProjectID,
) (map[pipeline.StepKey]float64, error) {
	rows, err := t.q.ListUsualSeconds(ctx, string(project))
	if err != nil {
		return nil, fmt.Errorf("list usual durations: %w", err)
	}
	all := map[pipeline.StepKey]float64{}
	for _, r := range rows {
		all[pipeline.StepKey(r.Key)] = r.Seconds
	}
	return all, nil
}
