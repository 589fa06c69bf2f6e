package lifecycle

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/pipeline"
)

// isPlainProgress reports whether a report only says how far a step is. Most reports do.
func isPlainProgress(r Report) bool {
	s := r.Step
	if s == nil || r.Tests != nil || s.Outputs != nil || s.Sealed != nil || s.ExitCode != nil ||
		len(s.Metadata) > 0 {
		return false
	}
	switch s.Status {
	case pipeline.StepPulling, pipeline.StepRunning, pipeline.StepDone:
		return true
	}
	return false
}

// advanceStep applies plain progress in memory. It reports false if the report needs more than
// that, and has changed nothing then.
func (l *reportTx) advanceStep(
	ctx context.Context, d controlplane.Deployment, r Report,
) (moved controlplane.StepRow, applied bool, err error) {
	if !isPlainProgress(r) || r.Generation != d.Generation {
		return moved, false, nil
	}
	run, known := l.runs[r.Run]
	if !known || run.Deployment != d.ID {
		return moved, false, nil
	}
	id := postgres.StepID{Run: r.Run, Key: r.Step.Key}
	step, known := l.steps[id]
	if !known {
		found, err := l.Steps().ListByID(ctx, []postgres.StepID{id})
		if err != nil {
			return moved, false, err
		}
		step, known = found[id]
	}
	if !known || step.Kind == pipeline.KindApproval {
		return moved, false, nil
	}
	moved = moveStep(step, r)
	l.steps[id], l.moved[id] = moved, true
	news := l.newsOf(d.ID)
	news.Events = append(news.Events,
		controlplane.History{Kind: controlplane.HistoryStep, Step: &moved, Run: run.Number})
	news.Detail = new(stepDetail(moved))
	if moved.Kind == pipeline.KindService {
		if h := healthOfStep(moved.Status); h != "" {
			l.health[id] = controlplane.ServiceHealth{Deployment: d.ID, Step: moved.Key, Health: h}
		}
	}
	return moved, true, nil
}

// moveStep is what the statement MoveRunStep does with plain progress.
func moveStep(s controlplane.StepRow, r Report) controlplane.StepRow {
	// The database keeps microseconds.
	at := r.At.Truncate(time.Microsecond)
	s.Status, s.Result, s.UndoneAt = r.Step.Status, "", nil
	s.Code, s.Message = cmp.Or(r.Code, s.Code), cmp.Or(r.Message, s.Message)
	if parts := r.Step.Parts; len(parts) > 0 && len(s.Parts) < controlplane.MaxStepParts {
		s.Parts = slices.Concat(s.Parts, parts)
	}
	switch s.Status {
	case pipeline.StepPulling, pipeline.StepRunning:
		if s.StartedAt == nil {
			s.StartedAt = &at
		}
	case pipeline.StepDone:
		s.Result, s.EndedAt = pipeline.StepDone, &at
	}
	return s
}

// healthOfStep is a service's health until its node measures it: done means that its readiness
// check passed, undone that it is stopped. It is empty if the step says nothing of it.
func healthOfStep(s pipeline.StepStatus) pipeline.Health {
	switch s {
	case pipeline.StepDone:
		return pipeline.HealthHealthy
	case pipeline.StepRunning:
		return pipeline.HealthStarting
	case pipeline.StepFailed, pipeline.StepUndone:
		return pipeline.HealthStopped
	}
	return ""
}
