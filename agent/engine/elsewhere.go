package engine

import (
	"slices"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/pipeline"
)

// A deployment that goes to another node, with what is in its volumes, is on both
// for a while. Where it comes from, its services are stopped, so that the volumes
// stay as they are while they are read; without that, they come back.
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

// Still is not zero while nothing of the deployment runs or is about to, so that its
// volumes may be read, or written where it goes to. It is the number of the last
// operation: another one says that something was done meanwhile, where the
// deployment goes to perhaps no more than pulling an image.
func (m *Machine) Still() int64 {
	if m.work == nil || !m.work.Still || m.next != nil || m.current != nil || m.ahead != nil {
		return 0
	}
	quiet := m.phase == wire.PhaseReady && !slices.ContainsFunc(m.order, m.loud)
	if m.work.Elsewhere {
		quiet = m.phase == wire.PhaseApplying && m.prepared
	}
	if !quiet {
		return 0
	}
	return m.lastOp
}

func (m *Machine) loud(key pipeline.StepKey) bool {
	return m.step(key).Service != nil && !m.service(key).hushed
}

// hush stops the services, last first. Their containers and volumes stay.
func (m *Machine) hush() {
	m.probe = nil
	for _, key := range m.undoOrder() {
		if m.loud(key) {
			m.stop(key)
			return
		}
	}
}

// stop notes first that the service has to come back. A job that has ended must not;
// whether one is at work, a listing tells.
func (m *Machine) stop(key pipeline.StepKey) {
	s, again := m.service(key), m.steps[key].Hushed
	never := m.step(key).Service.Restart == pipeline.RestartNever
	if never && !again && !s.seen {
		return
	}
	d := Do{Kind: Stop, Step: key, Attempt: 2}
	if !again && (s.runs || !never) {
		m.change(key, wire.Event{}, func(s *StepState) { s.Hushed = true })
		d.Attempt = 1
	}
	m.current = m.do(d)
}

func (m *Machine) hushed(o operation, r Result) {
	key := o.do.Step
	if r.Outcome != OK {
		m.retryLater()
		return
	}
	m.calm()
	if r.Exited && o.do.Attempt == 1 {
		// It had ended by itself. A repeated stop would say that of what we ended.
		m.change(key, wire.Event{}, func(s *StepState) { s.Hushed = false })
	}
	s := m.service(key)
	s.hushed, s.changed = true, m.now
}

// Stopped are the services that are never restarted, and that hush ended: whichever
// node the deployment is on in the end, they come back there.
func (m *Machine) Stopped() (keys []pipeline.StepKey) {
	for _, key := range m.order {
		if m.steps[key].Hushed && m.step(key).Service.Restart == pipeline.RestartNever {
			keys = append(keys, key)
		}
	}
	return keys
}

// resume has services run here that another node had to end.
func (m *Machine) resume(g wire.Goal) {
	if m.phase != wire.PhaseApplying || !m.work.Still || g.Still || !g.Elsewhere {
		return
	}
	for _, key := range g.Resume {
		s, ok := m.work.Pipeline.Step(key)
		if ok && s.Service != nil && s.Service.Restart == pipeline.RestartNever {
			m.record(Record{Step: &StepState{Key: key, Status: pipeline.StepPending}})
		}
	}
}

// unhush has those come back that hush stopped.
func (m *Machine) unhush() {
	for _, key := range m.order {
		s := m.service(key)
		s.hushed = false
		if m.steps[key].Hushed && !s.down {
			s.down, s.next = true, m.now
		}
	}
}
