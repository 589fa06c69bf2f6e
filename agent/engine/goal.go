package engine

import (
	"fmt"
	"maps"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/pipeline"
)

// Codes of causes that are not a step's.
const (
	CodeCanceled       = "canceled"
	CodeSuperseded     = "superseded"
	CodeSecretsRefused = "secrets_refused"
	CodeUnknownOutcome = "unknown_outcome"
	CodeNotReady       = "not_ready"
	CodeServiceExited  = "service_exited"
	CodeUndoFailed     = "undo_failed"
	CodeLeftOver       = "left_over"
	CodeMemoryLost     = "memory_lost"
	CodeUnknownFormat  = "unknown_format"
)

// goalQueue decides which goal is worked on: it holds at most one that waits for its turn.
type goalQueue struct {
	*run
	secrets *secrets
	// forgetRun clears the volatile state of all parts before a run begins.
	forgetRun func()
}

// acceptGoal stores a newer goal as the next one. It becomes current at once, unless the
// current work must be undone first.
func (q *goalQueue) acceptGoal(g wire.Goal) {
	q.mergeAnswers(g)
	stale := !q.isNewer(g.Generation) && !q.hasDefect("accept a stale generation")
	if g.Deployment != q.id || stale {
		return
	}
	no := false
	q.recordChange(Record{Next: &g, Orphan: &no})
}

// removeDisowned removes a deployment that the control plane does not know.
func (q *goalQueue) removeDisowned() {
	yes := true
	if q.orphan {
		return
	}
	switch q.phase {
	case wire.PhaseRemoved, wire.PhaseFailed:
		// Nothing is left to remove. Reporting a removal would mark a failed run, which people may
		// still retry, as removed.
		q.out = append(q.out, Forget{})
		return
	case "":
		// Objects with our label, and no memory of their goal.
		gone := wire.Goal{Deployment: q.id, Want: wire.WantGone}
		q.recordChange(Record{Work: &gone, Fresh: true, Orphan: &yes, Phase: wire.PhaseRemoving})
		return
	default:
	}
	gone := *q.work
	gone.Want = wire.WantGone
	q.recordChange(Record{Orphan: &yes, Work: &gone, Cause: &Cause{CodeCanceled,
		"the control plane does not know this deployment"}})
	q.windDown(wire.PhaseRemoving)
}

// takeNextGoal makes the next goal the current one, or starts to undo what is in its way.
func (q *goalQueue) takeNextGoal() {
	if q.next == nil || q.isIdle() && q.current != nil {
		// A running removal of strays must finish before a new run creates objects.
		return
	}
	g := *q.next
	switch {
	case g.Want == wire.WantGone:
		q.takeRemovalGoal(g)
	case q.isSameRun(g):
		// The same run with a new generation: adopt it, and retry if the deployment is stuck.
		g.Pipeline, g.Context, g.Answers = q.work.Pipeline, q.work.Context, q.work.Answers
		// Record this before the goal: after a crash in between, the goal is sent again.
		q.resetEndedJobs(g)
		q.recordChange(Record{Work: &g})
		q.secrets.resetSecretsRequest()
		if q.phase == wire.PhaseStuck {
			q.windDown(wire.PhaseUndoing)
		}
	case q.isIdle():
		q.beginGoal(g)
	case q.phase == wire.PhaseApplying:
		q.giveUp(CodeSuperseded, "a newer run took over")
	case q.phase == wire.PhaseReady:
		q.windDown(wire.PhaseRemoving)
	case q.phase == wire.PhaseStuck:
		q.windDown(wire.PhaseUndoing)
	}
}

