package agent_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/nullops/nullops/agent/dummy"
	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/pipeline"
)

const deriveSource = `export default async ({parameters, secrets, services, deployment, log}) => {
  log("host", parameters.host, "key", secrets.key);
  return {outputs: {
    name: (deployment.name + "-" + services.db.port).toUpperCase(),
    dsn: secrets.key + "@" + services.db.host,
    hidden: "h", count: parameters.count + 1,
  }};
};
export function remove({outputs, secrets, log}) {
  log("remove", outputs.name, outputs.dsn === secrets.key + "@db", outputs.count);
}`

// newScriptGoal is the shop with a script between the plugin and the web server.
func newScriptGoal(deployment, source string) wire.Goal {
	g := shopGoal(deployment)
	web := g.Pipeline.Steps[2]
	web.Needs = []pipeline.StepKey{"derive"}
	web.Service.Env = map[string]string{"NAME": "${{ steps.derive.outputs.name }}",
		"DSN": "${{ steps.derive.outputs.dsn }}"}
	g.Pipeline.Steps[2] = pipeline.Step{Key: "derive", Needs: []pipeline.StepKey{"make"},
		Script: &pipeline.ScriptStep{Source: source, Removes: strings.Contains(source, "remove("),
			Parameters: map[string]any{"host": "${{ services.db.host }}",
				"count": "${{ steps.make.outputs.count }}"},
			Secrets: map[string]string{"key": "${{ secrets.password }}"},
			Outputs: map[string]any{"type": "object", "required": []any{"name"},
				"properties": map[string]any{"name": map[string]any{"type": "string"},
					"hidden": map[string]any{"writeOnly": true}}}}}
	g.Pipeline.Steps = append(g.Pipeline.Steps, web)
	g.Pipeline.Order, _ = pipeline.Order(g.Pipeline)
	return g
}

// logOf is the step's log. The lock is held.
func (p *plane) logOf(step pipeline.StepKey) string {
	var lines []string
	for _, l := range p.lines {
		if l.Step == step {
			lines = append(lines, l.Text)
		}
	}
	return strings.Join(lines, "|")
}

// A script transforms what earlier steps returned, without a container, and is undone with its
// own outputs. An output that holds a secret is a secret.
//
// promise: N-330
func TestAgent_ScriptStep(t *testing.T) {
	p := newPlane(t)
	r := dummy.New(dummy.Hooks{Plugin: runMaker})
	dir := t.TempDir()
	s := p.boot(dir, r, nil).connect()
	p.want(s, newScriptGoal("d1", deriveSource))
	p.untilPhase("d1", wire.PhaseReady)
	web, _ := r.Service("d1", "web")
	if web.Env["NAME"] != "LOGIN-5432" || web.SecretEnv["DSN"] != password+"@db" {
		t.Errorf("web got env %v, secret env %v", web.Env, web.SecretEnv)
	}
	p.until("the script's line", func() bool { return p.logOf("derive") != "" })
	checkSecretsStayHidden(t, p, dir)
	p.mu.Lock()
	if got := p.logOf("derive"); got != "host db key [secret]" {
		t.Errorf("the log says %q", got)
	}
	for _, e := range p.events {
		if e.Step == "derive" && e.Status == pipeline.StepDone && (e.Outputs["dsn"] != "[secret]" ||
			e.Outputs["hidden"] != "[secret]" || e.Outputs["count"] != 4.0) {
			t.Errorf("outputs are shown as %v", e.Outputs)
		}
	}
	p.mu.Unlock()
	gone := newScriptGoal("d1", deriveSource)
	gone.Generation, gone.Want = 2, wire.WantGone
	p.want(s, gone)
	p.untilPhase("d1", wire.PhaseRemoved)
	p.until("the log of remove", func() bool {
		return strings.HasSuffix(p.logOf("derive"), "|remove LOGIN-5432 true 4")
	})
	want := []string{"start db", "create make", "start web", "delete make"}
	if got := r.OperationLog(); !slices.Equal(got, want) {
		t.Errorf("the runtime ran %v, want %v", got, want)
	}
	if left := listObjects(t, r); len(left) > 0 {
		t.Errorf("left %v", left)
	}
}

func TestAgent_ScriptStepThatFails(t *testing.T) {
	for source, want := range map[string]string{
		"export default ({secrets}) => {\n  throw new Error('no ' + secrets.key)\n}": "derive failed " +
			"script_failed line 2, column 9: no [secret]\n",
		"export default () => ({outputs: {name: 5}})": "derive failed output_schema " +
			"the script's outputs are not what its step declares: outputs.name breaks \"type\"\n",
		"export default () => ({outputs: {name: () => 1}})": "derive failed invalid_output " +
			"outputs.name is a value of class Function; return plain data\n",
	} {
		p := newPlane(t)
		r := dummy.New(dummy.Hooks{Plugin: runMaker})
		p.want(p.boot(t.TempDir(), r, nil).connect(), newScriptGoal("d1", source))
		p.untilPhase("d1", wire.PhaseFailed)
		if !strings.Contains(p.story()+"\n", want) {
			t.Errorf("the reason %q is missing:%s", want, p.story())
		}
		if slices.Contains(r.OperationLog(), "start web") ||
			!slices.Contains(r.OperationLog(), "delete make") {
			t.Errorf("the run went on, or was not undone: %v", r.OperationLog())
		}
	}
}

// A secret that an earlier step returned is no parameter: the script has to declare it.
func TestAgent_ScriptGetsSecretsOnlyWhenDeclared(t *testing.T) {
	p := newPlane(t)
	g := newScriptGoal("d1", deriveSource)
	g.Pipeline.Steps[2].Script.Parameters["url"] = "${{ steps.make.outputs.url }}"
	p.want(p.boot(t.TempDir(), dummy.New(dummy.Hooks{Plugin: runMaker}), nil).connect(), g)
	p.untilPhase("d1", wire.PhaseFailed)
	want := "derive failed unresolved parameters hold a secret that an earlier step returned"
	if !strings.Contains(p.story(), want) {
		t.Errorf("the reason is missing:%s", p.story())
	}
}

// An endless script ends with its run, and with its agent; the next agent runs it again.
func TestAgent_ScriptEndsWithItsRunAndItsAgent(t *testing.T) {
	const endless = "export default ({log, run}) => { log('attempt', run.attempt); for (;;); }"
	p := newPlane(t)
	dir, r := t.TempDir(), dummy.New(dummy.Hooks{Plugin: runMaker})
	n := p.boot(dir, r, nil)
	g := newScriptGoal("d1", endless)
	g.Pipeline.Steps[2].Script.TimeoutSeconds = 300
	p.want(n.connect(), g)
	p.until("the first attempt", func() bool { return p.logOf("derive") == "attempt 1" })
	n.stop()
	s := p.boot(dir, r, nil).connect()
	p.until("the second attempt", func() bool {
		return strings.HasSuffix(p.logOf("derive"), "attempt 2")
	})
	g.Generation, g.Want = 2, wire.WantGone
	p.want(s, g)
	p.untilPhase("d1", wire.PhaseRemoved)
	if log := r.OperationLog(); slices.Contains(log, "start web") {
		t.Errorf("the next step was started: %v", log)
	}
}
