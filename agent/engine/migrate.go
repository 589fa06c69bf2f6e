package engine

import (
	"slices"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/pipeline"
)

// A deployment that is moved to another node with its volumes exists on both nodes for a
// while. On the old node its services are stopped, so that the volumes do not change while
// they are read; if the move is cancelled, the services are started again. On the new node
// it pulls images and then waits until the volumes are written. Plugins have run once, for
// both nodes: the node that the deployment is not on runs neither their create nor their
// delete.

// CodeCopyLost fails a run whose journal does not say that its volumes were copied.
const CodeCopyLost = "copy_lost"

// beginMigrated begins a run that another node has done, except for the services that stay
// up.
func (m *Machine) beginMigrated(g wire.Goal) {
	no, yes := false, true
	m.recordChange(Record{Work: &g, Fresh: true, Blind: &yes, Orphan: &no})
	for _, key := range m.order {
		s := m.pipelineStep(key)
		if s.Service != nil && s.Service.Restart != pipeline.RestartNever {
			continue
		}
		m.recordChange(Record{Step: &StepState{Key: key, Status: pipeline.StepDone,
			Started: s.Approval == nil, Done: true}})
	}
	m.moveTo(wire.PhaseApplying, wire.Event{})
	if !g.Still {
		// The volumes were written before the journal begins, or never. Services that start with
		// empty volumes would look healthy.
		m.giveUp(CodeCopyLost, "the agent does not remember that the volumes were copied")
	}
}

// QuiescedAt returns the number of the last operation while no service runs or is about to
// start, so that the volumes can be read, or written at the destination; otherwise it
// returns 0. A changed number means that an operation ran in between (at the destination
// possibly only an image pull), so a volume copy made meanwhile is invalid.
func (m *Machine) QuiescedAt() int64 {
	if m.work == nil || !m.work.Still || m.next != nil || m.current != nil || m.ahead != nil {
		return 0
	}
	quiet := m.phase == wire.PhaseReady && !slices.ContainsFunc(m.order, m.needsQuiesce)
	if m.work.Elsewhere {
		quiet = m.phase == wire.PhaseApplying && m.prepared
	}
	if !quiet {
		return 0
	}
	return m.lastOp
}

func (m *Machine) needsQuiesce(key pipeline.StepKey) bool {
	return m.pipelineStep(key).Service != nil && !m.serviceState(key).hushed
}

// quiesceNext stops the next service, in reverse order. Containers and volumes stay.
func (m *Machine) quiesceNext() {
	m.probe = nil
	for _, key := range m.undoOrder() {
		if m.needsQuiesce(key) {
			m.stopForQuiesce(key)
			return
		}
	}
}

// stopForQuiesce records that the service must be started again later, then stops it. A job
// that has ended must not be started again; a listing shows whether one is still running.
func (m *Machine) stopForQuiesce(key pipeline.StepKey) {
	s, again := m.serviceState(key), m.steps[key].Hushed
	never := m.pipelineStep(key).Service.Restart == pipeline.RestartNever
	if never && !again && !s.seen {
		return
	}
	d := StartOperation{Kind: Stop, Step: key, Attempt: 2}
	if !again && (s.runs || !never) {
		m.changeStep(key, wire.Event{}, func(s *StepState) { s.Hushed = true })
		d.Attempt = 1
	}
	m.current = m.startOperation(d)
}

func (m *Machine) onServiceStopped(o operation, r Result) {
	key := o.do.Step
	if r.Outcome != OutcomeOK {
		m.retryLater()
		return
	}
	m.resetRetries()
	if r.Exited && o.do.Attempt == 1 {
		// It had exited by itself. A repeated stop would report that of a service that we stopped.
		m.changeStep(key, wire.Event{}, func(s *StepState) { s.Hushed = false })
	}
	s := m.serviceState(key)
	s.hushed, s.changed = true, m.now
}

// StoppedForCopy lists services with restart "never" that were stopped for the copy: they are
// started again on the node that the deployment ends up on.
func (m *Machine) StoppedForCopy() (keys []pipeline.StepKey) {
	for _, key := range m.order {
		if m.steps[key].Hushed && m.pipelineStep(key).Service.Restart == pipeline.RestartNever {
			keys = append(keys, key)
		}
	}
	return keys
}

// resetEndedJobs makes jobs run again here that the old node had to stop for the move.
func (m *Machine) resetEndedJobs(g wire.Goal) {
	if m.phase != wire.PhaseApplying || !m.work.Still || g.Still || !g.Elsewhere {
		return
	}
	for _, key := range g.Resume {
		s, ok := m.work.Pipeline.Step(key)
		if ok && s.Service != nil && s.Service.Restart == pipeline.RestartNever {
			m.recordChange(Record{Step: &StepState{Key: key, Status: pipeline.StepPending}})
		}
	}
}

// resumeServices starts the services again that quiesceNext stopped.
func (m *Machine) resumeServices() {
	for _, key := range m.order {
		s := m.serviceState(key)
		s.hushed = false
		if m.steps[key].Hushed && !s.down {
			s.down, s.next = true, m.now
		}
	}
}
