package engine

import (
	"time"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/pipeline"
)

// Machine decides for one deployment. It is not safe for concurrent use.
type Machine struct {
	id string
	// The durable state. Only applyRecord changes it, so that a replay reproduces it.
	next   *wire.Goal
	work   *wire.Goal
	blind  bool
	orphan bool
	phase  wire.Phase
	cause  *Cause
	steps  map[pipeline.StepKey]*StepState
	order  []pipeline.StepKey
	// The rest is lost in a crash.
	volatileState
	planted
	// now, out and wake live during one Step.
	now  time.Time
	out  []Effect
	wake time.Time
}

// volatileState is what a restarted agent does not know.
type volatileState struct {
	lastOp int64
	// current is the one operation that advances the run; ahead creates the next plugin's
	// container at the same time.
	current *operation
	ahead   *operation
	pulls   map[pipeline.StepKey]*pull
	// created are plugins whose container exists already, or cannot be made.
	created  map[pipeline.StepKey]bool
	services map[pipeline.StepKey]*service
	prepared bool
	// lacks says that a listing missed the network or the relay.
	lacks bool
	// fresh is when the network was last created or the run became ready: older listings are
	// out of date.
	fresh   time.Time
	secrets secretState
	refusal string
	// killed is the step whose container was removed in preparation of its delete.
	killed pipeline.StepKey
	probe  *serviceStartup
	// tries and wait pace what is repeated; the next good answer resets them.
	tries int
	wait  time.Time
	// refusals counts how often a container was not removed, with a reason.
	refusals int
	left     []string
	// stray and leftover are what a listing showed that should not be there.
	stray    bool
	leftover []pipeline.StepKey
}

type operation struct {
	do       StartOperation
	canceled bool
}

type pull struct {
	op     int64
	done   bool
	failed *Result
	wait   time.Time
	tries  int
}

type secretState int

const (
	secretsUnknown secretState = iota
	secretsWanted
	secretsHere
	secretsRefused
)

// New makes a machine that knows nothing of its deployment.
func New(deployment string) *Machine {
	m := &Machine{id: deployment, steps: map[pipeline.StepKey]*StepState{}}
	m.resetVolatile()
	return m
}

// Replay rebuilds a machine from its records, oldest first. Restarted must be
// its first event.
func Replay(deployment string, records []Record) *Machine {
	m := New(deployment)
	for _, r := range records {
		m.applyRecord(r)
	}
	return m
}

func (m *Machine) resetVolatile() {
	m.volatileState = volatileState{
		pulls:    map[pipeline.StepKey]*pull{},
		created:  map[pipeline.StepKey]bool{},
		services: map[pipeline.StepKey]*service{},
	}
}

// Step takes one event in and returns what follows from it, in order.
func (m *Machine) Step(now time.Time, ev Event) []Effect {
	m.now, m.out, m.wake = now, nil, time.Time{}
	switch e := ev.(type) {
	case GoalSet:
		m.acceptGoal(e.Goal)
	case GoalMissing:
		m.removeDisowned()
	case SecretsArrived:
		m.onSecretsArrived(e)
	case SecretsRefused:
		if m.work != nil && e.Run == m.work.Run && e.Generation == m.work.Generation &&
			m.secrets != secretsHere {
			m.onSecretsRefused(e.Reason)
		}
	case OperationEnded:
		m.onOperationEnded(e)
	case ObjectsListed:
		m.applyListing(e)
	case Tick, AgentRestarted:
	default:
		panic("unknown event")
	}
	m.advance()
	if !m.wake.IsZero() {
		m.out = append(m.out, Wake{At: m.wake})
	}
	out := m.out
	m.out = nil
	return out
}

// advance performs whatever is possible now, until nothing changes. Every round changes the
// state of some step, so the limit only guards against bugs.
func (m *Machine) advance() {
	for range 20 + 8*len(m.order) {
		before := len(m.out)
		m.takeNextGoal()
		switch m.phase {
		case wire.PhaseApplying:
			m.advanceRun()
		case wire.PhaseUndoing, wire.PhaseRemoving:
			m.advanceUndo()
		case wire.PhaseReady:
			m.maintainServices()
		case wire.PhaseFailed, wire.PhaseRemoved:
			m.removeStrays()
		default:
		}
		if len(m.out) == before {
			return
		}
	}
}

// recordChange changes the durable state.
func (m *Machine) recordChange(r Record) {
	m.applyRecord(r)
	m.out = append(m.out, r)
}

// applyRecord is the only writer of the durable state.
func (m *Machine) applyRecord(r Record) {
	if r.Next != nil {
		m.next = r.Next
	}
	if r.Work != nil {
		m.work, m.next = r.Work, nil
		m.order = orderOf(r.Work.Pipeline)
		if r.Fresh {
			m.steps = map[pipeline.StepKey]*StepState{}
			m.cause = nil
		}
		for _, key := range m.order {
			if m.steps[key] == nil {
				m.steps[key] = &StepState{Key: key, Status: pipeline.StepPending}
			}
		}
	}
	if r.Blind != nil {
		m.blind = *r.Blind
	}
	if r.Orphan != nil {
		m.orphan = *r.Orphan
	}
	if r.Phase != "" {
		m.phase = r.Phase
	}
	if r.Cause != nil {
		m.cause = r.Cause
	}
	if r.Step != nil {
		s := *r.Step
		m.steps[s.Key] = &s
	}
	if len(r.Answers) > 0 && m.work != nil {
		m.work = withAnswers(m.work, r.Answers)
	}
}

