package compose

import (
	"cmp"
	"slices"
	"strings"

	"github.com/compose-spec/compose-go/v2/types"

	"github.com/nullops/nullops/pipeline"
)

// jobReason is why a service becomes a job step, and the field that says so, if one does.
type jobReason struct{ field, text string }

// findJobs decides which services become job steps: those whose end others wait for, and
// one-shots. A one-shot is never restarted, and nothing needs it while it runs.
func (r *composeReader) findJobs() {
	r.jobs = map[string]jobReason{}
	for _, name := range r.project.ServiceNames() {
		s := r.project.Services[name]
		waiting := r.dependents(name, types.ServiceConditionCompletedSuccessfully)
		policy, field := restartPolicy(s)
		switch {
		case len(waiting) > 0:
			r.jobs[name] = jobReason{text: waiting[0] + " waits for its end"}
		case isJobMode(s):
			r.jobs[name] = jobReason{"deploy", "its mode is " + s.Deploy.Mode}
		case policy == "no" && !isServer(s) && r.findUser(name) == "":
			r.jobs[name] = jobReason{field, "it is not restarted, and nothing needs it while it runs"}
		}
	}
}

// isServer reports whether a service says that it keeps running: it has a port or a health check.
func isServer(s types.ServiceConfig) bool {
	checked := s.HealthCheck != nil && !s.HealthCheck.Disable
	return len(s.Ports) > 0 || len(s.Expose) > 0 || checked
}

// findUser says which other service needs one while it runs, and how; empty if none does.
func (r *composeReader) findUser(name string) string {
	for _, condition := range []string{types.ServiceConditionStarted,
		types.ServiceConditionHealthy} {
		if waiting := r.dependents(name, condition); len(waiting) > 0 {
			return waiting[0] + " waits until it has started, not until it has completed successfully"
		}
	}
	if other := r.findHostUser(name); other != "" {
		return other + " names it as a host"
	}
	return ""
}

// dependents are the services that wait for another one in this way.
func (r *composeReader) dependents(on, condition string) []string {
	var all []string
	for _, name := range r.project.ServiceNames() {
		if d, ok := r.project.Services[name].DependsOn[on]; ok && d.Condition == condition {
			all = append(all, name)
		}
	}
	return all
}

// findHostUser is a service with a variable that holds the host name of another one.
func (r *composeReader) findHostUser(host string) string {
	for _, name := range r.project.ServiceNames() {
		for variable, value := range r.project.Services[name].Environment {
			if name != host && value != nil && renameHost(variable, *value, host, "") != *value {
				return name
			}
		}
	}
	return ""
}

func (r *composeReader) isJob(name string) bool {
	_, ok := r.jobs[name]
	return ok
}

// isJobMode reports whether the service is a job of a swarm.
func isJobMode(s types.ServiceConfig) bool {
	return s.Deploy != nil && strings.HasSuffix(s.Deploy.Mode, "-job")
}

// restartPolicy is the policy that counts, and the field that says it: deploy wins, as in Compose.
func restartPolicy(s types.ServiceConfig) (policy, field string) {
	if s.Deploy == nil || s.Deploy.RestartPolicy == nil {
		return s.Restart, "restart"
	}
	switch policy = s.Deploy.RestartPolicy.Condition; policy {
	case "none":
		policy = "no"
	case "", "any":
		policy = "always"
	}
	return policy, "deploy"
}

// readRestart differs from Compose, where a service without the field stays down.
func (r *composeReader) readRestart(s types.ServiceConfig) pipeline.Restart {
	policy, field := restartPolicy(s)
	r.noteOtherRestart(s, field)
	switch policy {
	case "no":
		if user := r.findUser(s.Name); user != "" && !isServer(s) {
			r.addNote(s.Name, field, "it stays a service and becomes no job step, since %s", user)
		}
		return pipeline.RestartNever
	case "always", "unless-stopped":
	case "":
		r.addNote(s.Name, field, `it is restarted whenever it ends; write restart: "no" if it `+
			"should stay down, as it would in Compose")
	default:
		r.addNote(s.Name, field, "%s is not supported; it is restarted whenever it ends", policy)
	}
	return ""
}

// noteOtherRestart lists a restart that does not count.
func (r *composeReader) noteOtherRestart(s types.ServiceConfig, field string) {
	if field != "restart" && s.Restart != "" {
		r.addNote(s.Name, "restart", "%s does not count, since deploy.restart_policy does", s.Restart)
	}
}

// readJob says why a service becomes a job, and lists what it has and a job cannot have.
func (r *composeReader) readJob(
	s types.ServiceConfig,
	container pipeline.ServiceStep,
) *pipeline.JobStep {
	reason := r.jobs[s.Name]
	r.addNote(s.Name, reason.field, "it becomes a job step, since %s; it may take %d seconds",
		reason.text, pipeline.DefaultJobSeconds)
	policy, field := restartPolicy(s)
	r.noteOtherRestart(s, field)
	if policy != "" && policy != "no" {
		r.addNote(s.Name, field, "%s is not carried over: a job is not restarted, and runs again when "+
			"the deployment is retried", policy)
	}
	for _, p := range s.Ports {
		r.addNote(s.Name, "ports", "%d is left out, since a job has no ports", p.Target)
	}
	for _, port := range s.Expose {
		r.addNote(s.Name, "expose", "%s is left out, since a job has no ports", port)
	}
	if s.HealthCheck != nil {
		r.addNote(s.Name, "healthcheck", "it is left out, since a job is done when it has ended with "+
			"code 0")
	}
	return &pipeline.JobStep{ServiceStep: container}
}

// noteCondition lists an edge to a job that does not wait for its end in Compose.
func (r *composeReader) noteCondition(s types.ServiceConfig, on string) {
	condition := s.DependsOn[on].Condition
	if r.isJob(on) && condition != types.ServiceConditionCompletedSuccessfully {
		r.addNote(s.Name, "depends_on", "it waits until %s, a job step, has ended with code 0, and not "+
			"for %s", on, cmp.Or(condition, types.ServiceConditionStarted))
	}
}

// noteMode lists the modes of a swarm that have no meaning here.
func (r *composeReader) noteMode(s types.ServiceConfig) {
	usual := []string{"", "replicated"}
	if s.Deploy != nil && !slices.Contains(usual, s.Deploy.Mode) && !isJobMode(s) {
		r.addNote(s.Name, "deploy", "the mode %s is not carried over; one copy runs", s.Deploy.Mode)
	}
}
