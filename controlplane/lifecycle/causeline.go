package lifecycle

import (
	"context"
	"math"
	"strings"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/internal/logcause"
	"github.com/nullops/nullops/pipeline"
)

// findCauseLine returns the number of the line in the log of the failed step that says why: the one
// that the failure quotes, else the last one that speaks of an error, else the last one of a
// program that ended by itself. It is 0 if there is none. The lines arrive apart from the failure,
// so they are read whenever somebody asks.
func findCauseLine(
	ctx context.Context, tx *postgres.Tx, run controlplane.RunID, f controlplane.Failure,
) (int64, error) {
	if f.Step == "" {
		return 0, nil
	}
	last := pipeline.LinePlace{Undo: true, Attempt: 1}.Number()
	if f.Code == controlplane.CodeUndoFailed {
		last = math.MaxInt64
	}
	lines, err := tx.LogLines().ListUpTo(ctx, run, f.Step, last, logcause.Lines)
	if err != nil {
		return 0, err
	}
	texts := make([]string, len(lines))
	for i, line := range lines {
		// An attempt before does not say why this one failed. Nor does the line in which the agent
		// repeats the message.
		sameAttempt := pipeline.PlaceOfLine(line.Number).Attempt ==
			pipeline.PlaceOfLine(lines[len(lines)-1].Number).Attempt
		if sameAttempt && !strings.HasPrefix(f.Message, line.Text) {
			texts[i] = line.Text
		}
	}
	cause := logcause.Find(texts)
	// What a program said last is worth a look if it ended by itself, whatever it said.
	ended := f.Code == "exit_code" || f.Code == "service_exited"
	if cause.Text == "" ||
		!cause.IsError && !ended && !strings.Contains(f.Message, cause.Text) {
		return 0, nil
	}
	return lines[cause.Index].Number, nil
}
