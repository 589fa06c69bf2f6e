package api_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/accounts"
	"github.com/nullops/nullops/controlplane/api"
	"github.com/nullops/nullops/controlplane/catalog"
	"github.com/nullops/nullops/controlplane/lifecycle"
	"github.com/nullops/nullops/pipeline"
)

// addHidden adds a project, a restricted environment and a deployment that nobody
// but admins may see.
func (w *world) addHidden() {
	w.t.Helper()
	ctx := w.t.Context()
	w.expectSaved(w.catalog.PutProject(ctx, system, catalog.ProjectPut{Name: "vault",
		Resources: pipeline.Resources{CPU: 2, MemoryMiB: 1024}}))
	w.expectSaved(w.catalog.PutEnvironment(ctx, system, catalog.EnvironmentPut{Name: "board",
		Domain: "board.example", Restricted: true}))
}

// comparableText returns an answer without what differs between any two answers.
func comparableText(a answer) string {
	id := regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	return id.ReplaceAllString(string(a.body), "ID")
}

// Creating, and asking whether one could, tells apart no project and no environment that someone
// may not see from one that does not exist.
func TestCreate_HidesWhatIsNotSeen(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	w.addHidden()
	for _, who := range []string{"stranger", "reader", "full"} {
		token := w.token(who)
		for _, path := range []string{"/api/v1/deployments", "/api/v1/deployments/preflight"} {
			ask := func(project, environment string) string {
				a := w.call("POST", path, token, object{"name": "one", "project": project,
					"environment": environment, "versions": object{"api": "1.0"}})
				return strings.NewReplacer(project, "P", environment, "E").Replace(comparableText(a))
			}
			for _, pair := range [][2]string{{"vault", "board"}, {"vault", "qa"}, {"vault", "nowhere"},
				{"nothing", "board"}, {"shop", "board"}} {
				project, environment := pair[0], pair[1]
				if project == "vault" {
					project = "other"
				}
				if environment == "board" {
					environment = "space"
				}
				have, want := ask(pair[0], pair[1]), ask(project, environment)
				// promise: N-006
				if have != want {
					t.Errorf("%s, POST %s of %v answers\n%s\nand of what does not exist\n%s", who, path,
						pair, have, want)
				}
			}
		}
	}
}

// Anyone who knows a deployment's id, but may not see it, learns nothing of it from any operation:
// the answer is the one for an id that does not exist.
func TestDeployment_ByItsIDHidesItsName(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	d := w.deploy("covert-name")
	none := d
	none.ID = controlplane.NewID[controlplane.DeploymentID]()
	token := w.token("stranger")
	all := readOperations(t)
	for _, id := range operationNames(all) {
		o := all[id]
		if o.access == access.Public || fillPath(o.visit.path, d) == fillPath(o.visit.path, none) {
			continue
		}
		have := w.call(o.method, fillPath(o.visit.path, d), token, o.visit.body)
		want := w.call(o.method, fillPath(o.visit.path, none), token, o.visit.body)
		// promise: N-006
		if have.status != want.status || comparableText(have) != comparableText(want) ||
			strings.Contains(string(have.body), d.Name) {
			t.Errorf("%s answers a stranger %d %s\nand for an id of nobody %d %s", id, have.status,
				have.body, want.status, want.body)
		}
	}
	entries := w.call("GET", "/api/v1/audit", token, nil)
	if strings.Contains(string(entries.body), d.Name) {
		t.Errorf("their own audit entries name it: %s", entries.body)
	}
}

// The number of a project's deployments is of those that the reader may see.
func TestProject_CountsWhatIsSeen(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	w.addHidden()
	w.deploy("seen")
	w.expectSaved(w.accounts.PutTeam(t.Context(), system, accounts.TeamPut{Name: "qa-only",
		Members: []string{"stranger"},
		Grants:  []controlplane.TeamGrant{{Environment: "board", Level: controlplane.LevelFull}}}))
	w.onlineIn("node-2", "board", "node-2.example:5000")
	_, err := w.lifecycle.Create(t.Context(), system, lifecycle.Request{Name: "unseen",
		Project: "shop", Environment: "board", Versions: map[pipeline.StepKey]string{"api": "1.0"}})
	w.expectSaved(nil, err)
	for who, want := range map[string]int{"root": 2, "reader": 1, "stranger": 1} {
		token := w.token(who)
		one := decodeAnswer[api.Project](t, w.call("GET", "/api/v1/projects/shop", token, nil))
		list := decodeAnswer[api.ProjectList](t, w.call("GET", "/api/v1/projects", token, nil))
		for _, p := range append(list.Items, one) {
			if p.Name == "shop" && p.Deployments != want {
				t.Errorf("%s reads that shop has %d deployments, want %d", who, p.Deployments, want)
			}
		}
	}
}

// Anyone who knows a name, but may not see what has it, learns nothing of it from any operation:
// the answer is the one for a name that nobody has.
func TestNames_OfWhatIsNotSeenAreHidden(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	w.addHidden()
	d := w.deploy("covert-name")
	token := w.token("stranger")
	// Each is asked for under its own name, and under one that nobody has.
	compare := func(id, method, path, name string, body any) {
		t.Helper()
		nobody := strings.Repeat("z", len(name))
		ask := func(name string) string {
			a := w.call(method, strings.Replace(path, "NAME", name, 1), token, body)
			return fmt.Sprint(a.status, " ", strings.ReplaceAll(comparableText(a), name, "NAME"))
		}
		have, want := ask(name), ask(nobody)
		// promise: N-006
		if have != want {
			t.Errorf("%s of %s answers a stranger\n%s\nand for a name of nobody\n%s", id, name,
				have, want)
		}
	}
	hidden := map[string]string{"/projects/shop": "shop", "/environments/qa": "board",
		"/services/api": "api", "/registries/local": "local", "/plugins/seed": "seed",
		"/teams/team-full": "team-full", "/users/full": "full", "/nodes/node-1": "node-1"}
	all := readOperations(t)
	for _, id := range operationNames(all) {
		o := all[id]
		if o.access == access.Public || strings.Contains(o.visit.path, "{id}") {
			continue
		}
		for part, name := range hidden {
			if kind, _, _ := strings.Cut(part[1:], "/"); strings.Contains(o.visit.path, part) {
				path := strings.Replace(o.visit.path, part, "/"+kind+"/NAME", 1)
				compare(id, o.method, path, name, o.visit.body)
			}
		}
	}
	names := []string{"shop", "board", "api", "local", "node-1", d.Name}
	for _, query := range []string{"me/access?object=project/NAME",
		"me/access?object=environment/NAME",
		"deployments?project=NAME", "deployments?environment=NAME", "deployments?name=NAME",
		"deployments?search=NAME", "queue?environment=NAME", "queue?node=NAME"} {
		for _, name := range names {
			compare(query, "GET", "/api/v1/"+query, name, nil)
		}
	}
}
