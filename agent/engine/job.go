package engine

import (
	"cmp"
	"fmt"
	"time"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/internal/quantity"
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

// jobs starts jobs and judges their ends.
type jobs struct{ *run }

func (j *jobs) jobTimeout(key pipeline.StepKey) time.Duration {
	return time.Duration(j.pipelineStep(key).Job.Seconds()) * time.Second
}

// onJobStarted begins to wait for the job's end.
func (j *jobs) onJobStarted(key pipeline.StepKey, r Result) {
	switch r.Outcome {
	case OutcomeOK:
		j.resetRetries()
		if j.hasDefect("take a started job for done") {
			j.completeStep(key, Result{})
			return
		}
		deadline := j.now.Add(j.jobTimeout(key))
		j.changeStep(key, wire.Event{}, func(s *StepState) { s.Deadline = deadline })
		j.prober.startProbing(key)
	case OutcomeNo:
		j.failStep(key, r)
	default:
		j.retryLater()
	}
}

// onJobProbed completes the step when the job has ended.
func (j *jobs) onJobProbed(key pipeline.StepKey, r Result) {
	switch {
	case r.Outcome == OutcomeUnknown:
		j.prober.startup.next = j.now.Add(time.Second)
	case r.Outcome == OutcomeNo:
		r.Code = CodeUnknownOutcome
		r.Message = fmt.Sprintf("it is not known whether job %q completed, and it may not run twice: %s",
			key, r.Message)
		j.failStep(key, r)
	case !r.Exited:
		j.prober.startup.next = j.prober.nextQuestion(timingOf(j.pipelineStep(key)))
	default:
		r.Code = cmp.Or(r.Code, CodeExitCode)
		j.completeJob(key, r)
	}
}

// onJobStopped fails a job that ran beyond its deadline. One that had ended just before is
// asked for its exit code.
func (j *jobs) onJobStopped(o operation, r Result) {
	key := o.do.Step
	switch {
	case r.Outcome == OutcomeUnknown, r.Outcome == OutcomeNo && j.tries < maxAttempts:
		j.retryLater()
	case r.Outcome == OutcomeOK && r.Exited && o.do.Attempt == 1:
		j.resetRetries()
		j.changeStep(key, wire.Event{}, func(s *StepState) { s.Overdue = false })
		j.prober.startup.down, j.prober.startup.next = true, j.now
	default:
		// Undoing the run removes a container that did not stop.
		said := ""
		if r.Outcome == OutcomeOK {
			said = r.Message
		}
		j.failStep(key, Result{Code: CodeTimeout, Message: fmt.Sprintf(
			"the job did not end within %s and was stopped%s",
			quantity.FormatDuration(j.jobTimeout(key)), said), Tests: r.Tests})
	}
}
