package engine

import (
	"cmp"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/pipeline"
)

// onOperationEnded handles the end of an operation. Operations that are no longer current
// are ignored.
func (m *Machine) onOperationEnded(e OperationEnded) {
	for _, p := range m.pulls {
		if p.op == e.Op && e.Op != 0 {
			m.onPullEnded(p, e.Result)
			return
		}
	}
	switch {
	case m.ahead != nil && m.ahead.do.Op == e.Op:
		// A container that could not be made ahead is made when it is run.
		m.ahead = nil
	case m.current != nil && m.current.do.Op == e.Op:
		done := *m.current
		m.current = nil
		m.onCurrentEnded(done, e.Result)
	}
}

func (m *Machine) onPullEnded(p *pull, r Result) {
	p.op = 0
	switch r.Outcome {
	case OutcomeOK:
		p.done, p.tries = true, 0
	case OutcomeNo:
		p.failed = &r
	default:
		p.wait = m.now.Add(retryDelay(p.tries))
		p.tries++
	}
}

// onCurrentEnded handles the end of the current operation, according to the phase.
func (m *Machine) onCurrentEnded(o operation, r Result) {
	if o.do.Kind == Prepare {
		m.onPrepared(o, r)
		return
	}
	switch m.phase {
	case wire.PhaseApplying:
		m.onApplyStepEnded(o, r)
	case wire.PhaseReady:
		m.onMaintenanceEnded(o, r)
	case wire.PhaseUndoing, wire.PhaseRemoving:
		if o.canceled {
			m.recordLateResult(o, r)
			return
		}
		m.onUndoEnded(o, r)
	case wire.PhaseFailed, wire.PhaseRemoved:
		m.onStraysRemoved(r)
	default:
	}
}

func (m *Machine) onPrepared(o operation, r Result) {
	switch {
	case r.Outcome == OutcomeOK:
		m.prepared, m.fresh = true, m.now
		m.resetRetries()
	case o.canceled:
	case m.phase == wire.PhaseApplying && r.Outcome == OutcomeNo:
		m.giveUp(cmp.Or(r.Code, "prepare"), r.Message)
	case o.do.Step != "" && r.Outcome == OutcomeNo && m.tries >= maxAttempts:
		// A delete that needs the network cannot have it.
		m.recordGiveUp(o.do.Step, r)
	default:
		m.retryLater()
	}
}

// onApplyStepEnded handles the end of an operation while a run is being applied.
func (m *Machine) onApplyStepEnded(o operation, r Result) {
	key := o.do.Step
	if s := m.steps[key]; s != nil && s.Done {
		m.onCrashHandled(o, r)
		return
	}
	switch o.do.Kind {
	case Start:
		m.onContainerStarted(key, r)
	case Probe:
		m.onContainerProbed(key, r)
	case Stop:
		m.onJobStopped(o, r)
	case Remove:
		// The old container of a plugin that is going to be repeated.
		if r.Outcome == OutcomeOK {
			m.killed = key
			m.resetRetries()
			return
		}
		m.retryLater()
	case Run:
		m.onPluginEnded(key, r)
	case EvaluatePrompt:
		m.onPromptEvaluated(key, r)
	case EvaluateAnswer:
		m.onApprovalCompleted(key, r)
	default:
	}
}

func (m *Machine) onContainerStarted(key pipeline.StepKey, r Result) {
	if m.isJob(key) {
		m.onJobStarted(key, r)
		return
	}
	m.onServiceStarted(key, r)
}

func (m *Machine) onContainerProbed(key pipeline.StepKey, r Result) {
	if m.isJob(key) {
		m.onJobProbed(key, r)
		return
	}
	m.onStartupProbed(key, r)
}

func (m *Machine) onPluginEnded(key pipeline.StepKey, r Result) {
	switch r.Outcome {
	case OutcomeOK:
		m.completeStep(key, r)
	case OutcomeNo:
		m.failStep(key, r)
	default:
		// runPlugin decides whether it may be repeated.
		m.killed = ""
		m.retryLater()
		if !m.mayRepeat(key) {
			m.resetRetries()
		}
	}
}

// recordLateResult records the result of a cancelled create. A plugin that succeeded
// nevertheless must receive its outputs when its delete runs.
func (m *Machine) recordLateResult(o operation, r Result) {
	if o.do.Kind != Run || o.do.Action != "create" {
		return
	}
	e := eventOf(r)
	e.Outputs, e.Sealed = r.Outputs, r.Sealed
	m.changeStep(o.do.Step, e, func(s *StepState) {
		s.Outputs, s.Sealed = r.Outputs, r.Sealed
		s.Done, s.Status = r.Outcome == OutcomeOK, pipeline.StepFailed
		if s.Done {
			s.Status = pipeline.StepDone
		}
	})
}
