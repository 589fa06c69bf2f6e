package engine

import (
	"cmp"
	"time"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/pipeline"
)

// Machine decides for one deployment. It is not safe for concurrent use.
//
// It hands each event to the part whose concern it is. All parts share the core; what a part
// keeps besides is lost in a crash, and forgotten with the run.
type Machine struct {
	core
	secrets  secrets
	pulls    imagePulls
	services serviceTable
	prober   prober
	run      run
	plugins  plugins
	boxes    sandboxes
	crashes  crashes
	apply    applier
	undo     undo
	quiesce  quiesce
	strays   strays
	upkeep   upkeep
	goals    goalQueue
}

// New makes a machine that knows nothing of its deployment.
func New(deployment string) *Machine {
	m := &Machine{core: core{id: deployment,
		durableState: durableState{steps: map[pipeline.StepKey]*StepState{}}}}
	c := &m.core
	m.secrets.core, m.pulls.core, m.services.core = c, c, c
	m.prober.core, m.strays.core = c, c
	m.run = run{core: c, pulls: &m.pulls, prober: &m.prober}
	m.boxes.core, m.boxes.pulls = c, &m.pulls
	m.plugins = plugins{run: &m.run, sandboxes: &m.boxes}
	m.crashes = crashes{run: &m.run, services: &m.services}
	m.apply = applier{run: &m.run, secrets: &m.secrets, approvals: approvals{&m.run},
		jobs:    jobs{&m.run},
		starts:  serviceStarts{run: &m.run, services: &m.services, sandboxes: &m.boxes},
		plugins: &m.plugins, crashes: &m.crashes}
	m.undo = undo{run: &m.run, secrets: &m.secrets, sandboxes: &m.boxes}
	m.quiesce = quiesce{core: c, services: &m.services, prober: &m.prober, pulls: &m.pulls}
	m.upkeep = upkeep{core: c, secrets: &m.secrets, pulls: &m.pulls, services: &m.services,
		prober: &m.prober, quiesce: &m.quiesce, strays: &m.strays}
	m.goals = goalQueue{run: &m.run, secrets: &m.secrets, forgetRun: m.forgetRun}
	m.forgetRun()
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

// LimitSandboxes sets how many sandboxes of later plugins may wait at a time. Zero, the default,
// prepares none.
func (m *Machine) LimitSandboxes(limit int) { m.boxes.limit = limit }

// Step takes one event in and returns what follows from it, in order.
func (m *Machine) Step(now time.Time, ev Event) []Effect {
	m.now, m.out, m.wake = now, nil, time.Time{}
	switch e := ev.(type) {
	case GoalSet:
		m.goals.acceptGoal(e.Goal)
	case GoalMissing:
		m.goals.removeDisowned()
	case SecretsArrived:
		m.secrets.onSecretsArrived(e)
	case SecretsRefused:
		m.secrets.onSecretsRefused(e)
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
		m.goals.takeNextGoal()
		switch m.phase {
		case wire.PhaseApplying:
			m.apply.advanceRun()
		case wire.PhaseUndoing, wire.PhaseRemoving:
			m.undo.advanceUndo()
		case wire.PhaseReady:
			m.upkeep.maintainServices()
		case wire.PhaseFailed, wire.PhaseRemoved:
			m.strays.removeStrays()
		default:
		}
		if len(m.out) == before {
			return
		}
	}
}

// State is what the welcome message reports.
func (m *Machine) State() wire.DeploymentState {
	s := wire.DeploymentState{Deployment: m.id, Phase: m.phase, Abandoned: m.orphan}
	if m.work != nil {
		s.Generation, s.Run = m.work.Generation, m.work.Run
		c := m.work.Context
		s.Name, s.Project, s.Environment = c.Name, c.Project, c.Environment
	}
	return s
}

// RestartCount counts how often a service was started again since the agent began.
func (m *Machine) RestartCount(key pipeline.StepKey) int {
	if s := m.services.byStep[key]; s != nil {
		return s.restarts
	}
	return 0
}

// QuiescedAt returns the number of the last operation while no service runs or is about to
// start, so that volumes can be copied; otherwise it returns 0.
func (m *Machine) QuiescedAt() int64 { return m.quiesce.quiescedAt() }

// onOperationEnded handles the end of an operation. Operations that are no longer current
// are ignored.
func (m *Machine) onOperationEnded(e OperationEnded) {
	m.timings.end(e, m.now)
	switch {
	case m.pulls.onOperationEnded(e):
	case m.boxes.onOperationEnded(e):
	case m.current != nil && m.current.do.Op == e.Op:
		done := *m.current
		m.current = nil
		m.onCurrentEnded(done, e.Result)
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
		m.apply.onApplyStepEnded(o, r)
	case wire.PhaseReady:
		m.upkeep.onMaintenanceEnded(o, r)
	case wire.PhaseUndoing, wire.PhaseRemoving:
		if o.canceled {
			m.plugins.recordLateResult(o, r)
			return
		}
		m.undo.onUndoEnded(o, r)
	case wire.PhaseFailed, wire.PhaseRemoved:
		m.strays.onStraysRemoved(r)
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
		m.run.giveUp(cmp.Or(r.Code, "prepare"), r.Message)
	case o.do.Step != "" && r.Outcome == OutcomeNo && m.tries >= maxAttempts:
		// A delete that needs the network cannot have it.
		m.undo.recordGiveUp(o.do.Step, r)
	default:
		m.retryLater()
	}
}

// applyListing compares a list of the deployment's objects with what there should be.
func (m *Machine) applyListing(l ObjectsListed) {
	if l.Began.Before(m.fresh) {
		return
	}
	if !m.hasDefect("leave strays") {
		m.strays.recordStrays(l)
	}
	switch m.phase {
	case wire.PhaseUndoing, wire.PhaseRemoving:
		if m.blind {
			m.recordFoundPlugins(l.Plugins)
		}
	case wire.PhaseApplying:
		m.crashes.findCrashed(l)
		m.prober.observeListing(l)
	case wire.PhaseReady:
		m.upkeep.observeListing(l)
	default:
	}
}

// forgetRun clears what a restarted agent would not know either: the state of the previous run.
func (m *Machine) forgetRun() {
	m.progress = progress{}
	m.timings.reset()
	m.secrets.reset()
	m.pulls.reset()
	m.services.reset()
	m.prober.reset()
	m.boxes.reset()
	m.strays.reset()
	m.upkeep.reset()
}
