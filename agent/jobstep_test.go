package agent_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/agent/dummy"
	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/pipeline"
)

// migrationGoal returns the shop with a job between the plugin and the web server.
func migrationGoal(deployment string) wire.Goal {
	g := shopGoal(deployment)
	web := g.Pipeline.Steps[2]
	web.Needs = []pipeline.StepKey{"migrate"}
	g.Pipeline.Steps[2] = pipeline.Step{Key: "migrate", Needs: []pipeline.StepKey{"make"},
		Job: &pipeline.JobStep{ServiceStep: pipeline.ServiceStep{Name: "web", Image: imageOf("web"),
			Command: []string{"migrate", "${{ services.db.host }}"},
			Env:     map[string]string{"PASSWORD": "${{ secrets.password }}"},
			Files:   []pipeline.File{{Path: "/etc/url", Content: "${{ steps.make.outputs.url }}"}}}}}
	g.Pipeline.Steps = append(g.Pipeline.Steps, web)
	g.Pipeline.Order, _ = pipeline.Order(g.Pipeline)
	return g
}

// endsWith makes the job end with an exit code as soon as may says so.
func endsWith(code int, may func() bool) func(agent.ServiceSpec) agent.ProbeResult {
	return func(s agent.ServiceSpec) agent.ProbeResult {
		if s.Step == "migrate" && may() {
			return agent.ProbeResult{Health: wire.HealthStopped, Ended: true, ExitCode: code}
		}
		return agent.ProbeResult{Health: wire.HealthHealthy}
	}
}

func always() bool { return true }

func TestAgent_JobStepThatEndsWell(t *testing.T) {
	p := newPlane(t)
	r := dummy.New(dummy.Hooks{Plugin: runMaker, Health: endsWith(0, always)})
	p.want(p.boot(t.TempDir(), r, nil).connect(), migrationGoal("d1"))
	p.untilPhase("d1", wire.PhaseReady)
	s, _ := r.Service("d1", "migrate")
	if !s.Once || s.SecretEnv["PASSWORD"] != password || s.Command[1] != "db" ||
		s.Files[0].Content == "" {
		t.Errorf("the job was started as %+v", s)
	}
	p.until("the measurement of the services", func() bool { return len(p.vitals.Services) == 2 })
	if slices.ContainsFunc(p.vitals.Services, func(v wire.ServiceVitals) bool {
		return v.Step == "migrate"
	}) {
		t.Errorf("a job that is done is measured: %+v", p.vitals.Services)
	}
}

// The error of a failed job says what its log says, and the step's log has its last lines.
func TestAgent_JobStepThatFails(t *testing.T) {
	p := newPlane(t)
	var r *dummy.Runtime
	r = dummy.New(dummy.Hooks{Plugin: runMaker, Health: func(s agent.ServiceSpec) agent.ProbeResult {
		if s.Step != "migrate" {
			return agent.ProbeResult{Health: wire.HealthHealthy}
		}
		r.AppendLog(s.Deployment, s.Step, "failed to connect with "+password)
		r.AppendLog(s.Deployment, s.Step, "column   exists")
		return agent.ProbeResult{Health: wire.HealthStopped, Ended: true, ExitCode: 3}
	}})
	n := p.boot(t.TempDir(), r, nil)
	p.want(n.connect(), migrationGoal("d1"))
	p.untilPhase("d1", wire.PhaseFailed)
	want := "migrate failed exit_code the job ended with exit code 3; " +
		"its log says: failed to connect with [secret]\n"
	if !strings.Contains(p.story()+"\n", want) {
		t.Errorf("the reason is missing:%s", p.story())
	}
	p.until("the last lines", func() bool {
		return slices.ContainsFunc(n.lines, func(l wire.LogLine) bool {
			return l.Step == "migrate" && l.Text == "column   exists"
		})
	})
	if log := r.OperationLog(); slices.Contains(log, "start web") {
		t.Errorf("the next step was started: %v", log)
	}
}

// A job that takes too long says what its log says, and no name of a field.
func TestAgent_JobStepThatTakesTooLong(t *testing.T) {
	p := newPlane(t)
	var r *dummy.Runtime
	r = dummy.New(dummy.Hooks{Plugin: runMaker, Health: func(s agent.ServiceSpec) agent.ProbeResult {
		if s.Step == "migrate" {
			r.AppendLog(s.Deployment, s.Step, "ERROR: the lock of "+password+" is held")
		}
		return agent.ProbeResult{Health: wire.HealthHealthy}
	}})
	goal := migrationGoal("d1")
	goal.Pipeline.Steps[2].Job.TimeoutSeconds = 1
	p.want(p.boot(t.TempDir(), r, nil).connect(), goal)
	p.untilPhase("d1", wire.PhaseFailed)
	want := "migrate failed timeout the job did not end within 1 second and was stopped; " +
		"its log says: ERROR: the lock of [secret] is held\n"
	// promise: U-01
	if !strings.Contains(p.story()+"\n", want) {
		t.Errorf("the reason is missing:%s", p.story())
	}
}

// A restarted agent waits for the job that is running, and does not start one again that has
// ended while it was away.
func TestAgent_JobStepOutlivesTheAgent(t *testing.T) {
	for _, endsMeanwhile := range []bool{false, true} {
		p := newPlane(t)
		dir, ended := t.TempDir(), false
		may := func() bool {
			p.mu.Lock()
			defer p.mu.Unlock()
			return ended
		}
		r := dummy.New(dummy.Hooks{Plugin: runMaker, Health: endsWith(0, may)})
		n := p.boot(dir, r, nil)
		p.want(n.connect(), migrationGoal("d1"))
		p.until("the job's sign of life", func() bool { return p.signs["migrate"] > 0 })
		n.stop()
		if endsMeanwhile {
			r.CrashService("d1", "migrate", 0)
		}
		p.boot(dir, r, nil).connect()
		if !endsMeanwhile {
			p.update(func() { ended = true })
		}
		p.untilPhase("d1", wire.PhaseReady)
		if n := strings.Count(strings.Join(r.OperationLog(), ","), "start migrate"); n != 1 {
			t.Errorf("ends meanwhile %t: the job was started %d times", endsMeanwhile, n)
		}
	}
}
