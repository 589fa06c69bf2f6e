package engine

import (
	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/pipeline"
)

// A request that the agent gave up, or died on, may still be carried out by
// the container engine, after everything was removed. So what a listing shows
// of a deployment that is at its end is removed again.

// strays notes what should not be there.
func (m *Machine) strays(l Listed) {
	switch m.phase {
	case wire.PhaseReady:
		m.leftover = l.Plugins
	case wire.PhaseFailed, wire.PhaseRemoved:
		m.stray = l.Objects > 0
	default:
	}
}

// tidy removes what came to be after the end.
func (m *Machine) tidy() {
	if m.stray && m.current == nil && !m.waiting() {
		m.current = m.do(Do{Kind: RemoveAll})
	}
}

// tidied goes on after that; the next listing decides whether it was enough.
func (m *Machine) tidied(r Result) {
	if r.Outcome == OK {
		m.calm()
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
	m.current = m.do(Do{Kind: Remove, Step: m.leftover[0], Action: "create"})
	return true
}

// leftoverGone forgets it, whatever came of it: the next listing tells.
func (m *Machine) leftoverGone(key pipeline.StepKey) {
	if len(m.leftover) > 0 && m.leftover[0] == key {
		m.leftover = m.leftover[1:]
	}
}
