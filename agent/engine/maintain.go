package engine

import (
	"slices"
	"time"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/pipeline"
)

// stableAfter is how long a service must run before its restart backoff is reset.
const stableAfter = time.Minute

// service is what is known of a service of a ready deployment.
type service struct {
	down bool
	// hushed: stopped while the deployment is quiesced.
	hushed bool
	// seen: it is known whether it runs.
	seen, runs bool
	// finished: it was a job, and ended with code 0.
	finished bool
	// changed is when it was last started. Listings taken before that are ignored.
	changed  time.Time
	next     time.Time
	tries    int
	restarts int
}

func (m *Machine) serviceState(key pipeline.StepKey) *service {
	s := m.services[key]
	if s == nil {
		s = &service{}
		m.services[key] = s
	}
	return s
}

// RestartCount counts how often a service was started again since the agent began.
func (m *Machine) RestartCount(key pipeline.StepKey) int {
	if s := m.services[key]; s != nil {
		return s.restarts
	}
	return 0
}

// applyListing finds out which services are down. It ignores what a listing says about a
// service that was started after the listing began.
func (m *Machine) applyListing(l ObjectsListed) {
	if l.Began.Before(m.fresh) {
		return
	}
	if !m.hasDefect("leave strays") {
		m.recordStrays(l)
	}
	if m.blind && (m.phase == wire.PhaseUndoing || m.phase == wire.PhaseRemoving) {
		m.recordFoundPlugins(l.Plugins)
	}
	if m.phase == wire.PhaseApplying {
		m.findCrashed(l)
	}
	if m.phase != wire.PhaseReady {
		return
	}
	m.lacks = !l.Network || !l.Relay
	if m.lacks {
		m.prepared = false
	}
	for _, key := range m.order {
		step := m.pipelineStep(key).Service
		if step == nil {
			continue
		}
		s := m.serviceState(key)
		busy := m.current != nil && m.current.do.Step == key
		if busy || !l.Began.After(s.changed) && !s.changed.IsZero() {
			continue
		}
		s.seen, s.runs = true, slices.Contains(l.Running, key)
		switch {
		case m.work.Still:
			// While quiesced, a service that was started from outside is stopped again. That it
			// does not run needs no reaction.
			s.hushed = s.hushed && !s.runs
		case step.Restart != pipeline.RestartNever:
			m.observeService(s, s.runs, !l.Network || slices.Contains(l.Missing, key))
		}
	}
}

// observeService records whether a service runs. One that exited waits longer before each
// restart; one that was removed from outside, or lost its network, does not.
func (m *Machine) observeService(s *service, running, taken bool) {
	if running {
		s.down = false
		if m.now.Sub(s.changed) > stableAfter {
			s.tries = 0
		}
		return
	}
	if s.down {
		return
	}
	if m.now.Sub(s.changed) > stableAfter {
		s.tries = 0
	}
	s.down = true
	if taken {
		s.next = m.now.Add(retryDelay(0))
		return
	}
	s.next = m.now.Add(retryDelay(s.tries))
	s.tries++
}

// maintainServices keeps a ready deployment's services running, in order.
func (m *Machine) maintainServices() {
	if m.current != nil || m.isBackingOff() {
		return
	}
	// Log lines are masked with them, and a restart needs them.
	m.requireSecrets()
	if m.work.Still {
		m.quiesceNext()
		return
	}
	m.resumeServices()
	if m.probe != nil {
		m.continueProbing()
		return
	}
	if m.lacks && !m.prepared {
		// Without the relay no request reaches the services, although they run.
		m.current = m.startOperation(StartOperation{Kind: Prepare})
		return
	}
	for _, key := range m.order {
		s := m.services[key]
		if s == nil || !s.down {
			continue
		}
		if m.now.Before(s.next) {
			m.wakeAt(s.next)
			continue
		}
		m.restartService(key)
		return
	}
	m.removeLeftover()
}

// restartService brings one service back: network, image, container, readiness.
func (m *Machine) restartService(key pipeline.StepKey) {
	if !m.requireSecrets() {
		return
	}
	if !m.prepared {
		m.current = m.startOperation(StartOperation{Kind: Prepare})
		return
	}
	if p := m.pulls[key]; p == nil || !p.done {
		m.current = m.startOperation(StartOperation{Kind: Pull, Step: key})
		return
	}
	s := m.serviceState(key)
	s.changed = m.now
	m.current = m.startOperation(StartOperation{Kind: Start, Step: key, Attempt: 1})
}

// onMaintenanceEnded continues after an operation that keeps a ready deployment running.
func (m *Machine) onMaintenanceEnded(o operation, r Result) {
	key := o.do.Step
	s := m.serviceState(key)
	switch {
	case o.do.Kind == Pull && r.Outcome == OutcomeOK:
		m.pulls[key] = &pull{done: true}
	case o.do.Kind == Start && r.Outcome == OutcomeOK:
		m.onServiceRestarted(key)
		// Services later in the order may need this one to be ready.
		if m.hasDownService() {
			m.startProbing(key)
		}
	case o.do.Kind == Probe:
		m.onReprobed(key, r)
	case o.do.Kind == Stop:
		m.onServiceStopped(o, r)
	case o.do.Kind == Remove:
		m.onLeftoverRemoved(key)
	default:
		// The image may have been removed by a user: pull it before the next attempt.
		delete(m.pulls, key)
		s.next = m.now.Add(retryDelay(s.tries))
		s.tries++
	}
}

// onServiceRestarted records a restart. It does not count one after we stopped the service
// ourselves.
func (m *Machine) onServiceRestarted(key pipeline.StepKey) {
	s := m.serviceState(key)
	s.down, s.hushed, s.changed = false, false, m.now
	s.seen, s.runs = true, true
	if m.steps[key].Hushed {
		m.changeStep(key, wire.Event{}, func(s *StepState) { s.Hushed = false })
		return
	}
	s.restarts++
}

func (m *Machine) hasDownService() bool {
	return slices.ContainsFunc(m.order, func(key pipeline.StepKey) bool {
		s := m.services[key]
		return s != nil && s.down
	})
}

// onReprobed continues with the next services once a restarted one is ready or has failed
// to become so.
func (m *Machine) onReprobed(key pipeline.StepKey, r Result) {
	t := timingOf(m.pipelineStep(key))
	switch {
	case r.Outcome == OutcomeOK && r.Exited:
		m.probe = nil
		if m.pipelineStep(key).Service.Restart != pipeline.RestartNever {
			m.observeService(m.serviceState(key), false, false)
		}
	case r.Outcome == OutcomeOK && r.Health == wire.HealthHealthy, !m.allowAnotherTry(t):
		m.probe = nil
	default:
		m.probe.next = m.now.Add(m.probePause(t))
	}
}
