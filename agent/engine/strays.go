package engine

import (
	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/pipeline"
)

// The container engine may complete a request after the agent gave up on it or died, even
// after everything was removed. So when a listing shows objects of a deployment that has
// ended, they are removed again.

// recordStrays records containers that should not exist in this phase.
func (m *Machine) recordStrays(l ObjectsListed) {
	switch m.phase {
	case wire.PhaseReady:
		m.leftover = l.Plugins
	case wire.PhaseFailed, wire.PhaseRemoved:
		m.stray = l.Objects > 0
	default:
	}
}

// removeStrays removes objects that appeared after the deployment had ended.
func (m *Machine) removeStrays() {
	if m.stray && m.current == nil && !m.isBackingOff() {
		m.current = m.startOperation(StartOperation{Kind: RemoveAll})
	}
}

// onStraysRemoved clears the flag, or retries; the next listing shows whether everything is
// gone.
func (m *Machine) onStraysRemoved(r Result) {
	if r.Outcome == OutcomeOK {
		m.resetRetries()
		m.stray = false
		return
	}
	m.retryLater()
}

// removeLeftover takes a plugin's container away that outlived its run, and
// reports whether there is one.
func (m *Machine) removeLeftover() bool {
	if len(m.leftover) == 0 {
		return false
	}
	m.current = m.startOperation(StartOperation{Kind: Remove, Step: m.leftover[0], Action: "create"})
	return true
}

// onLeftoverRemoved forgets the leftover, even if removing it failed: the next listing
// shows it again.
func (m *Machine) onLeftoverRemoved(key pipeline.StepKey) {
	if len(m.leftover) > 0 && m.leftover[0] == key {
		m.leftover = m.leftover[1:]
	}
}
