package engine

import (
	"cmp"
	"fmt"
	"time"

	"github.com/nullops/nullops/agent/wire"
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
	earliestProbe = 50 * time.Millisecond
)

// serviceStartup is the start-up of one service, or a job until its end.
type serviceStartup struct {
	step pipeline.StepKey
	// since is when the service was first started, started when it last was.
	since   time.Time
	started time.Time
	tries   int
	next    time.Time
	// counted is when the last check was made that counts as a try.
	counted time.Time
	// down says that the service ended and is started again at next; of a job, that it ended
	// and is asked for its exit code.
	down     bool
	restarts int
}

func (m *Machine) startProbing(key pipeline.StepKey) {
	m.probe = &serviceStartup{step: key, since: m.now, started: m.now, next: m.now}
}

// continueProbing asks a started service when it is time to, or starts one again
// that ended during its start-up.
func (m *Machine) continueProbing() {
	if m.isJob(m.probe.step) {
		m.followJob(m.probe.step)
		return
	}
	if m.now.Before(m.probe.next) {
		m.wakeAt(m.probe.next)
		return
	}
	if m.probe.down {
		key := m.probe.step
		m.current = m.startOperation(
			StartOperation{Kind: Start, Step: key, Attempt: m.steps[key].Attempt},
		)
		return
	}
	m.current = m.startOperation(StartOperation{Kind: Probe, Step: m.probe.step})
}

func (m *Machine) onServiceStarted(key pipeline.StepKey, r Result) {
	m.serviceState(key).changed = m.now
	switch r.Outcome {
	case OutcomeOK:
		m.resetRetries()
		if m.hasDefect("ready before probe") {
			m.completeStep(key, Result{})
			return
		}
		if m.probe == nil {
			m.startProbing(key)
			return
		}
		m.probe.down, m.probe.started, m.probe.next = false, m.now, m.now
	case OutcomeNo:
		m.failStep(key, r)
	default:
		m.retryLater()
	}
}

func (m *Machine) onStartupProbed(key pipeline.StepKey, r Result) {
	t := timingOf(m.pipelineStep(key))
	switch {
	case r.Outcome == OutcomeUnknown:
		// The engine could not be asked, so this does not count as a try.
		m.probe.next = m.now.Add(t.interval)
	case r.Exited:
		m.onServiceExited(key, r, t)
	case r.Health == wire.HealthHealthy:
		m.onServiceHealthy(key, r, t)
	case m.allowAnotherTry(t):
		m.probe.next = m.now.Add(m.probePause(t))
	default:
		r.Code = CodeNotReady
		r.Message = fmt.Sprintf("service %q is not ready after %d checks: %s",
			key, m.probe.tries, r.Message)
		m.failStep(key, r)
	}
}

// onServiceHealthy completes the step. A service without a readiness check is
// only known to run, so it has to stay up for a while first.
func (m *Machine) onServiceHealthy(key pipeline.StepKey, r Result, t readinessTiming) {
	missing := time.Duration(0)
	if m.pipelineStep(key).Service.Ready == nil {
		missing = observeFor - m.now.Sub(m.processStart(r))
	}
	if missing <= 0 {
		m.completeStep(key, Result{})
		return
	}
	m.probe.next = m.now.Add(min(missing, m.probePause(t)))
}

// processStart is when the service's process started. The engine knows it even if the agent
// was restarted; a time in the future comes from another clock and is ignored.
func (m *Machine) processStart(r Result) time.Time {
	if r.StartedAt.IsZero() || r.StartedAt.After(m.now) {
		return m.probe.started
	}
	return r.StartedAt
}

// onServiceExited decides about a service that ended during its start-up. Unless
// it may end, the run fails, or the service is restarted while there is time.
func (m *Machine) onServiceExited(key pipeline.StepKey, r Result, t readinessTiming) {
	r.Code = cmp.Or(r.Code, CodeServiceExited)
	if m.pipelineStep(key).Service.Restart == pipeline.RestartNever {
		if m.mayEnd(key, r) {
			m.serviceState(key).finished = true
			m.completeStep(key, Result{})
			return
		}
		m.failStep(key, r)
		return
	}
	next := m.now.Add(min(retryDelay(m.probe.restarts), longestStartPause))
	if next.Sub(m.probe.since) <= t.restart {
		m.probe.down, m.probe.next = true, next
		m.probe.restarts++
		return
	}
	if m.probe.restarts > 0 {
		r.Message += fmt.Sprintf("; it was started again %s within %s",
			countTimes(m.probe.restarts), m.now.Sub(m.probe.since).Round(time.Second))
	}
	m.failStep(key, r)
}

// mayEnd reports whether a service that ended was declared to: one that is never
// restarted may be a job, which has done its work when it ends with code 0.
func (m *Machine) mayEnd(key pipeline.StepKey, r Result) bool {
	return m.pipelineStep(key).Service.Restart == pipeline.RestartNever &&
		r.ExitCode != nil && *r.ExitCode == 0
}

func countTimes(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// allowAnotherTry counts a failed check and reports whether the service may be checked
// again.
func (m *Machine) allowAnotherTry(t readinessTiming) bool {
	if m.now.Sub(m.probe.since) < t.start {
		return true
	}
	if m.probe.tries > 0 && m.now.Sub(m.probe.counted) < t.interval {
		return true
	}
	m.probe.tries++
	m.probe.counted = m.now
	return m.probe.tries < t.tries
}

// probePause is an eighth of the time since the start, up to the interval, so that a
// service that starts in half a second is not waited for much longer. These early checks do
// not count as tries.
func (m *Machine) probePause(t readinessTiming) time.Duration {
	return min(max(m.now.Sub(m.probe.started)/8, earliestProbe), t.interval)
}

// readinessTiming is a service's readiness with the defaults filled in.
type readinessTiming struct {
	interval time.Duration
	start    time.Duration
	tries    int
	// restart is how long after its first start a service may be restarted.
	restart time.Duration
}

func timingOf(s pipeline.Step) readinessTiming {
	t := readinessTiming{interval: time.Second, tries: 60, restart: restartWithin}
	if s.Service == nil || s.Service.Ready == nil {
		return t
	}
	r := s.Service.Ready
	if r.IntervalSeconds > 0 {
		t.interval = time.Duration(r.IntervalSeconds) * time.Second
	}
	if r.Retries > 0 {
		t.tries = r.Retries
	}
	t.start = time.Duration(r.StartPeriodSeconds) * time.Second
	t.restart = t.start + time.Duration(t.tries)*t.interval
	return t
}
