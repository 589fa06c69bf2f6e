package pipeline

import "cmp"

// JobStep runs one container to its end: a migration, seed data, a test suite. The steps
// that need it start only after it has ended with exit code 0; any other code fails the run.
type JobStep struct {
	// ServiceStep describes the container. A job has no readiness check, no restart and no
	// exposed port, because nothing of it is left once it is done.
	ServiceStep
	// TimeoutSeconds is how long the job may run before it is stopped and the run fails; zero
	// means DefaultJobSeconds.
	TimeoutSeconds int `json:"timeout_seconds,omitempty"`
	// Tests says that the job leaves the results of a test suite.
	Tests *JobTests `json:"tests,omitempty"`
}

// JobTests is where a job leaves its test results, and what a failed test means.
type JobTests struct {
	// JUnit is the absolute path of a file in the container, or a glob such as /results/*.xml.
	JUnit string `json:"junit"`
	// Failed is what failed tests mean for the run; empty means FailedTestsFail.
	Failed FailedTests `json:"failed,omitempty"`
}

// FailedTests says what failed tests mean for a run.
type FailedTests string

// The two meanings: the run fails, or continues and is marked.
const (
	FailedTestsFail FailedTests = "fail"
	FailedTestsMark FailedTests = "mark"
)

// Limits of a job's time.
const (
	DefaultJobSeconds = 600
	MaxJobSeconds     = maxSeconds
)

// Seconds is how long the job may run.
func (j *JobStep) Seconds() int { return cmp.Or(j.TimeoutSeconds, DefaultJobSeconds) }

// Container is the container that a service or a job describes, or nil for steps of another
// kind. Code that treats both alike uses it instead of Service.
func (s Step) Container() *ServiceStep {
	switch {
	case s.Service != nil:
		return s.Service
	case s.Job != nil:
		return &s.Job.ServiceStep
	default:
		return nil
	}
}

// WithContainer returns a copy of the step whose container was edited; the step itself does
// not change. A step without a container is returned as it is.
func (s Step) WithContainer(edit func(*ServiceStep)) Step {
	switch {
	case s.Service != nil:
		service := *s.Service
		edit(&service)
		s.Service = &service
	case s.Job != nil:
		job := *s.Job
		edit(&job.ServiceStep)
		s.Job = &job
	}
	return s
}

// FormatOf is the number of the oldest form that can hold the pipeline, so that older
// readers refuse only what they would misunderstand.
func FormatOf(p Pipeline) int {
	if len(p.Input) > 0 {
		return 4
	}
	format := 1
	for _, s := range p.Steps {
		switch {
		case s.Script != nil:
			return 3
		case s.Job != nil:
			format = 2
		}
	}
	return format
}

// PeakResources is the most that the services and jobs of the pipeline use together at any
// time: steps run one after the other, a service stays, and a job has ended when the next step
// starts. Steps that wait for each other in a circle count as if all of them ran at once.
func PeakResources(p Pipeline) Resources {
	var running, peak Resources
	keys, err := Order(p)
	for _, s := range stepsInOrder(p, keys, err) {
		c := s.Container()
		if c == nil {
			continue
		}
		with := Resources{CPU: running.CPU + c.Resources.CPU,
			MemoryMiB: running.MemoryMiB + c.Resources.MemoryMiB}
		peak.CPU, peak.MemoryMiB = max(peak.CPU, with.CPU), max(peak.MemoryMiB, with.MemoryMiB)
		if s.Job == nil || err != nil {
			running = with
		}
	}
	return peak
}

// stepsInOrder returns the steps in the order of the keys, or as they are listed if there is
// no order.
func stepsInOrder(p Pipeline, keys []StepKey, err error) []Step {
	if err != nil {
		return p.Steps
	}
	all := make([]Step, 0, len(keys))
	for _, key := range keys {
		s, _ := p.Step(key)
		all = append(all, s)
	}
	return all
}
