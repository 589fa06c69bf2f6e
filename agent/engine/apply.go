package engine

import (
	"fmt"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/pipeline"
)

// maxPulls is how many images one run pulls at a time: enough to fill a line,
// few enough to leave the first one most of it.
const maxPulls = 3

// maxAttempts bounds the runs of an idempotent plugin whose outcome is lost,
// and of deletes: an agent that is killed again and again must still end.
const maxAttempts = 3

// advanceRun advances a run: one step at a time, in order.
func (m *Machine) advanceRun() {
	if m.failUnapproved() || !m.prepareRun() {
		return
	}
	if m.work.Still {
		m.startPulls()
		return
	}
	key, left := m.nextStep()
	if !left {
		if m.current != nil || m.isBackingOff() || m.handleCrashed() {
			return
		}
		m.fresh = m.now
		m.moveTo(wire.PhaseReady, wire.Event{})
		return
	}
	m.startPulls()
	m.precreateNext(key)
	if m.current != nil || m.isBackingOff() || m.handleCrashed() {
		return
	}
	if m.probe != nil {
		m.continueProbing()
		return
	}
	m.advanceStep(key)
}

// prepareRun reports whether steps can run: secrets are here, the network is made.
func (m *Machine) prepareRun() bool {
	if m.secrets == secretsRefused {
		m.giveUp(CodeSecretsRefused, "the control plane refused the secrets: "+m.refusal)
		return false
	}
	if !m.requireSecrets() {
		return false
	}
	if m.prepared {
		return true
	}
	if m.current == nil && !m.isBackingOff() {
		m.current = m.startOperation(StartOperation{Kind: Prepare})
	}
	return false
}

func (m *Machine) nextStep() (pipeline.StepKey, bool) {
	for _, key := range m.order {
		if !m.steps[key].Done {
			return key, true
		}
	}
	return "", false
}

// startPulls keeps up to maxPulls pulls running for the steps that are not done.
func (m *Machine) startPulls() {
	busy := 0
	for _, p := range m.pulls {
		if p.op != 0 {
			busy++
		}
	}
	for _, key := range m.order {
		if m.steps[key].Done || busy >= maxPulls || !m.hasImage(key) || m.isLaunched(key) {
			continue
		}
		if m.pullImage(key) {
			busy++
		}
	}
}

// hasImage reports whether a step runs a container: an approval and a script do not.
func (m *Machine) hasImage(key pipeline.StepKey) bool {
	s := m.pipelineStep(key)
	return s.Approval == nil && s.Script == nil
}

// pullImage starts the pull of a step's image unless it runs, is done, has
// failed or must wait.
func (m *Machine) pullImage(key pipeline.StepKey) bool {
	p := m.pulls[key]
	if p == nil {
		p = &pull{}
		m.pulls[key] = p
	}
	if p.op != 0 || p.done || p.failed != nil {
		return false
	}
	if m.now.Before(p.wait) {
		m.wakeAt(p.wait)
		return false
	}
	p.op = m.startOperation(StartOperation{Kind: Pull, Step: key}).do.Op
	return true
}

// precreateNext creates the container of the plugin after the current step while that step
// runs. This saves a tenth of a plugin's time.
func (m *Machine) precreateNext(current pipeline.StepKey) {
	if !m.steps[current].Started || m.ahead != nil {
		return
	}
	for i, key := range m.order[:len(m.order)-1] {
		next := m.order[i+1]
		p := m.pulls[next]
		if key != current || m.pipelineStep(next).Plugin == nil || m.created[next] || p == nil ||
			!p.done {
			continue
		}
		m.created[next] = true
		m.ahead = m.startOperation(
			StartOperation{Kind: Precreate, Step: next, Action: "create", Attempt: 1},
		)
	}
}

// advanceStep does the next thing for the step whose turn it is.
func (m *Machine) advanceStep(key pipeline.StepKey) {
	s := m.steps[key]
	p := m.pulls[key]
	switch {
	case m.pipelineStep(key).Approval != nil:
		m.advanceApproval(key)
	case m.pipelineStep(key).Script != nil:
		m.runPlugin(key)
	case m.isLaunched(key):
		// A restarted agent needs no image to wait for the job's end.
		m.startProbing(key)
		m.continueProbing()
	case p != nil && p.failed != nil:
		m.failStep(key, *p.failed)
	case p == nil || !p.done:
		if s.Status == pipeline.StepPending {
			m.changeStep(key, wire.Event{}, func(s *StepState) { s.Status = pipeline.StepPulling })
		}
	case m.pipelineStep(key).Container() != nil:
		m.startService(key)
	case m.ahead != nil && m.ahead.do.Step == key:
		// Its container is just being made; running it now would race.
	default:
		m.runPlugin(key)
	}
}

// startService starts a service or a job. It may be repeated: the runtime adopts what is
// there.
func (m *Machine) startService(key pipeline.StepKey) {
	if !m.steps[key].Started {
		m.changeStep(key, wire.Event{}, func(s *StepState) {
			s.Started, s.Attempt, s.Status = true, 1, pipeline.StepRunning
		})
	}
	m.current = m.startOperation(StartOperation{Kind: Start, Step: key, Attempt: m.steps[key].Attempt})
}

// runPlugin runs a plugin or a script once, and again only if that is harmless.
func (m *Machine) runPlugin(key pipeline.StepKey) {
	s := m.steps[key]
	if s.Started && !m.mayRepeat(key) {
		m.failStep(key, Result{Code: CodeUnknownOutcome, Message: fmt.Sprintf(
			"it is not known whether step %q completed (attempt %d), and it may not run twice",
			key, s.Attempt)})
		return
	}
	if s.Started && m.killed != key {
		// A container left from an earlier run must not run beside the new one.
		m.current = m.startOperation(StartOperation{Kind: Remove, Step: key, Action: "create"})
		return
	}
	m.killed = ""
	m.changeStep(key, wire.Event{}, func(s *StepState) {
		s.Started, s.Status = !m.hasDefect("effect before intent"), pipeline.StepRunning
		s.Attempt++
	})
	m.current = m.startOperation(
		StartOperation{Kind: Run, Step: key, Action: "create", Attempt: m.steps[key].Attempt},
	)
	m.precreateNext(key)
}

func (m *Machine) mayRepeat(key pipeline.StepKey) bool {
	c := m.pipelineStep(key).Declares()
	repeatable := c != nil && (c.Idempotent || m.hasDefect("repeat every plugin"))
	return repeatable && m.steps[key].Attempt < maxAttempts
}

// failStep ends the run because of a step.
func (m *Machine) failStep(key pipeline.StepKey, r Result) {
	m.changeStep(key, eventOf(r), func(s *StepState) {
		s.Status = pipeline.StepFailed
		if r.Harmless && s.Attempt <= 1 {
			s.Started = false
		}
		if r.Outputs != nil {
			s.Outputs, s.Sealed = r.Outputs, r.Sealed
		}
	})
	m.giveUp(r.Code, r.Message)
}

func eventOf(r Result) wire.Event {
	return wire.Event{Code: r.Code, Message: r.Message, ExitCode: r.ExitCode,
		Metadata: r.Metadata, Tests: r.Tests}
}

// completeStep marks a step complete.
func (m *Machine) completeStep(key pipeline.StepKey, r Result) {
	m.probe = nil
	m.resetRetries()
	e := eventOf(r)
	e.Outputs, e.Sealed = r.Outputs, r.Sealed
	m.changeStep(key, e, func(s *StepState) {
		s.Done, s.Status, s.Outputs, s.Sealed = true, pipeline.StepDone, r.Outputs, r.Sealed
	})
}
