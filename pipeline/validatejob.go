package pipeline

import (
	"fmt"
	"path"
	"strings"
)

// checkContainerStep checks a service or a job.
func (v *validator) checkContainerStep(s Step) {
	v.kind = containerField(s)
	v.checkContainer(s.Container())
	if s.Job != nil {
		v.checkJob(s.Job)
	}
}

// containerField is the field of the step that describes its container.
func containerField(s Step) string {
	if s.Job != nil {
		return "job"
	}
	return "service"
}

// checkJob refuses what has a meaning only for a container that stays.
func (v *validator) checkJob(j *JobStep) {
	if j.Ready != nil {
		v.addProblem("job.ready", "job", "a job is done when it has ended with code 0, so it has no "+
			"readiness check; remove ready, or make the step a service")
	}
	if j.Restart != "" {
		v.addProblem("job.restart", "job", "a job runs once, so it is never restarted; remove restart, "+
			"or make the step a service")
	}
	for i, p := range j.Ports {
		if p.Expose {
			v.addProblem(fmt.Sprintf("job.ports[%d].expose", i), "job", "a job has no URL, because it "+
				"has ended when the deployment is ready; remove expose, or make the step a service")
		}
	}
	if j.TimeoutSeconds < 0 || j.TimeoutSeconds > MaxJobSeconds {
		v.addProblem("job.timeout_seconds", "range", "%d seconds; give 1 to %d, or 0 for the usual %d",
			j.TimeoutSeconds, MaxJobSeconds, DefaultJobSeconds)
	}
	if j.Tests != nil {
		v.checkTests(j.Tests)
	}
}

func (v *validator) checkTests(t *JobTests) {
	v.checkPath("job.tests.junit", t.JUnit)
	if _, err := path.Match(t.JUnit, ""); err != nil {
		v.addProblem("job.tests.junit", "pattern", "%q is not a pattern; use * for any text in a name, "+
			"? for one character and [a-z] for one of several", t.JUnit)
	}
	if folder := path.Dir(t.JUnit); folder == "/" || strings.ContainsAny(folder, `*?[\`) {
		v.addProblem("job.tests.junit", "folder", "the folder %q holds all results: name one below "+
			"/ without * ? [ or \\, such as /results/*.xml", folder)
	}
	if !oneOf(string(t.Failed), "", string(FailedTestsFail), string(FailedTestsMark)) {
		v.addProblem("job.tests.failed", "failed", "%q is unknown; use fail or mark", t.Failed)
	}
}

// andJobs names jobs in a sentence about services, if the pipeline has some.
func (v *validator) andJobs() string {
	for _, s := range v.p.Steps {
		if s.Job != nil {
			return " and jobs"
		}
	}
	return ""
}
