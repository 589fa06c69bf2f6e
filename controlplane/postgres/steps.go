package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres/internal/dbsqlc"
	"github.com/nullops/nullops/pipeline"
)

// PutProgress stores a step's progress and notifies watchers.
func (t Steps) PutProgress(ctx context.Context, p controlplane.Progress) error {
	data, err := encodeJSON(p)
	if err != nil {
		return err
	}
	if err := t.q.PutProgress(ctx, data, string(p.Run), string(p.Step)); err != nil {
		return fmt.Errorf("put progress: %w", err)
	}
	t.tx.NotifyOnCommit(controlplane.TopicProgress, string(p.Deployment))
	return nil
}

// ListProgress returns the progress of a deployment's running steps.
func (t Steps) ListProgress(
	ctx context.Context, id controlplane.DeploymentID,
) ([]controlplane.Progress, error) {
	rows, err := t.q.ListProgress(ctx, string(id))
	if err != nil {
		return nil, fmt.Errorf("list progress of %s: %w", id, err)
	}
	all := make([]controlplane.Progress, len(rows))
	for i, r := range rows {
		if err := decodeJSON(r.Progress, &all[i]); err != nil {
			return nil, err
		}
		all[i].RunNumber = int(r.Run)
	}
	return all, nil
}

// ListOf returns the steps of an attempt, in order.
func (t Steps) ListOf(ctx context.Context, id controlplane.RunID) ([]controlplane.StepRow, error) {
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
		Kind: pipeline.StepKind(r.Kind), Title: r.Title, Status: pipeline.StepStatus(r.Status),
		Result: pipeline.StepStatus(r.Result), StartedAt: r.StartedAt, EndedAt: r.EndedAt,
		UndoneAt: r.UndoneAt, Code: r.Code, Message: r.Message,
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
	if err := decodeJSON(r.Parts, &s.Parts); err != nil {
		return s, err
	}
	return s, decodeJSON(r.Outputs, &s.Outputs)
}

// encodeParts returns nil if there are none.
func encodeParts(parts []controlplane.StepPart) ([]byte, error) {
	if len(parts) == 0 {
		return nil, nil
	}
	return encodeJSON(parts)
}

// Move writes what the agent reported of a step, and reads it back. Empty
// fields leave what is there.
func (t Steps) Move(
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
	parts, err := encodeParts(s.Parts)
	if err != nil {
		return s, err
	}
	p.Parts = parts
	row, err := t.q.MoveRunStep(ctx, p)
	if err != nil {
		return s, translateMissing(err, "step", string(s.Key))
	}
	return toStepRow(row)
}

// ListUsualSeconds returns, by step, the median of the last twelve good runs.
func (t Steps) ListUsualSeconds(
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
