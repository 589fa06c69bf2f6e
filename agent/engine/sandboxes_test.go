package engine_test

import (
	"testing"

	"github.com/nullops/nullops/agent/engine"
	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/pipeline"
)

// What makes a container of a service or a job must be known before its turn, or it is made then.
func TestSandboxes_OfServicesAndJobs(t *testing.T) {
	for name, c := range map[string]struct {
		step pipeline.ServiceStep
		want int
	}{
		"plain":        {pipeline.ServiceStep{Command: []string{"${{ deployment.name }}"}}, 1},
		"late values":  {pipeline.ServiceStep{Env: map[string]string{"A": late}}, 1},
		"late command": {pipeline.ServiceStep{Command: []string{"--to=" + late}}, 0},
		"own check":    {pipeline.ServiceStep{Ready: &pipeline.Readiness{Image: true}}, 0},
		"gpus":         {pipeline.ServiceStep{GPUs: &pipeline.GPUs{Count: 1}}, 0},
		"shared volume": {pipeline.ServiceStep{Volumes: []pipeline.Volume{{Name: "v", Path: "/v",
			Shared: "site"}}}, 0},
	} {
		p := pluginPipeline(false)
		for i := range p.Steps {
			switch p.Steps[i].Key {
			case "b":
				p.Steps[i].Plugin, p.Steps[i].Job = nil, &pipeline.JobStep{ServiceStep: c.step}
			case "web":
				p.Steps[i].Service = &c.step
			}
		}
		code := 0
		s := newStory(t, map[string]func(int) engine.Result{"probe b": func(int) engine.Result {
			return engine.Result{Outcome: engine.OutcomeOK, Exited: true, ExitCode: &code}
		}})
		s.LimitSandboxes(2)
		s.play(presentGoal(p), wire.PhaseReady)
		if s.counts["create_ahead create b"] != c.want || s.counts["create_ahead create web"] != c.want {
			t.Errorf("%s: it did %v", name, s.counts)
		}
		s.expect(name, "0 run create a", "0 start b", "0 start web")
	}
}

// late is known only when the plugin has run.
const late = "${{ steps.a.outputs.url }}"

// Registries are asked while the network is made: the answer to that is not here yet.
func TestPulls_BeginWithTheNetwork(t *testing.T) {
	early := false
	var s *story
	s = newStory(t, map[string]func(int) engine.Result{"pull a": func(int) engine.Result {
		early = len(s.events) > 0
		return engine.Result{Outcome: engine.OutcomeOK}
	}})
	s.play(presentGoal(pluginPipeline(false)), wire.PhaseReady)
	if !early || s.did[0] != "0 prepare" {
		t.Errorf("it did %v", s.did)
	}
}
