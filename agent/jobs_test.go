package agent_test

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/agent/dummy"
	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/pipeline"
)

// jobGoal returns the shop with a service that is never restarted.
func jobGoal(deployment string) wire.Goal {
	g := shopGoal(deployment)
	g.Pipeline.Steps[0].Service.Restart = pipeline.RestartNever
	return g
}

// A service that may end has done its work when it ends well, and stays healthy:
// a deployment is not degraded because its migration is over.
func TestAgent_JobThatEndsWellIsDone(t *testing.T) {
	p := newPlane(t)
	r := dummy.New(dummy.Hooks{Plugin: runMaker, Health: func(s agent.ServiceSpec) agent.ProbeResult {
		if s.Step == "db" {
			return agent.ProbeResult{Health: wire.HealthStopped, Ended: true}
		}
		return agent.ProbeResult{Health: wire.HealthHealthy}
	}})
	p.want(p.boot(t.TempDir(), r, nil).connect(), jobGoal("d1"))
	p.untilPhase("d1", wire.PhaseReady)
	p.until("the health of the job", func() bool {
		return slices.ContainsFunc(p.vitals.Services, func(s wire.ServiceVitals) bool {
			return s.Step == "db" && s.Health == wire.HealthHealthy && s.Ended &&
				s.Detail == "it ended with exit code 0"
		})
	})
}

// One that ends badly fails the run, as any other service does, and the step's
// log keeps its last lines.
func TestAgent_JobThatEndsBadlyFails(t *testing.T) {
	p := newPlane(t)
	var r *dummy.Runtime
	r = dummy.New(dummy.Hooks{Plugin: runMaker, Health: func(s agent.ServiceSpec) agent.ProbeResult {
		r.AppendLog(s.Deployment, s.Step, "the schema is too old")
		return agent.ProbeResult{Health: wire.HealthStopped, Ended: true, ExitCode: 4}
	}})
	n := p.boot(t.TempDir(), r, nil)
	p.want(n.connect(), jobGoal("d1"))
	p.untilPhase("d1", wire.PhaseFailed)
	if !strings.Contains(p.story(), "db failed service_exited the service ended with exit code 4") {
		t.Errorf("the reason is missing:%s", p.story())
	}
	p.until("the last lines", func() bool {
		return slices.ContainsFunc(n.lines, func(l wire.LogLine) bool {
			return l.Step == "db" && l.Text == "the schema is too old"
		})
	})
}

// A service that exits until its database answers is started again.
func TestAgent_ServiceMayExitDuringItsStart(t *testing.T) {
	p := newPlane(t)
	var exits atomic.Int32
	r := dummy.New(dummy.Hooks{Plugin: runMaker, Health: func(s agent.ServiceSpec) agent.ProbeResult {
		if s.Step == "db" && exits.Add(1) <= 2 {
			return agent.ProbeResult{Health: wire.HealthStopped, Ended: true, ExitCode: 1}
		}
		return agent.ProbeResult{Health: wire.HealthHealthy}
	}})
	p.want(p.boot(t.TempDir(), r, nil).connect(), shopGoal("d1"))
	p.untilPhase("d1", wire.PhaseReady)
	if n := strings.Count(strings.Join(r.OperationLog(), ","), "start db"); n != 3 {
		t.Errorf("the database was started %d times", n)
	}
}

// Once it ended it stays ended, while others beside it are started again.
func TestAgent_JobStaysEnded(t *testing.T) {
	p := newPlane(t)
	r := dummy.New(dummy.Hooks{Plugin: runMaker})
	p.want(p.boot(t.TempDir(), r, nil).connect(), jobGoal("d1"))
	p.untilPhase("d1", wire.PhaseReady)
	r.CrashService("d1", "db", 1)
	r.CrashService("d1", "web", 1)
	p.until("the restart of the other", func() bool {
		for _, s := range p.vitals.Services {
			if s.Step == "web" && s.Restarts == 1 {
				return true
			}
		}
		return false
	})
	if n := strings.Count(strings.Join(r.OperationLog(), ","), "start db"); n != 1 {
		t.Errorf("the job was started %d times", n)
	}
}

// recordSpecs returns runMaker with a recorder of what it was run with.
func recordSpecs(specs chan<- agent.PluginSpec) func(context.Context, agent.PluginSpec, []byte,
	func(string)) agent.PluginResult {
	return func(ctx context.Context, p agent.PluginSpec, stdin []byte, line func(string),
	) agent.PluginResult {
		specs <- p
		return runMaker(ctx, p, stdin, line)
	}
}

// A step's own limits, network and time replace what the plugin declares.
func TestAgent_PluginStepReplacesLimits(t *testing.T) {
	p := newPlane(t)
	specs := make(chan agent.PluginSpec, 4)
	r := dummy.New(dummy.Hooks{Plugin: recordSpecs(specs)})
	g := shopGoal("d1")
	plugin := g.Pipeline.Steps[1].Plugin
	off := false
	plugin.Component.Resources = pipeline.Resources{CPU: 1, MemoryMiB: 64}
	plugin.Component.TimeoutSeconds = 9
	plugin.Resources, plugin.Network = &pipeline.Resources{MemoryMiB: 96}, &off
	plugin.TimeoutSeconds = 7
	p.want(p.boot(t.TempDir(), r, nil).connect(), g)
	p.untilPhase("d1", wire.PhaseReady)
	got := <-specs
	if got.Resources != (pipeline.Resources{CPU: 1, MemoryMiB: 96}) || got.Network ||
		got.Timeout.Seconds() != 7 {
		t.Errorf("ran with %+v", got)
	}
}
