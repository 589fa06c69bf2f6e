package agent_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/agent/dummy"
	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/pipeline"
)

// approvalGoal returns the shop with a question between its plugin and web.
func approvalGoal(deployment, prompt string) wire.Goal {
	g := shopGoal(deployment)
	g.Pipeline.Steps = append(g.Pipeline.Steps, pipeline.Step{Key: "ask",
		Needs: []pipeline.StepKey{"make"}, Approval: &pipeline.ApprovalStep{Prompt: prompt,
			Fields: []pipeline.ApprovalField{{Name: "size", Type: pipeline.FieldNumber}}}})
	web := &g.Pipeline.Steps[2]
	web.Needs = []pipeline.StepKey{"ask"}
	web.Service.Env = map[string]string{"SIZE": "${{ steps.ask.outputs.size }}",
		"BY": "${{ steps.ask.outputs.answered_by }}, ${{ steps.ask.outputs.answered_at }}"}
	g.Pipeline.Order, _ = pipeline.Order(g.Pipeline)
	return g
}

func (p *plane) untilStep(deployment string, key pipeline.StepKey,
	status pipeline.StepStatus) (found wire.Event) {
	p.t.Helper()
	p.until(string(key)+" "+string(status), func() bool {
		for _, e := range p.events {
			if e.Deployment == deployment && e.Step == key && e.Status == status {
				found = e
				return true
			}
		}
		return false
	})
	return found
}

// The agent waits with nothing in its hands, also through a restart; the answers are there for the
// later steps.
func TestAgent_WaitsForAnAnswerThroughARestart(t *testing.T) {
	p := newPlane(t)
	dir := t.TempDir()
	n := p.boot(dir, dummy.New(dummy.Hooks{Plugin: runMaker}), nil)
	g := approvalGoal("d1",
		"Made ${{ steps.make.outputs.count }} rows on ${{ services.db.host }}; go on?")
	p.want(n.connect(), g)
	asked := p.untilStep("d1", "ask", pipeline.StepWaiting)
	if asked.Message != "Made 3 rows on db; go on?" ||
		asked.Deadline.Sub(asked.At) != 24*time.Hour {
		t.Errorf("asked %q until %s", asked.Message, asked.Deadline)
	}
	n.stop()
	r := dummy.New(dummy.Hooks{Plugin: runMaker})
	n = p.boot(dir, r, nil)
	s := n.connect()
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	g.Answers = map[pipeline.StepKey]wire.Answer{"ask": {Approved: true, By: "ada", At: at,
		Fields: map[string]any{"size": 7.0}}}
	p.want(s, g)
	p.want(s, g)
	p.untilPhase("d1", wire.PhaseReady)
	done := p.untilStep("d1", "ask", pipeline.StepDone)
	if done.Outputs["size"] != 7.0 || done.Message != "ada approved it" || len(done.Sealed) == 0 {
		t.Errorf("the answer came as %+v", done)
	}
	// promise: B-36
	web, _ := r.Service("d1", "web")
	if web.Env["SIZE"] != "7" || web.Env["BY"] != "ada, 2026-11-21T12:00:00Z" {
		t.Errorf("web got %v", web.Env)
	}
	checkContiguous(t, p)
}

// What a plugin returned may be a secret only the run knows: nobody reads it
// in a question.
func TestAgent_PutsNoSecretIntoAQuestion(t *testing.T) {
	p := newPlane(t)
	r := dummy.New(dummy.Hooks{Plugin: runMaker})
	n := p.boot(t.TempDir(), r, nil)
	p.want(n.connect(), approvalGoal("d1", "Use ${{ steps.make.outputs.url }}?"))
	p.untilPhase("d1", wire.PhaseFailed)
	failed := p.untilStep("d1", "ask", pipeline.StepFailed)
	if failed.Code != agent.CodeUnresolved || strings.Contains(failed.Message, password) {
		t.Errorf("failed with %s: %s", failed.Code, failed.Message)
	}
	if !slices.Contains(r.OperationLog(), "delete make") {
		t.Errorf("ran %v", r.OperationLog())
	}
}

// Metadata is shown beside the step, and nothing secret in it.
func TestAgent_ReportsMetadata(t *testing.T) {
	p := newPlane(t)
	n := p.boot(t.TempDir(), dummy.New(dummy.Hooks{Plugin: func(context.Context, agent.PluginSpec,
		[]byte, func(string)) agent.PluginResult {
		return agent.PluginResult{Stdout: []byte(`{"success":true,"outputs":{"url":"x"},` +
			`"metadata":[{"name":"rows","value":3},{"name":"key","value":"` + password + `"}]}`)}
	}}), nil)
	p.want(n.connect(), shopGoal("d1"))
	made := p.untilStep("d1", "make", pipeline.StepDone)
	want := []wire.Metadatum{{Name: "rows", Value: "3"}, {Name: "key", Value: "[secret]"}}
	if !slices.Equal(made.Metadata, want) {
		t.Errorf("metadata %#v", made.Metadata)
	}
}