// beginGoal starts a run, or adopts one that the control plane knows to be ready.
func (q *goalQueue) beginGoal(g wire.Goal) {
	q.forgetRun()
	no := false
	if g.Elsewhere {
		q.beginMigrated(g)
		return
	}
	if g.Begun {
		q.undoWithoutHistory(g, wire.PhaseUndoing, &Cause{CodeMemoryLost,
			"the agent lost its memory of this run, and what ran may not run twice"})
		return
	}
	if !g.Ready {
		q.recordChange(Record{Work: &g, Fresh: true, Blind: &no, Orphan: &no})
		q.moveTo(wire.PhaseApplying, wire.Event{})
		q.refuseUnknownFormat()
		return
	}
	yes := true
	q.recordChange(Record{Work: &g, Fresh: true, Blind: &yes, Orphan: &no, Phase: wire.PhaseReady})
	for _, key := range q.order {
		q.recordChange(Record{Step: &StepState{Key: key, Status: pipeline.StepDone,
			Started: q.pipelineStep(key).Approval == nil, Done: true}})
	}
}

// refuseUnknownFormat ends a run whose pipeline was written by a newer release: this one
// would leave out what it does not know.
func (q *goalQueue) refuseUnknownFormat() {
	if q.work.Pipeline.Format > pipeline.Format {
		q.giveUp(CodeUnknownFormat, fmt.Sprintf("the pipeline has format %d, and this agent reads "+
			"formats up to %d; upgrade the agent", q.work.Pipeline.Format, pipeline.Format))
	}
}

// takeRemovalGoal starts the removal. The pipeline and context that are recorded take
// precedence over those in the goal.
func (q *goalQueue) takeRemovalGoal(g wire.Goal) {
	if q.work == nil {
		q.removeWithoutHistory(g)
		return
	}
	g.Pipeline, g.Context = q.work.Pipeline, q.work.Context
	q.recordChange(Record{Work: &g})
	q.secrets.resetSecretsRequest()
	switch q.phase {
	case wire.PhaseApplying:
		q.giveUp(CodeCanceled, "canceled")
	case wire.PhaseUndoing, wire.PhaseRemoving:
		q.retryFailedUndo()
	case wire.PhaseRemoved:
		q.reportEvent(wire.Event{Phase: wire.PhaseRemoved})
	default:
		q.windDown(wire.PhaseRemoving)
	}
}

// removeWithoutHistory removes a deployment of which the journal has no record. All
// services may exist; only the control plane knows which plugins ran.
func (q *goalQueue) removeWithoutHistory(g wire.Goal) {
	q.forgetRun()
	q.undoWithoutHistory(g, wire.PhaseRemoving, nil)
}

func (q *goalQueue) undoWithoutHistory(g wire.Goal, phase wire.Phase, cause *Cause) {
	yes := true
	q.recordChange(Record{Work: &g, Fresh: true, Blind: &yes, Cause: cause})
	for _, key := range q.order {
		if q.pipelineStep(key).Container() != nil {
			q.recordChange(Record{Step: &StepState{Key: key, Status: pipeline.StepDone,
				Started: true, Done: true}})
		}
	}
	var e wire.Event
	if cause != nil {
		e.Code, e.Message = cause.Code, cause.Message
	}
	q.moveTo(phase, e)
}

// mergeAnswers stores the answers in a goal of the current run, even if the goal is
// outdated: an answer is a fact that is never withdrawn.
func (q *goalQueue) mergeAnswers(g wire.Goal) {
	if g.Deployment != q.id || q.work == nil || g.Run != q.work.Run ||
		g.Want != wire.WantPresent {
		return
	}
	news := map[pipeline.StepKey]wire.Answer{}
	for key, a := range g.Answers {
		if _, known := q.work.Answers[key]; !known {
			news[key] = a
		}
	}
	if len(news) > 0 {
		q.recordChange(Record{Answers: news})
	}
}

// withAnswers is a copy of a goal that knows more answers. The first one to a
// step counts.
func withAnswers(g *wire.Goal, news map[pipeline.StepKey]wire.Answer) *wire.Goal {
	next := *g
	next.Answers = maps.Clone(news)
	maps.Copy(next.Answers, g.Answers)
	return &next
}
