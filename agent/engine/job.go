package engine

import (
	"cmp"
	"fmt"
	"time"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/pipeline"
)

// Codes of jobs that fail a run.
const (
	CodeExitCode = "exit_code"
	CodeTimeout  = "timeout"
)

// A job is started like a service, and then probed until its container has ended. Once the
// engine has confirmed the start, the journal has the job's deadline, and the job is never
// started again in this run: a restarted agent only waits for its end. Until then the start
// is repeated, which is safe because the runtime starts the container of one run once
// (agent.ServiceSpec.Once). A job whose container is gone may have done its work or not, so
// the run fails, as for a plugin with an unknown outcome.

func (m *Machine) isJob(key pipeline.StepKey) bool { return m.pipelineStep(key).Job != nil }

// isLaunched reports whether the engine has confirmed the start of a job.
func (m *Machine) isLaunched(key pipeline.StepKey) bool {
	return m.isJob(key) && !m.steps[key].Deadline.IsZero() &&
		!m.hasDefect("forget that a job was started")
}

func (m *Machine) jobTimeout(key pipeline.StepKey) time.Duration {
	return time.Duration(m.pipelineStep(key).Job.Seconds()) * time.Second
}

// onJobStarted begins to wait for the job's end.
func (m *Machine) onJobStarted(key pipeline.StepKey, r Result) {
	switch r.Outcome {
	case OutcomeOK:
		m.resetRetries()
		if m.hasDefect("take a started job for done") {
			m.completeStep(key, Result{})
			return
		}
		deadline := m.now.Add(m.jobTimeout(key))
		m.changeStep(key, wire.Event{}, func(s *StepState) { s.Deadline = deadline })
		m.startProbing(key)
	case OutcomeNo:
		m.failStep(key, r)
	default:
		m.retryLater()
	}
}

// followJob probes a job when it is time to, and stops it at its deadline.
func (m *Machine) followJob(key pipeline.StepKey) {
	s := m.steps[key]
	late := !m.now.Before(s.Deadline) && !m.hasDefect("let a job run for ever")
	switch {
	case late && !m.probe.down:
		// The second attempt cannot tell whether the job or the first stop came first.
		d := StartOperation{Kind: Stop, Step: key, Attempt: 2}
		if !s.Overdue {
			m.changeStep(key, wire.Event{}, func(s *StepState) { s.Overdue = true })
			d.Attempt = 1
		}
		m.current = m.startOperation(d)
	case m.now.Before(m.probe.next):
		m.wakeAt(m.probe.next)
		if m.now.Before(s.Deadline) {
			m.wakeAt(s.Deadline)
		}
	default:
		m.current = m.startOperation(StartOperation{Kind: Probe, Step: key})
	}
}

// onJobProbed completes the step when the job has ended.
func (m *Machine) onJobProbed(key pipeline.StepKey, r Result) {
	switch {
	case r.Outcome == OutcomeUnknown:
		m.probe.next = m.now.Add(time.Second)
	case r.Outcome == OutcomeNo:
		r.Code = CodeUnknownOutcome
		r.Message = fmt.Sprintf("it is not known whether job %q completed, and it may not run twice: %s",
			key, r.Message)
		m.failStep(key, r)
	case !r.Exited:
		m.probe.next = m.now.Add(m.probePause(timingOf(m.pipelineStep(key))))
	default:
		r.Code = cmp.Or(r.Code, CodeExitCode)
		m.completeJob(key, r)
	}
}

// onJobStopped fails a job that ran beyond its deadline. One that had ended just before is
// asked for its exit code.
func (m *Machine) onJobStopped(o operation, r Result) {
	key := o.do.Step
	switch {
	case r.Outcome == OutcomeUnknown, r.Outcome == OutcomeNo && m.tries < maxAttempts:
		m.retryLater()
	case r.Outcome == OutcomeOK && r.Exited && o.do.Attempt == 1:
		m.resetRetries()
		m.changeStep(key, wire.Event{}, func(s *StepState) { s.Overdue = false })
		m.probe.down, m.probe.next = true, m.now
	default:
		// Undoing the run removes a container that did not stop.
		m.failStep(key, Result{Code: CodeTimeout, Message: fmt.Sprintf(
			"job %q did not end within %s and was stopped; give it more time with timeout_seconds",
			key, m.jobTimeout(key)), Tests: r.Tests})
	}
}
