package api_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"testing"

	"github.com/nullops/nullops/controlplane/catalog"
	"github.com/nullops/nullops/controlplane/postgres/pgtest"
	"github.com/nullops/nullops/pipeline"
)

// A list remembers what it read before, and a deployment's own page does not:
// whatever changes, and however soon after, both show the same.
func TestListDeployments_IsNeverOld(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	d := w.deploy("first")
	w.deploy("second")
	full, path := w.token("full"), "/deployments/"+string(d.ID)
	change := func(query string, args ...any) func() {
		return func() { pgtest.Exec(t, w.database, query, args...) }
	}
	for _, c := range []struct {
		name string
		do   func()
	}{
		{"nothing", func() {}},
		{"hold", func() { w.expect(200, "PUT", path+"/hold", full, object{"reason": "demo"}, nil) }},
		{"release", func() { w.expect(200, "DELETE", path+"/hold", full, nil, nil) }},
		{"extend", func() { w.expect(200, "POST", path+"/extend", full, nil, nil) }},
		{"lifetime", func() {
			w.expectSaved(w.catalog.PutEnvironment(t.Context(), system, catalog.EnvironmentPut{Name: "qa",
				Domain: "localhost", CleanupAfterHours: 12}))
		}},
		{"node", change(`UPDATE nodes SET status = 'offline', since = now()`)},
		{"health", change(`INSERT INTO service_health (deployment_id, step, health, restarts)
			SELECT $1, v ->> 'step', 'unhealthy', 3 FROM deployments d, jsonb_array_elements(d.versions) v
			WHERE d.id = $1 ON CONFLICT (deployment_id, step) DO UPDATE SET health = 'unhealthy'`,
			string(d.ID))},
		{"step", change(`WITH s AS (UPDATE run_steps SET status = 'failed')
			UPDATE deployments SET last_event = last_event + 1`)},
		{"delete", func() { w.expect(202, "DELETE", path, full, nil, nil) }},
	} {
		list := w.page(full)
		c.do()
		after := w.page(full)
		if c.name != "nothing" && bytes.Equal(list[string(d.ID)], after[string(d.ID)]) {
			t.Errorf("%s: nothing changed in the list", c.name)
		}
		var alone json.RawMessage
		w.expect(200, "GET", path, full, nil, &alone)
		if !bytes.Equal(bytes.TrimSpace(alone), after[string(d.ID)]) {
			t.Errorf("%s: the list has\n%s\nand alone it is\n%s", c.name, after[string(d.ID)], alone)
		}
	}
}

// A list of projects remembers pipelines, and shows the one that was saved last.
func TestListProjects_IsNeverOld(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	steps := func() (n int) {
		var page struct {
			Items []struct{ Services []json.RawMessage }
		}
		w.expect(200, "GET", "/projects", w.token("full"), nil, &page)
		return len(page.Items[0].Services)
	}
	before := steps()
	if again := steps(); before == 0 || again != before {
		t.Errorf("%d services to choose, then %d", before, again)
	}
	p := shopPipeline()
	more := p.Steps[0]
	more.Key = "more"
	p.Steps = append(p.Steps, more)
	w.expectSaved(w.catalog.SavePipeline(t.Context(), system, "shop", p, "more"))
	if after := steps(); after != before+1 {
		t.Errorf("%d services to choose after a step more than %d", after, before)
	}
}

// page is the first page of deployments, by id.
func (w *world) page(token string) map[string]json.RawMessage {
	w.t.Helper()
	var page struct{ Items []json.RawMessage }
	w.expect(200, "GET", "/deployments", token, nil, &page)
	all := map[string]json.RawMessage{}
	for _, item := range page.Items {
		var d struct{ ID string }
		if err := json.Unmarshal(item, &d); err != nil {
			w.t.Fatal(err)
		}
		all[d.ID] = item
	}
	return all
}

// What has no service has no tag, and is no reason to find nothing of all others.
func TestListDeployments_SearchedBesideWhatHasNoService(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	root := w.token("root")
	w.deploy("first")
	w.publishPipeline(func(p *pipeline.Pipeline) {
		p.Steps = []pipeline.Step{{Key: "ask", Approval: &pipeline.ApprovalStep{Prompt: "Go on?"}}}
	})
	a := w.create(root, "only-asks", map[string]any{"versions": map[string]string{}})
	if a.status != http.StatusCreated {
		t.Fatalf("%d %s", a.status, a.body)
	}
	for _, query := range []string{"search=1.0", "search=1.0&sort=name", "search=first"} {
		var page struct{ Items []struct{ Name string } }
		w.expect(200, "GET", "/deployments?"+query, root, nil, &page)
		if len(page.Items) != 1 || page.Items[0].Name != "first" {
			t.Errorf("%s: %v", query, page.Items)
		}
	}
}
