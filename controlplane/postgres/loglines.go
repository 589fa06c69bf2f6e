package postgres

import (
	"context"
	"fmt"
	"slices"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres/internal/dbsqlc"
	"github.com/nullops/nullops/pipeline"
)

// Append stores a step's lines, each once, and notifies followers. All lines must
// be of one deployment.
func (t LogLines) Append(
	ctx context.Context, id controlplane.DeploymentID, lines []controlplane.LogLine,
) error {
	last, err := t.q.ReserveLines(ctx, int64(len(lines)), string(id))
	if err != nil {
		return translateMissing(err, "deployment", string(id))
	}
	next := last - int64(len(lines))
	for _, l := range lines {
		n, err := t.q.InsertLine(ctx, dbsqlc.InsertLineParams{
			DeploymentID: string(id), ID: next + 1, RunID: string(l.Run), Step: string(l.Step),
			Number: l.Number, At: l.At, Text: l.Text, Dropped: l.Dropped,
		})
		if err != nil {
			return fmt.Errorf("insert line: %w", translateError(err))
		}
		next += n
		if err := t.q.CountLines(ctx, n, string(l.Run), string(l.Step)); err != nil {
			return fmt.Errorf("count lines: %w", err)
		}
	}
	if unused := last - next; unused > 0 {
		if err := t.q.ReturnLines(ctx, unused, string(id)); err != nil {
			return fmt.Errorf("return line numbers: %w", err)
		}
	}
	t.tx.NotifyOnCommit(controlplane.TopicLog, string(id))
	return nil
}

// ListAfter returns up to most lines of a deployment after the id.
func (t LogLines) ListAfter(ctx context.Context, id controlplane.DeploymentID, after int64,
	most int) ([]controlplane.LogLine, error) {
	rows, err := t.q.ListLines(ctx, string(id), after, int32(most))
	if err != nil {
		return nil, fmt.Errorf("list lines of %s: %w", id, err)
	}
	all := make([]controlplane.LogLine, len(rows))
	for i, r := range rows {
		all[i] = controlplane.LogLine{ID: r.ID, Run: controlplane.RunID(r.RunID),
			RunNumber: int(r.Run), Step: pipeline.StepKey(r.Step), Number: r.Number, At: r.At,
			Text: r.Text, Dropped: r.Dropped}
	}
	return all, nil
}

// ListOfStep returns up to most lines of one step after the number.
func (t LogLines) ListOfStep(ctx context.Context, run controlplane.RunID, key pipeline.StepKey,
	after int64, most int) ([]controlplane.LogLine, error) {
	rows, err := t.q.ListStepLines(ctx, dbsqlc.ListStepLinesParams{
		RunID: string(run), Step: string(key), After: after, Most: int32(most)})
	if err != nil {
		return nil, fmt.Errorf("list lines of step %s: %w", key, err)
	}
	all := make([]controlplane.LogLine, len(rows))
	for i, r := range rows {
		all[i] = controlplane.LogLine{ID: r.ID, Run: run, Step: key, Number: r.Number, At: r.At,
			Text: r.Text, Dropped: r.Dropped}
	}
	return all, nil
}

// ListUpTo returns up to most lines of one step that end with the number, in order. They have only
// their number and text.
func (t LogLines) ListUpTo(ctx context.Context, run controlplane.RunID, key pipeline.StepKey,
	last int64, most int) ([]controlplane.LogLine, error) {
	rows, err := t.q.ListStepLinesUpTo(ctx, dbsqlc.ListStepLinesUpToParams{
		RunID: string(run), Step: string(key), Last: last, Most: int32(most)})
	if err != nil {
		return nil, fmt.Errorf("list lines of step %s: %w", key, err)
	}
	all := make([]controlplane.LogLine, len(rows))
	for i, r := range rows {
		all[len(rows)-1-i] = controlplane.LogLine{Run: run, Step: key, Number: r.Number, Text: r.Text}
	}
	return all, nil
}

// ListLast returns the last log lines of a step or service of a run, in order.
func (t LogLines) ListLast(ctx context.Context, run controlplane.RunID, key pipeline.StepKey,
	most int) ([]string, error) {
	rows, err := t.q.ListLastLines(ctx, string(run), string(key), int32(most))
	if err != nil {
		return nil, fmt.Errorf("list the last lines of %s: %w", key, err)
	}
	all := make([]string, len(rows))
	for i, r := range rows {
		all[i] = r.Text
	}
	slices.Reverse(all)
	return all, nil
}
