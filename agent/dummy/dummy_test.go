package dummy_test

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/agent/dummy"
	"github.com/nullops/nullops/agent/runtimetest"
	"github.com/nullops/nullops/pipeline"
)

func TestRuntime_KeepsTheContract(t *testing.T) {
	runtimetest.Run(t, func(*testing.T) runtimetest.Subject {
		r := dummy.New(dummy.Hooks{Plugin: behave})
		return runtimetest.Subject{Runtime: r, Port: 7,
			Service: func(s *agent.ServiceSpec) { s.Image = pipeline.Image{Repository: "echo"} },
			Plugin: func(p *agent.PluginSpec, b runtimetest.Behaviour) {
				p.Image = pipeline.Image{Repository: string(b)}
			}}
	})
}

func behave(ctx context.Context, p agent.PluginSpec, stdin []byte, line func(string),
) agent.PluginResult {
	line("hello")
	switch runtimetest.Behaviour(p.Image.Repository) {
	case runtimetest.Fail:
		return agent.PluginResult{ExitCode: 3, Lines: 1}
	case runtimetest.Hang:
		<-ctx.Done()
		return agent.PluginResult{Lines: 1}
	case runtimetest.Flood:
		return agent.PluginResult{Stdout: bytes.Repeat([]byte("x"), int(p.StdoutLimit)+1)}
	}
	out, _ := json.Marshal(map[string]any{"success": true,
		"outputs": map[string]string{"stdin": string(stdin)}})
	return agent.PluginResult{Stdout: out, Lines: 1}
}
