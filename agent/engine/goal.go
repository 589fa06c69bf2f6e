package engine

import (
	"fmt"
	"time"

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

// acceptGoal stores a newer goal as the next one. It becomes current at once, unless the
// current work must be undone first.
func (m *Machine) acceptGoal(g wire.Goal) {
	m.mergeAnswers(g)
	stale := !m.isNewer(g.Generation) && !m.hasDefect("accept a stale generation")
	if g.Deployment != m.id || stale {
		return
	}
	no := false
	m.recordChange(Record{Next: &g, Orphan: &no})
}

func (m *Machine) isNewer(generation int64) bool {
	if m.orphan {
		// The deployment was missing from the goals and is back, possibly with the same generation.
		return m.next == nil
	}
	if m.next != nil {
		return generation > m.next.Generation
	}
	return m.work == nil || generation > m.work.Generation
}

// removeDisowned removes a deployment that the control plane does not know.
func (m *Machine) removeDisowned() {
	yes := true
	if m.orphan {
		return
	}
	switch m.phase {
	case wire.PhaseRemoved, wire.PhaseFailed:
		// Nothing is left to remove. Reporting a removal would mark a failed run, which people may
		// still retry, as removed.
		m.out = append(m.out, Forget{})
		return
	case "":
		// Objects with our label, and no memory of their goal.
		gone := wire.Goal{Deployment: m.id, Want: wire.WantGone}
		m.recordChange(Record{Work: &gone, Fresh: true, Orphan: &yes, Phase: wire.PhaseRemoving})
		return
	default:
	}
	gone := *m.work
	gone.Want = wire.WantGone
	m.recordChange(Record{Orphan: &yes, Work: &gone, Cause: &Cause{CodeCanceled,
		"the control plane does not know this deployment"}})
	m.windDown(wire.PhaseRemoving)
}

// isIdle reports that nothing exists, and nothing is being done.
func (m *Machine) isIdle() bool {
	switch m.phase {
	case "", wire.PhaseFailed, wire.PhaseRemoved:
		return true
	default:
		return false
	}
}

func (m *Machine) isSameRun(g wire.Goal) bool {
	return m.work != nil && m.work.Want == g.Want && m.work.Run == g.Run
}

// takeNextGoal makes the next goal the current one, or starts to undo what is in its way.
func (m *Machine) takeNextGoal() {
	if m.next == nil || m.isIdle() && m.current != nil {
		// A running removal of strays must finish before a new run creates objects.
		return
	}
	g := *m.next
	switch {
	case g.Want == wire.WantGone:
		m.takeRemovalGoal(g)
	case m.isSameRun(g):
		// The same run with a new generation: adopt it, and retry if the deployment is stuck.
		g.Pipeline, g.Context, g.Answers = m.work.Pipeline, m.work.Context, m.work.Answers
		// Record this before the goal: after a crash in between, the goal is sent again.
		m.resetEndedJobs(g)
		m.recordChange(Record{Work: &g})
		m.resetSecretsRequest()
		if m.phase == wire.PhaseStuck {
			m.windDown(wire.PhaseUndoing)
		}
	case m.isIdle():
		m.beginGoal(g)
	case m.phase == wire.PhaseApplying:
		m.giveUp(CodeSuperseded, "a newer run took over")
	case m.phase == wire.PhaseReady:
		m.windDown(wire.PhaseRemoving)
	case m.phase == wire.PhaseStuck:
		m.windDown(wire.PhaseUndoing)
	}
}

// beginGoal starts a run, or adopts one that the control plane knows to be ready.
func (m *Machine) beginGoal(g wire.Goal) {
	m.forgetRun()
	no := false
	if g.Elsewhere {
		m.beginMigrated(g)
		return
	}
	if g.Begun {
		m.undoWithoutHistory(g, wire.PhaseUndoing, &Cause{CodeMemoryLost,
			"the agent lost its memory of this run, and what ran may not run twice"})
		return
	}
	if !g.Ready {
		m.recordChange(Record{Work: &g, Fresh: true, Blind: &no, Orphan: &no})
		m.moveTo(wire.PhaseApplying, wire.Event{})
		m.refuseUnknownFormat()
		return
	}
	yes := true
	m.recordChange(Record{Work: &g, Fresh: true, Blind: &yes, Orphan: &no, Phase: wire.PhaseReady})
	for _, key := range m.order {
		m.recordChange(Record{Step: &StepState{Key: key, Status: pipeline.StepDone,
			Started: m.pipelineStep(key).Approval == nil, Done: true}})
	}
}

// refuseUnknownFormat ends a run whose pipeline was written by a newer release: this one
// would leave out what it does not know.
func (m *Machine) refuseUnknownFormat() {
	if m.work.Pipeline.Format > pipeline.Format {
		m.giveUp(CodeUnknownFormat, fmt.Sprintf("the pipeline has format %d, and this agent reads "+
			"formats up to %d; upgrade the agent", m.work.Pipeline.Format, pipeline.Format))
	}
}

// forgetRun clears the state of the previous run, but not the number of the last operation:
// a late Ended must never be taken for one of a new operation.
func (m *Machine) forgetRun() {
	last := m.lastOp
	m.resetVolatile()
	m.lastOp = last
}

// takeRemovalGoal starts the removal. The pipeline and context that are recorded take
// precedence over those in the goal.
func (m *Machine) takeRemovalGoal(g wire.Goal) {
	if m.work == nil {
		m.removeWithoutHistory(g)
		return
	}
	g.Pipeline, g.Context = m.work.Pipeline, m.work.Context
	m.recordChange(Record{Work: &g})
	m.resetSecretsRequest()
	switch m.phase {
	case wire.PhaseApplying:
		m.giveUp(CodeCanceled, "canceled")
	case wire.PhaseUndoing, wire.PhaseRemoving:
		m.retryFailedUndo()
	case wire.PhaseRemoved:
		m.reportEvent(wire.Event{Phase: wire.PhaseRemoved})
	default:
		m.windDown(wire.PhaseRemoving)
	}
}

// resetSecretsRequest forgets a pending or refused request for secrets: it was for the
// previous generation, and the control plane answers for the current one only.
func (m *Machine) resetSecretsRequest() {
	if m.secrets != secretsHere {
		m.secrets, m.refusal = secretsUnknown, ""
	}
}

// removeWithoutHistory removes a deployment of which the journal has no record. All
// services may exist; only the control plane knows which plugins ran.
func (m *Machine) removeWithoutHistory(g wire.Goal) {
	m.forgetRun()
	m.undoWithoutHistory(g, wire.PhaseRemoving, nil)
}

func (m *Machine) undoWithoutHistory(g wire.Goal, phase wire.Phase, cause *Cause) {
	yes := true
	m.recordChange(Record{Work: &g, Fresh: true, Blind: &yes, Cause: cause})
	for _, key := range m.order {
		if m.pipelineStep(key).Container() != nil {
			m.recordChange(Record{Step: &StepState{Key: key, Status: pipeline.StepDone,
				Started: true, Done: true}})
		}
	}
	var e wire.Event
	if cause != nil {
		e.Code, e.Message = cause.Code, cause.Message
	}
	m.moveTo(phase, e)
}

// onSecretsArrived records that the bundle is here. Without a history of the run it also
// takes from the bundle which plugins ran.
func (m *Machine) onSecretsArrived(e SecretsArrived) {
	if m.work == nil || e.Run != m.work.Run {
		return
	}
	m.secrets = secretsHere
	if !m.blind {
		return
	}
	for _, key := range e.Outputs {
		m.recordEarlierRun(StepState{Key: key, Status: pipeline.StepDone, Started: true, Done: true})
	}
	m.recordFoundPlugins(e.Begun)
}

// recordFoundPlugins records plugins that have started and whose result is unknown.
func (m *Machine) recordFoundPlugins(keys []pipeline.StepKey) {
	for _, key := range keys {
		m.recordEarlierRun(StepState{Key: key, Status: pipeline.StepRunning, Started: true, Attempt: 1})
	}
}

// recordEarlierRun records a plugin or script step that ran before the journal's records begin.
func (m *Machine) recordEarlierRun(is StepState) {
	s := m.steps[is.Key]
	if s == nil || s.Started || m.pipelineStep(is.Key).Declares() == nil {
		return
	}
	m.recordChange(Record{Step: &is})
}

// onSecretsRefused ends a run; a ready deployment requests its secrets again after a
// minute, since its services can run without them.
func (m *Machine) onSecretsRefused(reason string) {
	m.secrets, m.refusal = secretsRefused, reason
	if m.phase == wire.PhaseReady {
		m.secrets, m.wait = secretsUnknown, m.now.Add(time.Minute)
	}
}

// requireSecrets reports whether the secrets are here, and requests them if they are not.
// False means not yet, or never.
func (m *Machine) requireSecrets() bool {
	if m.secrets == secretsHere {
		return true
	}
	if m.secrets == secretsUnknown {
		m.secrets = secretsWanted
		m.out = append(m.out, WantSecrets{Generation: m.work.Generation, Run: m.work.Run})
	}
	return false
}

// giveUp ends an incomplete run. It cancels running operations and skips steps that never
// started; undoing begins once no operation runs.
func (m *Machine) giveUp(code, message string) {
	m.recordChange(Record{Cause: &Cause{Code: code, Message: message}})
	m.windDown(wire.PhaseUndoing)
}

func (m *Machine) windDown(phase wire.Phase) {
	if m.phase == wire.PhaseApplying || m.phase == wire.PhaseReady {
		m.cancelOperation(m.current)
		m.cancelOperation(m.ahead)
	}
	for _, key := range m.order {
		if p := m.pulls[key]; p != nil && p.op != 0 {
			m.out = append(m.out, CancelOperation{Op: p.op})
			delete(m.pulls, key)
		}
	}
	for _, key := range m.order {
		s := m.steps[key]
		if m.isNeverBegun(s) {
			m.changeStep(key, unansweredEvent(s), func(s *StepState) { s.Status = pipeline.StepSkipped })
		}
	}
	m.retryFailedUndo()
	m.resetRetries()
	m.left, m.killed, m.probe = nil, "", nil
	if m.phase == phase {
		return
	}
	var e wire.Event
	if m.cause != nil {
		e.Code, e.Message = m.cause.Code, m.cause.Message
	}
	m.moveTo(phase, e)
}

// isNeverBegun reports whether a step is marked as skipped when the run ends. That includes
// an approval without an answer; an answered one keeps its status.
func (m *Machine) isNeverBegun(s *StepState) bool {
	return !s.Started && !s.Done && s.Status != pipeline.StepSkipped &&
		s.Status != pipeline.StepFailed
}

// retryFailedUndo marks steps whose undoing failed to be tried again.
func (m *Machine) retryFailedUndo() {
	for _, key := range m.order {
		if m.steps[key].GaveUp != "" {
			m.changeStep(key, wire.Event{}, func(s *StepState) { s.GaveUp, s.Deletes = "", 0 })
		}
	}
}
