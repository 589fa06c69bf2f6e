package postgres

import (
	"context"
	"fmt"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres/internal/dbsqlc"
	"github.com/nullops/nullops/pipeline"
)

// Insert stores a new attempt with its steps, all pending.
func (t Runs) Insert(
	ctx context.Context, r controlplane.Run, steps []controlplane.StepRow,
) error {
	graph, err := encodeJSON(r.Pipeline)
	if err != nil {
		return err
	}
	input, err := encodeInput(r.Input)
	if err != nil {
		return err
	}
	err = t.q.InsertRun(ctx, dbsqlc.InsertRunParams{
		ID: string(r.ID), DeploymentID: string(r.Deployment), ProjectID: string(r.Project),
		PipelineVersion: int32(r.Version), Pipeline: graph, KeySealed: r.Key,
		StartedBy: r.StartedBy, Input: input,
	})
	if err != nil {
		return fmt.Errorf("insert run: %w", translateError(err))
	}
	for _, s := range steps {
		err := t.q.InsertRunStep(ctx, dbsqlc.InsertRunStepParams{
			RunID: string(r.ID), Key: string(s.Key), Position: int32(s.Position),
			Kind: string(s.Kind), Title: s.Title,
		})
		if err != nil {
			return fmt.Errorf("insert step %s: %w", s.Key, translateError(err))
		}
	}
	return nil
}

// Get reads one attempt by its number.
func (t Runs) Get(
	ctx context.Context, id controlplane.DeploymentID, number int,
) (controlplane.Run, error) {
	row, err := t.q.GetRun(ctx, string(id), int32(number))
	if err != nil {
		return controlplane.Run{}, translateMissing(err, "run", fmt.Sprint(number))
	}
	return toRun(row)
}

// ByID reads one attempt by the id that reports carry.
func (t Runs) ByID(ctx context.Context, id controlplane.RunID) (controlplane.Run, error) {
	if !controlplane.ValidID(string(id)) {
		return controlplane.Run{}, controlplane.NewNotFoundError("run", string(id))
	}
	row, err := t.q.GetRunByID(ctx, string(id))
	if err != nil {
		return controlplane.Run{}, translateMissing(err, "run", string(id))
	}
	return toRun(row)
}

// List returns every attempt, newest first.
func (t Runs) List(
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

// ListGood returns up to most good runs of the same project: those that came before the run, newest
// first, and then those after it. They have only their ids.
func (t Runs) ListGood(
	ctx context.Context, run controlplane.Run, most int,
) ([]controlplane.Run, error) {
	rows, err := t.q.ListGoodRuns(ctx, dbsqlc.ListGoodRunsParams{ProjectID: string(run.Project),
		ExceptID: string(run.ID), Before: run.CreatedAt, Most: int32(most)})
	if err != nil {
		return nil, fmt.Errorf("list good runs: %w", err)
	}
	all := make([]controlplane.Run, len(rows))
	for i, r := range rows {
		all[i] = controlplane.Run{ID: controlplane.RunID(r.ID),
			Deployment: controlplane.DeploymentID(r.DeploymentID)}
	}
	return all, nil
}

func toRun(r dbsqlc.Run) (controlplane.Run, error) {
	out := controlplane.Run{
		ID: controlplane.RunID(r.ID), Deployment: controlplane.DeploymentID(r.DeploymentID),
		Number: int(r.Number), Project: controlplane.ProjectID(r.ProjectID),
		Version: int(r.PipelineVersion), Status: controlplane.DeploymentStatus(r.Status),
		Result:    controlplane.DeploymentStatus(r.Result),
		StartedBy: r.StartedBy, RequestID: r.RequestID, Traceparent: r.Traceparent,
		CreatedAt: r.CreatedAt, EndedAt: r.EndedAt,
		Failure: toFailure(r.FailureStep, r.FailureCode, r.FailureMessage), Key: r.KeySealed,
	}
	if err := decodeJSON(r.Pipeline, &out.Pipeline); err != nil {
		return out, err
	}
	return out, decodeJSON(r.Input, &out.Input)
}

// encodeInput stores no input as an empty object.
func encodeInput(values map[string]any) ([]byte, error) {
	if values == nil {
		values = map[string]any{}
	}
	return encodeJSON(values)
}

// Move stores a run's status. Only the first failure is kept.
func (t Runs) Move(ctx context.Context, id controlplane.RunID,
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

// ListUsualTotals returns, by project, how long a successful run usually takes; zero for a
// project without one.
func (t Runs) ListUsualTotals(
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

// SetPipeline completes what a node will get.
func (t Runs) SetPipeline(
	ctx context.Context, id controlplane.RunID, p pipeline.Pipeline,
) error {
	graph, err := encodeJSON(p)
	if err != nil {
		return err
	}
	if err := t.q.SetRunPipeline(ctx, graph, string(id)); err != nil {
		return fmt.Errorf("complete run %s: %w", id, translateError(err))
	}
	return nil
}

// LiveRun is the latest run of a deployment that is not gone.
type LiveRun struct {
	// Name is the deployment's.
	Name     string
	Pipeline pipeline.Pipeline
}

// ListLiveWithText returns the latest run of each existing deployment of a project whose pipeline
// contains the text.
func (t Runs) ListLiveWithText(
	ctx context.Context, id controlplane.ProjectID, text string,
) ([]LiveRun, error) {
	rows, err := t.q.ListLiveRunsWithText(ctx, string(id), text)
	if err != nil {
		return nil, fmt.Errorf("list live runs: %w", err)
	}
	all := make([]LiveRun, len(rows))
	for i, r := range rows {
		all[i].Name = r.Name
		if err := decodeJSON(r.Pipeline, &all[i].Pipeline); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// ListRecorded returns those of the ids that belong to a run.
func (t Runs) ListRecorded(
	ctx context.Context, ids []controlplane.RunID,
) (map[controlplane.RunID]bool, error) {
	rows, err := t.q.ListRecordedRuns(ctx, toStrings(ids))
	if err != nil {
		return nil, fmt.Errorf("look for runs: %w", translateError(err))
	}
	all := map[controlplane.RunID]bool{}
	for _, id := range rows {
		all[controlplane.RunID(id)] = true
	}
	return all, nil
}
