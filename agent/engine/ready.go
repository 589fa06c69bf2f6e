package engine

import (
	"slices"
	"time"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/pipeline"
)

// stableAfter is how long a service must run before its restart backoff is reset.
const steady = time.Minute

// service is what is known of a service of a ready deployment.
type service struct {
	down bool
	// hushed: stopped while the deployment is quiesced.
	hushed bool
	// seen: it is known whether it runs.
	seen, runs bool
	// finished: it was a job, and ended with code 0.
	finished bool
	// changed is when it was last started: older listings say nothing of it.
	changed  time.Time
	next     time.Time
	tries    int
	restarts int
}

func (m *Machine) service(key pipeline.StepKey) *service {
	s := m.services[key]
	if s == nil {
		s = &service{}
		m.services[key] = s
	}
	return s
}

// Restarts counts how often a service was started again since the agent began.
func (m *Machine) Restarts(key pipeline.StepKey) int {
	if s := m.services[key]; s != nil {
		return s.restarts
	}
	return 0
}

// applyListing finds out which services are down. It ignores what a listing says about a
// service that was started after the listing began.
func (m *Machine) listed(l Listed) {
	if l.Began.Before(m.fresh) {
		return
	}
	if !m.has("leave strays") {
		m.strays(l)
	}
	if m.blind && (m.phase == wire.PhaseUndoing || m.phase == wire.PhaseRemoving) {
		m.foundPlugins(l.Plugins)
	}
	if m.phase == wire.PhaseApplying {
		m.findCrashed(l)
	}
	if m.phase != wire.PhaseReady {
		return
	}
	m.lacks = !l.Network || !l.Gate
	if m.lacks {
		m.prepared = false
	}
	for _, key := range m.order {
		step := m.step(key).Service
		if step == nil {
			continue
		}
		s := m.service(key)
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
			m.observe(s, s.runs, !l.Network || slices.Contains(l.Missing, key))
		}
	}
}

// observeService records whether a service runs. One that exited waits longer before each
// restart; one that was removed from outside, or lost its network, does not.
func (m *Machine) observe(s *service, running, taken bool) {
	if running {
		s.down = false
		if m.now.Sub(s.changed) > steady {
			s.tries = 0
		}
		return
	}
	if s.down {
		return
	}
	if m.now.Sub(s.changed) > steady {
		s.tries = 0
	}
	s.down = true
	if taken {
		s.next = m.now.Add(backoff(0))
		return
	}
	s.next = m.now.Add(backoff(s.tries))
	s.tries++
}

// maintain keeps a ready deployment's services running, in order.
func (m *Machine) maintain() {
	if m.current != nil || m.waiting() {
		return
	}
	// Log lines are masked with them, and a restart needs them.
	m.haveSecrets()
	if m.work.Still {
		m.hush()
		return
	}
	m.unhush()
	if m.probe != nil {
		m.probeAgain()
		return
	}
	if m.lacks && !m.prepared {
		// Without the gate no request reaches the services, although they run.
		m.current = m.do(Do{Kind: Prepare})
		return
	}
	for _, key := range m.order {
		s := m.services[key]
		if s == nil || !s.down {
			continue
		}
		if m.now.Before(s.next) {
			m.pause(s.next)
			continue
		}
		m.restart(key)
		return
	}
	m.removeLeftover()
}

// restart brings one service back: network, image, container, readiness.
func (m *Machine) restart(key pipeline.StepKey) {
	if !m.haveSecrets() {
		return
	}
	if !m.prepared {
		m.current = m.do(Do{Kind: Prepare})
		return
	}
	if p := m.pulls[key]; p == nil || !p.done {
		m.current = m.do(Do{Kind: Pull, Step: key})
		return
	}
	s := m.service(key)
	s.changed = m.now
	m.current = m.do(Do{Kind: Start, Step: key, Attempt: 1})
}

// onMaintenanceEnded continues after an operation that keeps a ready deployment running.
func (m *Machine) maintained(o operation, r Result) {
	key := o.do.Step
	s := m.service(key)
	switch {
	case o.do.Kind == Pull && r.Outcome == OK:
		m.pulls[key] = &pull{done: true}
	case o.do.Kind == Start && r.Outcome == OK:
		m.startedAgain(key)
		// Services later in the order may need this one to be ready.
		if m.anyDown() {
			m.startProbing(key)
		}
	case o.do.Kind == Probe:
		m.probedAgain(key, r)
	case o.do.Kind == Stop:
		m.hushed(o, r)
	case o.do.Kind == Remove:
		m.leftoverGone(key)
	default:
		// The image may have been removed by a user: pull it before the next attempt.
		delete(m.pulls, key)
		s.next = m.now.Add(backoff(s.tries))
		s.tries++
	}
}

// onServiceRestarted records a restart. It does not count one after we stopped the service
// ourselves.
func (m *Machine) startedAgain(key pipeline.StepKey) {
	s := m.service(key)
	s.down, s.hushed, s.changed = false, false, m.now
	s.seen, s.runs = true, true
	if m.steps[key].Hushed {
		m.change(key, wire.Event{}, func(s *StepState) { s.Hushed = false })
		return
	}
	s.restarts++
}

func (m *Machine) anyDown() bool {
	return slices.ContainsFunc(m.order, func(key pipeline.StepKey) bool {
		s := m.services[key]
		return s != nil && s.down
	})
}

// onReprobed continues with the next services once a restarted one is ready or has failed
// to become so.
func (m *Machine) probedAgain(key pipeline.StepKey, r Result) {
	t := timingOf(m.step(key))
	switch {
	case r.Outcome == OK && r.Exited:
		m.probe = nil
		if m.step(key).Service.Restart != pipeline.RestartNever {
			m.observe(m.service(key), false, false)
		}
	case r.Outcome == OK && r.Health == wire.HealthHealthy, !m.notYet(t):
		m.probe = nil
	default:
		m.probe.next = m.now.Add(m.probePause(t))
	}
}
