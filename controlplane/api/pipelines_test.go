package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/accounts"
	"github.com/nullops/nullops/controlplane/api"
	"github.com/nullops/nullops/controlplane/catalog"
	"github.com/nullops/nullops/pipeline"
)

func decodeAnswer[T any](t *testing.T, a answer) (v T) {
	t.Helper()
	if a.status != http.StatusOK && a.status != http.StatusCreated {
		t.Fatalf("status %d: %s", a.status, a.body)
	}
	if err := json.Unmarshal(a.body, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

const versions = "/api/v1/projects/shop/pipeline/versions"

// One story: edit while a deployment runs, see what changed and who runs what,
// and bring the old version back as a new one.
func TestPipelineVersions_DiffUsersRestore(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	root := w.token("root")
	w.deploy("old")
	edited := shopPipeline()
	edited.Steps[0].Service.Resources.MemoryMiB = 128
	edited.Steps[0].Service.Env["MODE"] = "qa"
	edited.Steps[1].Key = "fill"
	// promise: N-054
	if a := w.call("PUT", "/api/v1/projects/shop/pipeline", root,
		object{"pipeline": edited}); a.status != http.StatusOK {
		t.Fatalf("save with a live deployment: %s", a.body)
	}
	w.deploy("new")
	// promise: N-051
	// promise: N-052
	if got := usersOf(t, w, root); got != "v2: new qa; v1: old qa;" {
		t.Errorf("who runs what: %s", got)
	}
	d := decodeAnswer[api.PipelineDiff](t, w.call("GET", versions+"/2/diff?against=1", root, nil))
	checkDiff(t, d)
	if a := w.call("GET", versions+"/2/diff", root, nil); decodeAnswer[api.PipelineDiff](t,
		a).From != 1 {
		t.Errorf("the default is not the version before: %s", a.body)
	}
	first := decodeAnswer[api.PipelineDiff](t, w.call("GET", versions+"/1/diff", root, nil))
	if first.From != 0 || len(first.Diff.Added) != 2 {
		t.Errorf("the first version against nothing: %+v", first)
	}
	saved := decodeAnswer[api.PipelineSaved](t, w.call("POST", versions+"/1/restore", root, nil))
	was := decodeAnswer[api.PipelineVersion](t, w.call("GET", versions+"/1", root, nil))
	if !saved.Changed || saved.Version != 3 || saved.Digest != was.Digest {
		t.Errorf("restored: %+v, version 1 is %s", saved, was.Digest)
	}
	again := decodeAnswer[api.PipelineSaved](t, w.call("POST", versions+"/1/restore", root, nil))
	if again.Changed || again.Version != 3 {
		t.Errorf("restored twice: %+v", again)
	}
	for _, path := range []string{"/9/diff", "/2/diff?against=9"} {
		if a := w.call("GET", versions+path, root, nil); a.status != http.StatusNotFound {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
	if a := w.call("POST", versions+"/9/restore", root, nil); a.status != http.StatusNotFound {
		t.Errorf("restore 9: %d %s", a.status, a.body)
	}
}

func usersOf(t *testing.T, w *world, token string) string {
	t.Helper()
	list := decodeAnswer[api.PipelineVersionList](t, w.call("GET", versions, token, nil))
	var said []string
	for _, v := range list.Items {
		text := fmt.Sprintf("v%d:", v.Version)
		for _, u := range *v.UsedBy {
			text += " " + u.Name + " " + u.Environment
		}
		said = append(said, text+";")
	}
	return strings.Join(said, " ")
}

func checkDiff(t *testing.T, d api.PipelineDiff) {
	t.Helper()
	if d.From != 1 || d.To != 2 || len(d.Diff.Added) != 1 || d.Diff.Added[0].Key != "fill" ||
		len(d.Diff.Removed) != 1 || d.Diff.Removed[0].Key != "seed" || len(d.Diff.Changed) != 1 {
		t.Fatalf("diff %+v", d)
	}
	got := fmt.Sprintf("%s", d.Diff.Changed[0].Fields)
	want := `[{service.env.MODE  "qa"} {service.resources.memory_mib 64 128}]`
	if got != want {
		t.Errorf("fields %s, want %s", got, want)
	}
}

// Who may read the project, and not a restricted environment, sees versions
// without the deployments in there.
func TestPipelineVersions_UsersAreThoseTheCallerMaySee(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	w.deploy("hidden")
	ctx := t.Context()
	w.expectSaved(w.catalog.PutEnvironment(ctx, system, catalog.EnvironmentPut{Name: "qa",
		Domain: "localhost", Restricted: true}))
	if got := usersOf(t, w, w.token("reader")); got != "v1:;" {
		t.Errorf("a reader sees %s", got)
	}
	w.expectSaved(w.accounts.PutTeam(ctx, system, accounts.TeamPut{Name: "in",
		Members: []string{"reader"}, Grants: []controlplane.TeamGrant{
			{Environment: "qa", Level: controlplane.LevelRead}}}))
	if got := usersOf(t, w, w.token("reader")); got != "v1: hidden qa;" {
		t.Errorf("with a grant, a reader sees %s", got)
	}
}

// A version that the project has outgrown is refused with its problems.
func TestPipelineVersions_RestoreMustFitToday(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	ctx := t.Context()
	smaller := shopPipeline()
	smaller.Steps[0].Service.Resources.MemoryMiB = 32
	w.expectSaved(w.catalog.SavePipeline(ctx, system, "shop", smaller, ""))
	w.expectSaved(w.catalog.PutProject(ctx, system, catalog.ProjectPut{Name: "shop",
		Resources: pipeline.Resources{CPU: 2, MemoryMiB: 48}}))
	a := w.call("POST", versions+"/1/restore", w.token("root"), nil)
	if a.status != http.StatusBadRequest ||
		!strings.Contains(string(a.body), "the project allows 48") {
		t.Errorf("%d %s", a.status, a.body)
	}
}

// A project's clean-up setting is returned as it was set: "never" differs from "not set".
func TestCleanup_RoundTrips(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.people()
	root := w.token("root")
	for path, bodies := range map[string][]string{
		"/api/v1/environments/qa": {`{"domain":"localhost"}`,
			`{"domain":"localhost","cleanup_after_hours":168}`},
		"/api/v1/projects/p": {`{"resources":{}}`, `{"resources":{},"cleanup_after_hours":0}`,
			`{"resources":{},"cleanup_after_hours":24}`},
	} {
		for _, body := range bodies {
			a := w.call("PUT", path, root, body)
			again := w.call("PUT", path, root, body)
			if a.field("changed") != "true" || again.field("changed") != "false" {
				t.Errorf("PUT %s %s: %s then %s", path, body, a.body, again.body)
			}
			var sent, got map[string]any
			_ = json.Unmarshal([]byte(body), &sent)
			_ = json.Unmarshal(w.call("GET", path, root, nil).body, &got)
			if sent["cleanup_after_hours"] != got["cleanup_after_hours"] {
				t.Errorf("GET %s after %s: %v", path, body, got)
			}
		}
		body := strings.TrimSuffix(bodies[0], "}") + `,"cleanup_after_hours":-1}`
		a := w.call("PUT", path, root, body)
		if a.status != http.StatusBadRequest || a.field("field") != "cleanup_after_hours" {
			t.Errorf("PUT %s %s: %d %s", path, body, a.status, a.body)
		}
	}
}

// Bodies that JSON readers read differently are refused, by the name of the
// field, before anything looks at what they say.
func TestBody_Ambiguous(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.people()
	root := w.token("root")
	const path = "/api/v1/projects/p/pipeline/validate"
	deep := strings.Repeat("[", 70) + strings.Repeat("]", 70)
	parameter := func(value string) string {
		return `{"pipeline":{"steps":[{"key":"a","plugin":{"name":"x","parameters":{"p":` + value +
			`}}}]}}`
	}
	const at = "pipeline.steps.0.plugin.parameters.p"
	for _, c := range []struct{ name, body, field, words string }{
		{"key twice", `{"note":"a","note":"b","pipeline":{}}`, "note", "twice"},
		{"deep key twice", parameter(`{"canary":1,"canary":2}`), at + ".canary", "twice"},
		{"too deep", parameter(deep), at + strings.Repeat(".0", 58), "deeper than 64"},
		{"no UTF-8", parameter("\"canary\xff\""), at, "UTF-8"},
		{"NUL", parameter(`"canary\u0000"`), at, "NUL"},
		{"number too large", parameter(`1e999`), at, "out of range"},
		{"number too long", parameter(`9007199254740993`), at, "cannot be kept exactly"},
	} {
		a := w.call("PUT", strings.TrimSuffix(path, "/validate"), root, c.body)
		if a.status != http.StatusBadRequest || a.field("code") != "body_invalid" ||
			a.field("field") != c.field || !strings.Contains(a.field("detail"), c.words) {
			t.Errorf("%s: %d %s", c.name, a.status, a.body)
		}
		if strings.Contains(a.field("detail"), "canary") {
			t.Errorf("%s: the value is repeated: %s", c.name, a.body)
		}
	}
	for _, query := range []string{"search=%00", "name=%00", "search=%ff", "project=%00",
		"environment=%fe", "cursor=%00", "status=%00"} {
		a := w.call("GET", "/api/v1/deployments?"+query, root, nil)
		if a.status != http.StatusBadRequest || a.field("field") != strings.Split(query, "=")[0] {
			t.Errorf("%s: %d %s", query, a.status, a.body)
		}
	}
	for _, path := range []string{"/projects/%00", "/deployments/%ff", "/users/a%00b"} {
		a := w.call("GET", "/api/v1"+path, root, nil)
		if a.status >= http.StatusInternalServerError {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
}
