package engine

import (
	"cmp"
	"fmt"
	"time"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/internal/quantity"
	"github.com/nullops/nullops/pipeline"
)

const (
	// observeFor is how long a service without a readiness check must stay up before its step is
	// done: a started process alone proves nothing.
	observeFor = 5 * time.Second
	// restartWithin is how long such a service may be started again and again.
	// A service with a readiness check has as long as its checks may take.
	restartWithin = 30 * time.Second
	// longestStartPause keeps restarts during a start-up close together: what
	// the service waits for, such as a database, is usually there soon.
	longestStartPause = 5 * time.Second
	// earliestProbe keeps the checks of a service that has just started apart.
	earliestProbe = 10 * time.Millisecond
)

// serviceStarts starts services, and jobs, and decides when a service's step is done.
type serviceStarts struct {
	*run
	services  *serviceTable
	sandboxes *sandboxes
}

// startService starts a service or a job. It may be repeated: the runtime adopts what is
// there.
func (v *serviceStarts) startService(key pipeline.StepKey) {
	if !v.steps[key].Started {
		v.changeStep(key, wire.Event{}, func(s *StepState) {
			s.Started, s.Attempt, s.Status = true, 1, pipeline.StepRunning
		})
	}
	v.sandboxes.use(key, "create")
	v.current = v.startOperation(StartOperation{Kind: Start, Step: key, Attempt: v.steps[key].Attempt})
	v.sandboxes.prepareForRun(key)
}

func (v *serviceStarts) onServiceStarted(key pipeline.StepKey, r Result) {
	v.services.serviceState(key).changed = v.now
	switch r.Outcome {
	case OutcomeOK:
		v.resetRetries()
		if v.hasDefect("ready before probe") {
			v.completeStep(key, Result{})
			return
		}
		if v.prober.startup == nil {
			v.prober.startProbing(key)
			return
		}
		v.prober.startup.down, v.prober.startup.started, v.prober.startup.next = false, v.now, v.now
	case OutcomeNo:
		v.failStep(key, r)
	default:
		v.retryLater()
	}
}

func (v *serviceStarts) onStartupProbed(key pipeline.StepKey, r Result) {
	t := timingOf(v.pipelineStep(key))
	switch {
	case r.Outcome == OutcomeUnknown:
		// The engine could not be asked, so this does not count as a try.
		v.prober.startup.next = v.now.Add(t.interval)
	case r.Exited:
		v.onServiceExited(key, r, t)
	case r.Health == wire.HealthHealthy:
		v.onServiceHealthy(key, r, t)
	case v.prober.allowAnotherTry(t):
		v.prober.startup.next = v.now.Add(v.prober.probePause(t))
	default:
		r.Code = CodeNotReady
		r.Message = fmt.Sprintf("the service is not ready after %s: %s",
			countChecks(v.prober.startup.tries), r.Message)
		v.failStep(key, r)
	}
}

// onServiceHealthy completes the step. A service without a readiness check is
// only known to run, so it has to stay up for a while first.
func (v *serviceStarts) onServiceHealthy(key pipeline.StepKey, r Result, t readinessTiming) {
	missing := time.Duration(0)
	if v.pipelineStep(key).Service.Ready == nil {
		missing = observeFor - v.now.Sub(v.prober.processStart(r))
	}
	if missing <= 0 {
		v.completeStep(key, Result{})
		return
	}
	v.prober.startup.next = v.now.Add(min(missing, v.prober.probePause(t)))
}

// onServiceExited decides about a service that ended during its start-up. Unless
// it may end, the run fails, or the service is restarted while there is time.
func (v *serviceStarts) onServiceExited(key pipeline.StepKey, r Result, t readinessTiming) {
	r.Code = cmp.Or(r.Code, CodeServiceExited)
	if v.pipelineStep(key).Service.Restart == pipeline.RestartNever {
		if v.mayEnd(key, r) {
			v.services.serviceState(key).finished = true
			v.completeStep(key, Result{})
			return
		}
		v.failStep(key, r)
		return
	}
	next := v.now.Add(min(retryDelay(v.prober.startup.restarts), longestStartPause))
	if next.Sub(v.prober.startup.since) <= t.restart {
		v.prober.startup.down, v.prober.startup.next = true, next
		v.prober.startup.restarts++
		return
	}
	if v.prober.startup.restarts > 0 {
		r.Message += fmt.Sprintf("; it was started again %s within %s",
			countTimes(v.prober.startup.restarts),
			quantity.FormatDuration(v.now.Sub(v.prober.startup.since).Round(time.Second)))
	}
	v.failStep(key, r)
}

func countChecks(n int) string {
	if n == 1 {
		return "one check"
	}
	return fmt.Sprintf("%d checks", n)
}

func countTimes(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}
