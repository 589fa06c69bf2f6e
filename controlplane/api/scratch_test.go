package api_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nullops/nullops/controlplane/api"
	"github.com/nullops/nullops/controlplane/catalog"
	"github.com/nullops/nullops/controlplane/postgres/pgtest"
	"github.com/nullops/nullops/pipeline"
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
	if found.Ok || len(said) != 1 || !strings.Contains(said[0], "of second: The draft") ||
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

// Pinned outputs stand in place of the step that would make them, and of what only it needs.
func TestScratch_PinsOutputs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	root := w.token("root")
	w.expectSaved(w.catalog.PutPlugin(t.Context(), system, catalog.PluginPut{Name: "make-db",
		Registry: "local", Image: "plugins/seed", Tag: "1.0", Component: pipeline.Component{
			Outputs: map[string]any{"type": "object", "required": []any{"rows", "password"},
				"properties": map[string]any{"rows": map[string]any{"type": "integer"},
					"password": map[string]any{"type": "string", "writeOnly": true}}}}}))
	reads := toService("reads", "api")
	reads.Needs = []pipeline.StepKey{"made"}
	reads.Service.Env = map[string]string{"ROWS": "${{ steps.made.outputs.rows }}",
		"PASSWORD": "${{ steps.made.outputs.password }}"}
	draft := pipeline.Pipeline{Format: 1, Steps: []pipeline.Step{toService("db", "api"), {Key: "made",
		Needs: []pipeline.StepKey{"db"}, Plugin: &pipeline.PluginStep{Name: "make-db"}}, reads}}
	body := func(name string, pinned object) object {
		return object{"name": name, "environment": "qa", "pipeline": draft,
			"steps": []string{"reads"}, "versions": object{"reads": "1.0", "db": "1.0"},
			"pinned": pinned}
	}
	outputs := object{"rows": 3, "password": "${{ secrets.API_TOKEN }}"}
	var made api.Deployment
	w.expect(http.StatusCreated, "POST", "/projects/shop/pipeline/scratch", root,
		body("pinned", object{"made": outputs}), &made)
	var run api.Run
	w.got("/api/v1/deployments/"+made.Id+"/runs/1", root, &run)
	var said []string
	for _, s := range run.Steps {
		said = append(said, s.Key+" "+s.Title)
	}
	if got := strings.Join(said, ", "); got != "made pinned, reads api:1.0" {
		t.Errorf("it runs %s", got)
	}
	// Whatever the project allows, it is gone after an hour.
	if left := made.ExpiresAt.Sub(made.CreatedAt); left > time.Hour+time.Minute || left < time.Hour {
		t.Errorf("it ends after %s", left)
	}
	for field, wrong := range map[string]object{
		"pinned.rows":             {"rows": "many", "password": "${{ secrets.API_TOKEN }}"},
		"script.secrets.password": {"rows": 3, "password": "hunter2"},
	} {
		found := w.preflightDraft(root, body("refused", object{"made": wrong}))
		if found.Ok || !slices.ContainsFunc(found.Checks, func(c api.PreflightCheck) bool {
			return c.State == api.PreflightCheckStateFailed && strings.Contains(c.Message, field)
		}) {
			t.Errorf("%v as outputs: %+v", wrong, found.Checks)
		}
	}
	for code, pinned := range map[string]object{"pinned_service": {"db": object{}},
		"pinned_step": {"reads": object{}}, "unknown_step": {"nobody": object{}}} {
		a := w.call("POST", "/api/v1/projects/shop/pipeline/scratch", root, body("refused", pinned))
		if a.status != http.StatusBadRequest && a.status != http.StatusUnprocessableEntity ||
			a.field("code") != code {
			t.Errorf("%v pinned: %d %s", pinned, a.status, a.body)
		}
	}
}

// A deployment of a draft goes after an hour, though the environment keeps everything.
func TestScratch_EndsSoon(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	var made api.Deployment
	w.expect(http.StatusCreated, "POST", "/projects/shop/pipeline/scratch", w.token("root"),
		object{"name": "short", "environment": "qa", "pipeline": shopPipeline(),
			"versions": object{"api": "1.0"}}, &made)
	kept := w.deploy("kept")
	for _, age := range []struct {
		ago  string
		want int
	}{{"50 minutes", 0}, {"70 minutes", 1}} {
		pgtest.Exec(t, w.database, `UPDATE deployments SET active_at = now() - $1::interval`, age.ago)
		if n, err := w.lifecycle.Expire(t.Context(), system); n != age.want || err != nil {
			t.Errorf("%d expired after %s, %v; wanted %d", n, age.ago, err, age.want)
		}
	}
	var still api.Deployment
	w.got("/api/v1/deployments/"+string(kept.ID), w.token("root"), &still)
	if still.RemovedBy != nil {
		t.Error("the other deployment was removed too")
	}
}
