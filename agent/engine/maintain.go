package engine

import (
	"slices"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/pipeline"
)

// upkeep keeps the services of a ready deployment running.
type upkeep struct {
	*core
	secrets  *secrets
	pulls    *imagePulls
	services *serviceTable
	prober   *prober
	quiesce  *quiesce
	strays   *strays
	// lacks says that a listing missed the network or the relay.
	lacks bool
}

func (u *upkeep) reset() { u.lacks = false }

// observeListing finds out which services of a ready deployment are down. It ignores what a
// listing says about a service that was started after the listing began.
func (u *upkeep) observeListing(l ObjectsListed) {
	u.lacks = !l.Network || !l.Relay
	if u.lacks {
		u.prepared = false
	}
	for _, key := range u.order {
		step := u.pipelineStep(key).Service
		if step == nil {
			continue
		}
		s := u.services.serviceState(key)
		busy := u.current != nil && u.current.do.Step == key
		if busy || !l.Began.After(s.changed) && !s.changed.IsZero() {
			continue
		}
		s.seen, s.runs = true, slices.Contains(l.Running, key)
		switch {
		case u.work.Still:
			// While quiesced, a service that was started from outside is stopped again. That it
			// does not run needs no reaction.
			s.hushed = s.hushed && !s.runs
		case step.Restart != pipeline.RestartNever:
			u.services.observeService(s, s.runs, !l.Network || slices.Contains(l.Missing, key))
		}
	}
}

// maintainServices keeps a ready deployment's services running, in order.
func (u *upkeep) maintainServices() {
	if u.current != nil || u.isBackingOff() {
		return
	}
	// Log lines are masked with them, and a restart needs them.
	u.secrets.requireSecrets()
	if u.work.Still {
		u.quiesce.quiesceNext()
		return
	}
	u.quiesce.resumeServices()
	if u.prober.startup != nil {
		u.prober.continueProbing()
		return
	}
	if u.lacks && !u.prepared {
		// Without the relay no request reaches the services, although they run.
		u.current = u.startOperation(StartOperation{Kind: Prepare})
		return
	}
	for _, key := range u.order {
		s := u.services.byStep[key]
		if s == nil || !s.down {
			continue
		}
		if u.now.Before(s.next) {
			u.wakeAt(s.next)
			continue
		}
		u.restartService(key)
		return
	}
	u.strays.removeLeftover()
}

// restartService brings one service back: network, image, container, readiness.
func (u *upkeep) restartService(key pipeline.StepKey) {
	if !u.secrets.requireSecrets() {
		return
	}
	if !u.prepared {
		u.current = u.startOperation(StartOperation{Kind: Prepare})
		return
	}
	if !u.pulls.isPulled(key) {
		u.current = u.startOperation(StartOperation{Kind: Pull, Step: key})
		return
	}
	s := u.services.serviceState(key)
	s.changed = u.now
	u.current = u.startOperation(StartOperation{Kind: Start, Step: key, Attempt: 1})
}

// onMaintenanceEnded continues after an operation that keeps a ready deployment running.
func (u *upkeep) onMaintenanceEnded(o operation, r Result) {
	key := o.do.Step
	s := u.services.serviceState(key)
	switch {
	case o.do.Kind == Pull && r.Outcome == OutcomeOK:
		u.pulls.setPulled(key)
	case o.do.Kind == Start && r.Outcome == OutcomeOK:
		u.onServiceRestarted(key)
		// Services later in the order may need this one to be ready.
		if u.services.hasDownService() {
			u.prober.startProbing(key)
		}
	case o.do.Kind == Probe:
		u.onReprobed(key, r)
	case o.do.Kind == Stop:
		u.quiesce.onServiceStopped(o, r)
	case o.do.Kind == Remove:
		u.strays.onLeftoverRemoved(key)
	default:
		// The image may have been removed by a user: pull it before the next attempt.
		u.pulls.forgetPull(key)
		s.next = u.now.Add(retryDelay(s.tries))
		s.tries++
	}
}

// onServiceRestarted records a restart. It does not count one after we stopped the service
// ourselves.
func (u *upkeep) onServiceRestarted(key pipeline.StepKey) {
	s := u.services.serviceState(key)
	s.down, s.hushed, s.changed = false, false, u.now
	s.seen, s.runs = true, true
	if u.steps[key].Hushed {
		u.changeStep(key, wire.Event{}, func(s *StepState) { s.Hushed = false })
		return
	}
	s.restarts++
}

// onReprobed continues with the next services once a restarted one is ready or has failed
// to become so.
func (u *upkeep) onReprobed(key pipeline.StepKey, r Result) {
	t := timingOf(u.pipelineStep(key))
	switch {
	case r.Outcome == OutcomeOK && r.Exited:
		u.prober.reset()
		if u.pipelineStep(key).Service.Restart != pipeline.RestartNever {
			u.services.observeService(u.services.serviceState(key), false, false)
		}
	case r.Outcome == OutcomeOK && r.Health == wire.HealthHealthy, !u.prober.allowAnotherTry(t):
		u.prober.reset()
	default:
		u.prober.startup.next = u.now.Add(u.prober.probePause(t))
	}
}