// Snapshot is the shortest list of records that Replay makes this state of.
func (m *Machine) Snapshot() []Record {
	var records []Record
	if m.work != nil {
		records = append(records, Record{Work: m.work, Fresh: true, Blind: &m.blind,
			Orphan: &m.orphan, Phase: m.phase, Cause: m.cause})
	} else {
		records = append(records, Record{Orphan: &m.orphan, Phase: m.phase})
	}
	for _, key := range m.order {
		s := *m.steps[key]
		records = append(records, Record{Step: &s})
	}
	if m.next != nil {
		records = append(records, Record{Next: m.next})
	}
	return records
}

// State is what the welcome tells.
func (m *Machine) State() wire.DeploymentState {
	s := wire.DeploymentState{Deployment: m.id, Phase: m.phase, Abandoned: m.orphan}
	if m.work != nil {
		s.Generation, s.Run = m.work.Generation, m.work.Run
		c := m.work.Context
		s.Name, s.Project, s.Environment = c.Name, c.Project, c.Environment
	}
	return s
}

// CurrentGoal is the goal being worked on, nil before the first.
func (m *Machine) CurrentGoal() *wire.Goal { return m.work }

// SealedOutputs returns the sealed outputs of every step that has some.
func (m *Machine) SealedOutputs() map[pipeline.StepKey][]byte {
	all := map[pipeline.StepKey][]byte{}
	for key, s := range m.steps {
		if len(s.Sealed) > 0 {
			all[key] = s.Sealed
		}
	}
	return all
}

// Status is where a step stands.
func (m *Machine) Status(key pipeline.StepKey) pipeline.StepStatus {
	if s := m.steps[key]; s != nil {
		return s.Status
	}
	return pipeline.StepPending
}

func orderOf(p pipeline.Pipeline) []pipeline.StepKey {
	if len(p.Order) == len(p.Steps) {
		return p.Order
	}
	order, err := pipeline.Order(p)
	if err != nil {
		// The control plane never sends a graph that it refused to save.
		return nil
	}
	return order
}

func (m *Machine) pipelineStep(key pipeline.StepKey) pipeline.Step {
	s, _ := m.work.Pipeline.Step(key)
	return s
}

// reportEvent tells about the deployment.
func (m *Machine) reportEvent(e wire.Event) {
	if m.work == nil || m.work.Run == "" || m.orphan {
		// The control plane does not know this deployment, or does not want reports of it.
		return
	}
	e.Deployment, e.Generation, e.Run = m.id, m.work.Generation, m.work.Run
	e.At = m.now
	m.out = append(m.out, Report{Event: e})
}

// moveTo changes the phase and tells.
func (m *Machine) moveTo(phase wire.Phase, e wire.Event) {
	m.recordChange(Record{Phase: phase})
	e.Phase = phase
	m.reportEvent(e)
}

// changeStep changes a step's durable state, and reports it if the status changed.
func (m *Machine) changeStep(key pipeline.StepKey, e wire.Event, edit func(*StepState)) {
	s := *m.steps[key]
	was := s.Status
	edit(&s)
	m.recordChange(Record{Step: &s})
	if s.Status != was {
		e.Step, e.Status = key, s.Status
		m.reportEvent(e)
	}
}

// startOperation starts an operation.
func (m *Machine) startOperation(d StartOperation) *operation {
	m.lastOp++
	d.Op = m.lastOp
	m.out = append(m.out, d)
	return &operation{do: d}
}

func (m *Machine) cancelOperation(o *operation) {
	if o != nil && !o.canceled {
		o.canceled = true
		m.out = append(m.out, CancelOperation{Op: o.do.Op})
	}
}

// wakeAt requests a Tick at the given time, unless an earlier one is due.
func (m *Machine) wakeAt(until time.Time) {
	if m.wake.IsZero() || until.Before(m.wake) {
		m.wake = until
	}
}

// retryLater spaces repeats of the current work: 1, 2, 4 … 60 seconds.
func (m *Machine) retryLater() {
	m.wait = m.now.Add(retryDelay(m.tries))
	m.tries++
}

func (m *Machine) resetRetries() { m.tries, m.refusals, m.wait = 0, 0, time.Time{} }

// isBackingOff reports whether the current work waits before its next attempt.
func (m *Machine) isBackingOff() bool {
	if m.now.Before(m.wait) {
		m.wakeAt(m.wait)
		return true
	}
	return false
}

// retryDelay doubles from 1 second to 60 seconds.
func retryDelay(tries int) time.Duration {
	if tries > 6 {
		tries = 6
	}
	return min(time.Second<<tries, time.Minute)
}
