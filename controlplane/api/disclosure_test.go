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

// hidden adds a project, a restricted environment and a deployment that nobody
// but admins may see.
func (w *world) hidden() {
	w.t.Helper()
	ctx := w.t.Context()
	w.saved(w.catalog.PutProject(ctx, system, catalog.ProjectPut{Name: "vault",
		Resources: pipeline.Resources{CPU: 2, MemoryMiB: 1024}}))
	w.saved(w.catalog.PutEnvironment(ctx, system, catalog.EnvironmentPut{Name: "board",
		Domain: "board.example", Restricted: true}))
}

// comparable is an answer without what differs between any two answers.
func comparable(a answer) string {
	id := regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	return id.ReplaceAllString(string(a.body), "ID")
}

// Creating, and asking whether one could, tells apart no project and no environment that someone
// may not see from one that does not exist.
func TestCreate_HidesWhatIsNotSeen(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	w.hidden()
	for _, who := range []string{"stranger", "reader", "full"} {
		token := w.token(who)
		for _, path := range []string{"/api/v1/deployments", "/api/v1/deployments/preflight"} {
			ask := func(project, environment string) string {
				a := w.call("POST", path, token, object{"name": "one", "project": project,
					"environment": environment, "versions": object{"api": "1.0"}})
				return strings.NewReplacer(project, "P", environment, "E").Replace(comparable(a))
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
	all := operations(t)
	for _, id := range named(all) {
		o := all[id]
		if o.access == access.Public || at(o.visit.path, d) == at(o.visit.path, none) {
			continue
		}
		have := w.call(o.method, at(o.visit.path, d), token, o.visit.body)
		want := w.call(o.method, at(o.visit.path, none), token, o.visit.body)
		// promise: N-006
		if have.status != want.status || comparable(have) != comparable(want) ||
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
	w.hidden()
	w.deploy("seen")
	w.saved(w.accounts.PutTeam(t.Context(), system, accounts.TeamPut{Name: "qa-only",
		Members: []string{"stranger"},
		Grants:  []controlplane.TeamGrant{{Environment: "board", Level: controlplane.LevelFull}}}))
	w.onlineIn("node-2", "board", "node-2.example:5000")
	_, err := w.lifecycle.Create(t.Context(), system, lifecycle.Request{Name: "unseen",
		Project: "shop", Environment: "board", Versions: map[pipeline.StepKey]string{"api": "1.0"}})
	w.saved(nil, err)
	for who, want := range map[string]int{"root": 2, "reader": 1, "stranger": 1} {
		token := w.token(who)
		one := parsed[api.Project](t, w.call("GET", "/api/v1/projects/shop", token, nil))
		list := parsed[api.ProjectList](t, w.call("GET", "/api/v1/projects", token, nil))
		for _, p := range append(list.Items, one) {
			if p.Name == "shop" && p.Deployments != want {
				t.Errorf("%s reads that shop has %d deployments, want %d", who, p.Deployments, want)
			}
		}
	}
}

// Anyone who knows a name, but may not see what has it, learns nothing of it from any operation:
// the answer is the one for a name that nobody has. The same goes for what a request refers to.
func TestNames_OfWhatIsNotSeenAreHidden(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	w.hidden()
	d := w.deploy("covert-name")
	pairs := map[string][2]string{
		"/projects/shop": {"/projects/shop", "/projects/nope"},
		"/environments/": {"/environments/board", "/environments/empty"},
		"/services/api":  {"/services/api", "/services/xyz"},
		"/registries/l":  {"/registries/local", "/registries/nobod"},
		"/plugins/seed":  {"/plugins/seed", "/plugins/weed"},
		"/teams/team-":   {"/teams/team-full", "/teams/team-none"},
		"/users/full":    {"/users/full", "/users/none"},
		"/nodes/node-1":  {"/nodes/node-1", "/nodes/node-9"},
	}
	token := w.token("stranger")
	compare := func(id, method, have, want string, body any) {
		t.Helper()
		spell := func(a answer, path string) string {
			for _, pair := range pairs {
				for _, full := range pair {
					_, name, _ := strings.Cut(strings.TrimPrefix(full, "/"), "/")
					if strings.Contains(path, full) {
						a.body = []byte(strings.ReplaceAll(string(a.body), name, "NAME"))
					}
				}
			}
			return fmt.Sprint(a.status, " ", comparable(a))
		}
		a, b := spell(w.call(method, have, token, body), have), spell(w.call(method, want, token, body),
			want)
		if a != b {
			t.Errorf("%s answers a stranger\n%s\nand for a name of nobody\n%s", id, a, b)
		}
	}
	all := operations(t)
	for _, id := range named(all) {
		o := all[id]
		if o.access == access.Public || strings.Contains(o.visit.path, "{id}") {
			continue
		}
		for part, pair := range pairs {
			if part == "/environments/" && strings.Contains(o.visit.path, "/environments/qa") {
				pair[0] = "/environments/qa"
				compare(id, o.method, strings.Replace(o.visit.path, pair[0], "/environments/board", 1),
					strings.Replace(o.visit.path, pair[0], pair[1], 1), o.visit.body)
			} else if strings.Contains(o.visit.path, pair[0]) {
				compare(id, o.method, o.visit.path, strings.Replace(o.visit.path, pair[0], pair[1], 1),
					o.visit.body)
			}
		}
	}
	for _, kind := range []string{"project", "environment", "service", "registry", "plugin", "node",
		"deployment", "team", "user", "secret"} {
		for _, name := range []string{"shop", "board", "api", "local", "seed", "node-1", string(d.ID)} {
			compare("explainAccess", "GET", "/api/v1/me/access?object="+kind+"/"+name,
				"/api/v1/me/access?object="+kind+"/nobody", nil)
		}
	}
	for _, query := range []string{"/deployments?project=%s", "/deployments?environment=%s",
		"/deployments?name=%s", "/deployments?search=%s", "/queue?environment=%s", "/queue?node=%s",
		"/audit?object=%s"} {
		for _, name := range []string{"shop", "board", d.Name, "node-1", string(d.ID)} {
			path := "/api/v1" + query
			compare(query, "GET", fmt.Sprintf(path, name), fmt.Sprintf(path, "nobody"), nil)
		}
	}
}
