package engine

import (
	"cmp"
	"slices"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/pipeline"
)

// A service whose step is done may exit while later steps of the run start. It is restarted
// at once if it may be restarted, because later steps may need it. Otherwise its exit fails
// the run, unless it is a job that exited with code 0.

// crashes handles services that end after their step is done, while the run is being applied.
type crashes struct {
	*run
	services *serviceTable
}

// findCrashed records which services of completed steps are no longer running.
func (c *crashes) findCrashed(l ObjectsListed) {
	if c.work.Still {
		return
	}
	for _, key := range c.order {
		if c.pipelineStep(key).Service == nil || !c.steps[key].Done || c.endedElsewhere(key) {
			continue
		}
		s := c.services.serviceState(key)
		if s.finished {
			continue
		}
		busy := c.current != nil && c.current.do.Step == key
		if busy || !s.changed.IsZero() && !l.Began.After(s.changed) {
			continue
		}
		missing := !l.Network || slices.Contains(l.Missing, key)
		c.services.observeService(s, slices.Contains(l.Running, key), missing)
	}
}

// endedElsewhere reports whether a service may have ended on the node that the
// deployment comes from: then it was never started here.
func (c *crashes) endedElsewhere(key pipeline.StepKey) bool {
	return c.work.Elsewhere && c.pipelineStep(key).Service.Restart == pipeline.RestartNever
}

// handleCrashed does the next thing about a service that ended after its step
// was done, and reports whether there was any.
func (c *crashes) handleCrashed() bool {
	for _, key := range c.order {
		s := c.services.byStep[key]
		if s == nil || !s.down || !c.steps[key].Done {
			continue
		}
		if c.pipelineStep(key).Service.Restart == pipeline.RestartNever {
			// The exit code is in the container, and the list may be old.
			c.current = c.startOperation(StartOperation{Kind: Probe, Step: key})
			return true
		}
		if c.now.Before(s.next) {
			c.wakeAt(s.next)
			continue
		}
		c.current = c.startOperation(
			StartOperation{Kind: Start, Step: key, Attempt: c.steps[key].Attempt},
		)
		return true
	}
	return false
}

// onCrashHandled continues after an operation that handleCrashed started.
func (c *crashes) onCrashHandled(o operation, r Result) {
	s := c.services.serviceState(o.do.Step)
	switch {
	case o.do.Kind == Start && r.Outcome == OutcomeOK:
		s.down, s.changed = false, c.now
		s.restarts++
	case o.do.Kind == Start:
		s.next = c.now.Add(retryDelay(s.tries))
		s.tries++
	case r.Outcome == OutcomeUnknown:
		c.retryLater()
	case r.Exited && c.mayEnd(o.do.Step, r):
		c.resetRetries()
		s.down, s.finished = false, true
	case r.Exited || r.Health == wire.HealthStopped:
		r.Code = cmp.Or(r.Code, CodeServiceExited)
		c.failStep(o.do.Step, r)
	default:
		c.resetRetries()
		s.down, s.changed = false, c.now
	}
}
