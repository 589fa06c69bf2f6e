package engine

import (
	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/pipeline"
)

// A deployment that goes to another node, with what is in its volumes, is on both
// for a while. Where it comes from, its services are taken away, so that the
// volumes stay as they are while they are read; without that, they come back.
// Where it goes to, it waits with everything pulled until they are written.
// Plugins worked once, and for both: the node that the deployment is not on runs
// none, and asks none to delete.

// CodeCopyLost is a run's that had volumes written for it, and forgot them.
const CodeCopyLost = "copy_lost"

// beginHere begins a run for which another node did everything but services that
// stay up.
func (m *Machine) beginHere(g wire.Goal) {
	no, yes := false, true
	m.record(Record{Work: &g, Fresh: true, Blind: &yes, Orphan: &no})
	for _, key := range m.order {
		s := m.step(key)
		if s.Service != nil && s.Service.Restart != pipeline.RestartNever {
			continue
		}
		m.record(Record{Step: &StepState{Key: key, Status: pipeline.StepDone,
			Started: s.Approval == nil, Done: true}})
	}
	m.moveTo(wire.PhaseApplying, wire.Event{})
	if !g.Still {
		// Its volumes were written before our memory began, or never: services that
		// found them empty would be taken for good.
		m.giveUp(CodeCopyLost, "the agent does not remember that the volumes were copied")
	}
}

// hush takes the services away, last first. Their volumes stay.
func (m *Machine) hush() {
	m.probe = nil
	for _, key := range m.undoOrder() {
		if m.step(key).Service != nil && !m.service(key).hushed {
			m.current = m.do(Do{Kind: Remove, Step: key})
			return
		}
	}
}

func (m *Machine) hushed(key pipeline.StepKey, r Result) {
	if r.Outcome != OK {
		m.retryLater()
		return
	}
	m.calm()
	m.service(key).hushed = true
}
