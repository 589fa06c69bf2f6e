package api_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/nullops/nullops/controlplane/api"
)

// A drawing that nobody published is checked like a deployment of it, and
// nothing is made: no deployment, no run, no version.
func TestScratch_PreflightOfADraftMakesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	root := w.token("root")
	before := w.rows(root) + w.versions(root)
	draft := shopPipeline()
	draft.Steps = append(draft.Steps, toService("second", "api"))
	body := object{"name": "dry-run", "environment": "qa", "pipeline": draft,
		"versions": object{"api": "1.0", "second": "1.0"}}
	found := w.preflightDraft(root, body)
	// promise: N-324
	if !found.Ok || len(found.Versions) != 2 {
		t.Errorf("ok %t, versions %+v, checks %+v", found.Ok, found.Versions, found.Checks)
	}
	draft.Steps[len(draft.Steps)-1].Service.Env = map[string]string{"A": "${{ secrets.NOBODY }}"}
	found = w.preflightDraft(root, body)
	var said []string
	for _, c := range found.Checks {
		if c.State == api.PreflightCheckStateFailed {
			said = append(said, c.Id+" of "+*c.Subject+": "+c.Message)
		}
	}
	if found.Ok || len(said) != 1 || !strings.Contains(said[0], "of second: the draft") ||
		!strings.Contains(said[0], "NOBODY") {
		t.Errorf("ok %t, failed %q", found.Ok, said)
	}
	if after := w.rows(root) + w.versions(root); before != after {
		t.Errorf("rows before %s, after %s", before, after)
	}
}

// A branch of a drawing runs with what it needs and nothing else, and is no
// deployment that could be made again from a published version.
func TestScratch_RunsABranch(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	root := w.token("root")
	draft := shopPipeline()
	first, alone := toService("first-of-two", "api"), toService("alone", "api")
	second := toService("second-of-two", "api")
	second.Needs = append(second.Needs, first.Key)
	draft.Steps = append(draft.Steps, second, alone, first)
	before := w.versions(root)
	a := w.call("POST", "/api/v1/projects/shop/pipeline/scratch", root, object{"name": "scratch",
		"environment": "qa", "pipeline": draft, "steps": []string{"second-of-two"},
		"versions": object{"api": "1.0", "first-of-two": "1.0", "second-of-two": "1.1",
			"alone": "1.0"}})
	var made api.Deployment
	if err := json.Unmarshal(a.body, &made); err != nil || a.status != http.StatusCreated {
		t.Fatalf("%d %s", a.status, a.body)
	}
	var run api.Run
	w.got("/api/v1/deployments/"+made.Id+"/runs/1", root, &run)
	var keys []string
	for _, s := range run.Steps {
		keys = append(keys, s.Key)
	}
	if got := strings.Join(keys, " "); got != "first-of-two second-of-two" {
		t.Errorf("it runs %s", got)
	}
	if made.Scratch == nil || !*made.Scratch {
		t.Error("it does not say that it is a scratch deployment")
	}
	if after := w.versions(root); before != after {
		t.Errorf("versions before %s, after %s", before, after)
	}
	again := w.call("POST", "/api/v1/deployments/"+made.Id+"/recreate", root,
		object{"name": "another"})
	if again.status != http.StatusConflict || again.field("code") != "scratch" {
		t.Errorf("recreating answers %d %s", again.status, again.body)
	}
	gone := w.call("POST", "/api/v1/projects/shop/pipeline/scratch", root, object{"name": "none",
		"environment": "qa", "pipeline": draft, "steps": []string{"nobody"}})
	if gone.status != http.StatusUnprocessableEntity && gone.status != http.StatusBadRequest {
		t.Errorf("a step that is not there: %d %s", gone.status, gone.body)
	}
}

func (w *world) preflightDraft(token string, body object) (found api.Preflight) {
	w.t.Helper()
	a := w.call("POST", "/api/v1/projects/shop/pipeline/preflight", token, body)
	if err := json.Unmarshal(a.body, &found); err != nil || a.status != http.StatusOK {
		w.t.Fatalf("preflight: %d %s", a.status, a.body)
	}
	return found
}

func (w *world) versions(token string) string {
	w.t.Helper()
	var all api.PipelineVersionList
	w.got("/api/v1/projects/shop/pipeline/versions", token, &all)
	said := ""
	for _, v := range all.Items {
		said += " " + v.Digest
	}
	return said
}
