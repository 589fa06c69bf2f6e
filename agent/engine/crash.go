package engine

import (
	"cmp"
	"slices"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/pipeline"
)

// A service whose step is done may exit while later steps of the run start. It is restarted
// at once if it may be restarted, because later steps may need it. Otherwise its exit fails
// the run, unless it is a job that exited with code 0.

// findCrashed records which services of completed steps are no longer running.
func (m *Machine) findCrashed(l ObjectsListed) {
	if m.work.Still {
		return
	}
	for _, key := range m.order {
		if m.pipelineStep(key).Service == nil || !m.steps[key].Done || m.endedElsewhere(key) {
			continue
		}
		s := m.serviceState(key)
		if s.finished {
			continue
		}
		busy := m.current != nil && m.current.do.Step == key
		if busy || !s.changed.IsZero() && !l.Began.After(s.changed) {
			continue
		}
		missing := !l.Network || slices.Contains(l.Missing, key)
		m.observeService(s, slices.Contains(l.Running, key), missing)
	}
}

// endedElsewhere reports whether a service may have ended on the node that the
// deployment comes from: then it was never started here.
func (m *Machine) endedElsewhere(key pipeline.StepKey) bool {
	return m.work.Elsewhere && m.pipelineStep(key).Service.Restart == pipeline.RestartNever
}

// handleCrashed does the next thing about a service that ended after its step
// was done, and reports whether there was any.
func (m *Machine) handleCrashed() bool {
	for _, key := range m.order {
		s := m.services[key]
		if s == nil || !s.down || !m.steps[key].Done {
			continue
		}
		if m.pipelineStep(key).Service.Restart == pipeline.RestartNever {
			// The exit code is in the container, and the list may be old.
			m.current = m.startOperation(StartOperation{Kind: Probe, Step: key})
			return true
		}
		if m.now.Before(s.next) {
			m.wakeAt(s.next)
			continue
		}
		m.current = m.startOperation(
			StartOperation{Kind: Start, Step: key, Attempt: m.steps[key].Attempt},
		)
		return true
	}
	return false
}

// onCrashHandled continues after an operation that handleCrashed started.
func (m *Machine) onCrashHandled(o operation, r Result) {
	s := m.serviceState(o.do.Step)
	switch {
	case o.do.Kind == Start && r.Outcome == OutcomeOK:
		s.down, s.changed = false, m.now
		s.restarts++
	case o.do.Kind == Start:
		s.next = m.now.Add(retryDelay(s.tries))
		s.tries++
	case r.Outcome == OutcomeUnknown:
		m.retryLater()
	case r.Exited && m.mayEnd(o.do.Step, r):
		m.resetRetries()
		s.down, s.finished = false, true
	case r.Exited || r.Health == wire.HealthStopped:
		r.Code = cmp.Or(r.Code, CodeServiceExited)
		m.failStep(o.do.Step, r)
	default:
		m.resetRetries()
		s.down, s.changed = false, m.now
	}
}
