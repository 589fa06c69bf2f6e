package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/nullops/nullops/controlplane/api"
	"github.com/nullops/nullops/internal/testpart"
	"github.com/nullops/nullops/pipeline"
)

const derive = `export default ({parameters, secrets, log}) => {
  log("derive", parameters.name);
  return {outputs: {slug: parameters.name.toLowerCase(), url: "x://" + secrets.key}};
};
export function remove({outputs}) { if (!outputs.slug) throw new Error("no slug"); }`

// newScriptPipeline is the shop with a script in front of its first step.
func newScriptPipeline(source string) pipeline.Pipeline {
	p := shopPipeline()
	p.Steps = append(p.Steps, pipeline.Step{Key: "derive", Script: &pipeline.ScriptStep{
		Source:     source,
		Parameters: map[string]any{"name": "${{ deployment.name }}"},
		Outputs: map[string]any{"type": "object", "properties": map[string]any{
			"slug": map[string]any{"type": "string"},
			"url":  map[string]any{"type": "string", "writeOnly": true}}},
	}})
	return p
}

// A script is checked when its pipeline is saved: an error names step, field, line and column.
func TestPutPipeline_ChecksScripts(t *testing.T) {
	testpart.Rotate(t)
	t.Parallel()
	w := newWorld(t)
	w.shop()
	root := w.token("root")
	for source, want := range map[string]string{
		"export default () => {\n  let x = ;\n}":    "script_syntax: line 2, column 11: Unexpected",
		"const x = 1":                               "script_contract: The script exports nothing",
		"export default () => {}\nnull.x":           "script_thrown: line 2, column ",
		"import x from 'y'; export default () => x": "script_thrown: line 1, column ",
		"for (;;);": "script_timeout: ",
	} {
		a := w.call("POST", "/api/v1/projects/shop/pipeline/validate", root,
			object{"pipeline": newScriptPipeline(source)})
		found := decodeAnswer[api.PipelineProblems](t, a)
		if len(found.Problems) != 1 || *found.Problems[0].Step != "derive" ||
			found.Problems[0].Field != "script.source" ||
			!strings.HasPrefix(found.Problems[0].Code+": "+found.Problems[0].Message, want) {
			t.Errorf("%q: %s, want %s", source, a.body, want)
		}
	}
	if a := w.call("PUT", "/api/v1/projects/shop/pipeline", root,
		object{"pipeline": newScriptPipeline(derive)}); a.status != http.StatusOK {
		t.Fatalf("save: %s", a.body)
	}
	saved := decodeAnswer[api.PipelineVersion](t,
		w.call("GET", "/api/v1/projects/shop/pipeline", root, nil))
	step, _ := saved.Pipeline.Step("derive")
	if saved.Pipeline.Format != 3 || step.Script == nil || !step.Script.Removes {
		t.Errorf("saved as format %d: %+v", saved.Pipeline.Format, step.Script)
	}
	d := w.deploy("scripted")
	a := w.call("GET", "/api/v1/deployments/"+string(d.ID)+"/runs/1", root, nil)
	if !strings.Contains(string(a.body), `"kind":"script"`) {
		t.Errorf("the run's steps: %s", a.body)
	}
}

func TestTestScript_RunsWithRecordedInputs(t *testing.T) {
	testpart.Rotate(t)
	t.Parallel()
	w := newWorld(t)
	w.shop()
	root := w.token("root")
	test := func(body object) api.ScriptTestResult {
		t.Helper()
		return decodeAnswer[api.ScriptTestResult](t, w.call("POST", "/api/v1/scripts/test", root, body))
	}
	got := test(object{"source": derive, "input": object{
		"parameters": object{"name": "Demo"}, "secrets": object{"key": "k"}}})
	if got.Problem != nil || (*got.Outputs)["slug"] != "demo" || (*got.Outputs)["url"] != "x://k" ||
		strings.Join(got.Log, "|") != "derive Demo" || !got.Removes {
		t.Errorf("got %+v", got)
	}
	got = test(object{"source": derive, "action": "delete"})
	if got.Problem == nil || got.Problem.Message != "no slug" || *got.Problem.Line != 5 {
		t.Errorf("remove answered %+v", got.Problem)
	}
	got = test(object{"source": "export default () => { for (;;); }", "timeout_seconds": 1})
	if got.Problem == nil || got.Problem.Kind != "timeout" {
		t.Errorf("an endless loop answered %+v", got.Problem)
	}
}
