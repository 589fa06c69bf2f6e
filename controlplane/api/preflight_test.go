package api_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/accounts"
	"github.com/nullops/nullops/controlplane/api"
	"github.com/nullops/nullops/controlplane/catalog"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/pipeline"
)

// fault is one thing that stands against a deployment, and nothing else does.
type fault struct {
	// asked changes the request; seed changes the world before it.
	asked map[string]any
	as    string
	seed  func(*world)
	check string
	code  string
	says  string
}

// allFaults are seeded one by one, each into a world where all else is well.
func allFaults() map[string]fault {
	return map[string]fault{
		"a reader asks": {as: "reader", check: "access", code: "forbidden", says: "full access"},
		"no project": {asked: object{"project": "nowhere"}, check: "project", code: "not_found",
			says: "nowhere"},
		"no environment": {asked: object{"environment": "nowhere"}, check: "environment",
			code: "not_found", says: "nowhere"},
		"no pipeline": {asked: object{"project": "bare"}, check: "pipeline", code: "no_pipeline",
			says: "no pipeline yet"},
		"the name is taken": {asked: object{"name": "first"}, check: "name", code: "name_taken",
			says: "first is taken"},
		"the address is taken": {seed: func(w *world) {
			w.project("left", toService("a", "api"))
			w.project("right", toService("a--b", "api"))
			w.deployOf("left", "b--x", "a")
		}, asked: object{"project": "right", "name": "x", "versions": object{"a--b": "1.0"}},
			check: "host", code: "host_taken", says: "a--b--x--qa.localhost"},
		"the tag is not there": {asked: object{"versions": object{"api": "gone"}}, check: "tag",
			code: "tag_unknown", says: "no tag gone"},
		"the tag is not allowed": {seed: func(w *world) {
			w.service("ruled", "shop/api", "v*")
			w.project("ruled", toService("api", "ruled"))
		}, asked: object{"project": "ruled", "versions": object{"api": "main"}}, check: "version",
			code: "version_refused", says: "v*"},
		"no node has the processor": {asked: object{"versions": object{"api": "for-arm"}},
			check: "platform", code: "platform_missing",
			says: "arm64, and the environment's nodes are amd64"},
		"the registry wants another password": {seed: func(w *world) {
			w.service("denied", "denied/api", "")
			w.project("denied", toService("api", "denied"))
		}, asked: object{"project": "denied"}, check: "registry", code: "registry_denied",
			says: "not let us read"},
		"the registry is down": {seed: func(w *world) {
			w.service("down", "down/api", "")
			w.project("down", toService("api", "down"))
		}, asked: object{"project": "down"}, check: "registry", code: "registry_down",
			says: "cannot be reached"},
		"the plugin's image is gone": {seed: func(w *world) {
			w.expectSaved(w.catalog.PutPlugin(w.t.Context(), system, catalog.PluginPut{Name: "lost",
				Registry: "local", Image: "lost/plugin", Tag: "1.0"}))
			w.project("lost", toService("api", "api"), pipeline.Step{Key: "lost",
				Plugin: &pipeline.PluginStep{Name: "lost"}})
		}, asked: object{"project": "lost"}, check: "plugin", code: "image_gone",
			says: "no longer has"},
		"a secret has no value": {seed: changedError("secretless", "api", func(s *pipeline.Step) {
			s.Service.Env["KEY"] = "${{ secrets.MISSING }}"
		}), asked: object{"project": "secretless"}, check: "secret", code: "secret_missing",
			says: "MISSING"},
		"a field does not fit": {seed: changedError("unfitting", "seed", func(s *pipeline.Step) {
			s.Plugin.Parameters = map[string]any{"rows": "many"}
			s.Plugin.Component.Parameters = map[string]any{"type": "object",
				"properties": map[string]any{"rows": map[string]any{"type": "integer"}}}
		}), asked: object{"project": "unfitting"}, check: "schema", code: "pipeline_outdated",
			says: "step seed, plugin.parameters.rows"},
		"a reference to nobody": {seed: changedError("lost-reference", "api", func(s *pipeline.Step) {
			s.Service.Env["SEEDED"] = "${{ steps.nobody.outputs.rows }}"
		}), asked: object{"project": "lost-reference"}, check: "reference",
			code: "pipeline_outdated", says: `no step "nobody"`},
		"no node is large enough": {seed: func(w *world) {
			big := toService("api", "api")
			big.Service.Resources.MemoryMiB = 100 << 10
			w.project("big", big)
		}, asked: object{"project": "big"}, check: "capacity", code: "no_room",
			says: "It asks for 107 GB of memory"},
		"no address range is free": {seed: func(w *world) {
			w.saysOfItself(controlplane.Inventory{Subnets: 1}, 1<<39)
		}, check: "address", code: "no_room", says: "No address range is free"},
		"the disk is full": {seed: func(w *world) {
			w.saysOfItself(controlplane.Inventory{}, 1<<20)
		}, check: "disk", code: "no_room", says: "Only 1.0 MB of disk is free"},
	}
}

// Each fault yields one message with a remedy, creating is refused for the same reason, and neither
// writes anything.
func TestPreflight_SeededFaults(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	w.expectSaved(w.catalog.PutProject(t.Context(), system, catalog.ProjectPut{Name: "bare"}))
	w.deploy("first")
	tokens := map[string]string{"": w.token("root"), "reader": w.token("reader")}
	all := allFaults()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		t.Run(name, func(t *testing.T) {
			f := all[name]
			w.saysOfItself(controlplane.Inventory{}, 1<<39)
			if f.seed != nil {
				f.seed(w)
			}
			body := object{"name": "second", "project": "shop", "environment": "qa",
				"versions": object{"api": "1.0"}}
			maps.Copy(body, f.asked)
			before := w.rows(tokens[""])
			oneFault(t, w, f, tokens[f.as], body)
			if after := w.rows(tokens[""]); before != after {
				t.Errorf("rows before %s, after %s", before, after)
			}
		})
	}
}

func oneFault(t *testing.T, w *world, f fault, token string, body object) {
	t.Helper()
	found := w.preflight(token, body)
	var failed []api.PreflightCheck
	for _, c := range found.Checks {
		if c.State == api.PreflightCheckStateFailed {
			failed = append(failed, c)
		}
	}
	if found.Ok || len(failed) != 1 {
		t.Fatalf("ok %t, failed %+v; wanted one", found.Ok, failed)
	}
	c := failed[0]
	if c.Id != f.check || *c.Code != f.code || !strings.Contains(c.Message, f.says) ||
		c.Remedy == nil {
		t.Errorf("check %s, code %s, remedy %v: %s\nwanted %s, %s: %s", c.Id, *c.Code, c.Remedy,
			c.Message, f.check, f.code, f.says)
	}
	refused := w.call("POST", "/api/v1/deployments", token, body)
	if refused.status < 400 || refused.field("code") != f.code {
		t.Errorf("creating answers %d %s; wanted %s", refused.status, refused.body, f.code)
	}
}

func (w *world) preflight(token string, body object) (found api.Preflight) {
	w.t.Helper()
	a := w.call("POST", "/api/v1/deployments/preflight", token, body)
	if a.status != http.StatusOK {
		w.t.Fatalf("preflight: %d %s", a.status, a.body)
	}
	if err := json.Unmarshal(a.body, &found); err != nil {
		w.t.Fatal(err)
	}
	return found
}

// rows counts everything that a deployment is made of.
func (w *world) rows(token string) string {
	w.t.Helper()
	var all api.DeploymentList
	w.got("/api/v1/deployments?removed=true", token, &all)
	var queue api.QueueList
	w.got("/api/v1/queue?history=true", token, &queue)
	var names []string
	for _, d := range all.Items {
		names = append(names, d.Name)
	}
	for _, q := range queue.Items {
		names = append(names, q.Id)
	}
	return strings.Join(names, " ")
}

// Where nothing is wrong, pre-flight says so, check by check and node by node,
// and creating then works.
func TestPreflight_AllIsWell(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	root := w.token("root")
	body := object{"name": "second", "project": "shop", "environment": "qa",
		"versions": object{"api": "1.0"}}
	before := w.rows(root)
	found := w.preflight(root, body)
	if after := w.rows(root); before != after {
		t.Errorf("rows before %s, after %s", before, after)
	}
	seen := map[string]bool{}
	for _, c := range found.Checks {
		seen[c.Id] = true
		if c.State == api.PreflightCheckStateFailed || c.Message == "" {
			t.Errorf("%+v", c)
		}
	}
	for id := range strings.FieldsSeq("name project environment access pipeline secret schema " +
		"reference tag platform registry plugin host capacity address disk") {
		if !seen[id] {
			t.Errorf("no check %s", id)
		}
	}
	if !found.Ok || len(found.Nodes) != 1 || !found.Nodes[0].Fits || len(found.Versions) != 1 ||
		!strings.HasPrefix(found.Versions[0].Digest, "sha256:") {
		t.Errorf("%+v", found)
	}
	if a := w.call("POST", "/api/v1/deployments", root, body); a.status != http.StatusCreated {
		t.Errorf("creating: %d %s", a.status, a.body)
	}
}

func toService(key pipeline.StepKey, name string) pipeline.Step {
	return pipeline.Step{Key: key, Service: &pipeline.ServiceStep{Name: name,
		Ports:     []pipeline.Port{{Name: "http", Port: 8080, Expose: true}},
		Resources: pipeline.Resources{CPU: 0.1, MemoryMiB: 64}}}
}

func (w *world) service(name, image, pattern string) {
	w.t.Helper()
	w.expectSaved(w.catalog.PutService(w.t.Context(), system, catalog.ServicePut{Name: name,
		Registry: "local", Image: image, TagMode: pipeline.Selectable, Pattern: pattern}))
}

// project saves a pipeline of these steps as a project's first version.
func (w *world) project(name string, steps ...pipeline.Step) {
	w.t.Helper()
	w.expectSaved(w.catalog.PutProject(w.t.Context(), system, catalog.ProjectPut{Name: name}))
	w.expectSaved(w.catalog.SavePipeline(w.t.Context(), system, name,
		pipeline.Pipeline{Format: 1, Steps: steps}, ""))
}

// When there is no room, both the pre-flight and the refusal name the deployment that frees some
// soonest by itself; one that the person may not see has no name.
func TestPreflight_SaysWhatFreesRoomSoonest(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	w.saysOfItself(controlplane.Inventory{}, 1<<39)
	w.expectSaved(w.catalog.PutEnvironment(t.Context(), system, catalog.EnvironmentPut{Name: "qa",
		Domain: "localhost", CleanupAfterHours: 24}))
	w.deploy("first")
	big := toService("api", "api")
	big.Service.Resources.MemoryMiB = 64 << 10
	w.project("big", big)
	w.expectSaved(w.accounts.PutTeam(t.Context(), system, accounts.TeamPut{Name: "big",
		Members: []string{"stranger"},
		Grants:  []controlplane.TeamGrant{{Project: "big", Level: controlplane.LevelFull}}}))
	body := object{"name": "second", "project": "big", "environment": "qa",
		"versions": object{"api": "1.0"}}
	for who, name := range map[string]string{"root": "first", "stranger": "Another deployment"} {
		want := name + " ends by itself in 23 hours, unless somebody uses it."
		a := w.call("POST", "/api/v1/deployments", w.token(who), body)
		if a.field("code") != "no_room" || !strings.Contains(string(a.body), want) {
			t.Errorf("refused to %s: %s, want %q", who, a.body, want)
		}
		said := ""
		for _, c := range w.preflight(w.token(who), body).Checks {
			if c.Remedy != nil && c.Id == "capacity" {
				said = *c.Remedy
			}
		}
		if !strings.HasPrefix(said, want) {
			t.Errorf("pre-flight of %s: %q, want %q", who, said, want)
		}
	}
}

// Where nothing ends by itself, the pre-flight and the refusal name what makes room when it is
// removed: the asker's own first, then what was used longest ago, and only what they may remove.
func TestPreflight_NamesWhatMakesRoomWhenRemoved(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	w.saysOfItself(controlplane.Inventory{}, 1<<39)
	for name, memory := range map[string]int{"tiny": 64, "half": 30 << 10, "big": 32 << 10,
		"most": 60 << 10} {
		step := toService("api", "api")
		step.Service.Resources.MemoryMiB = memory
		w.project(name, step)
	}
	grants := []controlplane.TeamGrant{{Project: "big", Level: controlplane.LevelFull},
		{Project: "most", Level: controlplane.LevelFull},
		{Project: "tiny", Level: controlplane.LevelFull}}
	team := func(half ...controlplane.TeamGrant) {
		t.Helper()
		w.expectSaved(w.accounts.PutTeam(t.Context(), system, accounts.TeamPut{Name: "big",
			Members: []string{"stranger"}, Grants: append(half, grants...)}))
	}
	onHalf := func(l controlplane.Level) controlplane.TeamGrant {
		return controlplane.TeamGrant{Project: "half", Level: l}
	}
	team(onHalf(controlplane.LevelFull))
	root, stranger := w.token("root"), w.token("stranger")
	// What frees too little is not named, although it is theirs and was used longest ago.
	w.expect(http.StatusCreated, "POST", "/deployments", stranger, object{"name": "tiny-1",
		"project": "tiny", "environment": "qa", "versions": object{"api": "1.0"}}, nil)
	for name, token := range map[string]string{"half-1": root, "half-2": stranger} {
		w.expect(http.StatusCreated, "POST", "/deployments", token, object{"name": name,
			"project": "half", "environment": "qa", "versions": object{"api": "1.0"}}, nil)
	}
	const frees = "frees 0.1 cores and 32 GB of memory, last used a minute ago)"
	first, second := "half-1 (%s, "+frees, "half-2 (%s, "+frees
	remove := "To make room now, remove %s. An admin can add a node."
	generic := "Remove a deployment, or ask an admin to add a node."
	says := func(when, token, project, want string) {
		t.Helper()
		body := object{"name": "new", "project": project, "environment": "qa",
			"versions": object{"api": "1.0"}}
		a := w.call("POST", "/api/v1/deployments", token, body)
		if a.field("code") != "no_room" || a.field("remedy") != want {
			t.Errorf("%s, refused: %s, want %q", when, a.body, want)
		}
		for _, c := range w.preflight(token, body).Checks {
			if c.Id == "capacity" && (c.Remedy == nil || *c.Remedy != want) {
				t.Errorf("%s, pre-flight: %+v, want %q", when, c, want)
			}
		}
		body["wait"] = true
		removal, _, _ := strings.Cut(want, " An admin")
		for _, c := range w.preflight(token, body).Checks {
			if c.Id == "capacity" && want != generic && !strings.HasSuffix(c.Message, removal) {
				t.Errorf("%s, pre-flight of one that waits: %+v, want %q", when, c, removal)
			}
		}
	}
	yours, roots, strangers := "yours", "made by root", "made by stranger"
	says("an admin", root, "big", fmt.Sprintf(remove,
		fmt.Sprintf(first, yours)+" or "+fmt.Sprintf(second, strangers)))
	says("with full access", stranger, "big", fmt.Sprintf(remove,
		fmt.Sprintf(second, yours)+" or "+fmt.Sprintf(first, roots)))
	says("both are needed", stranger, "most", fmt.Sprintf(remove,
		fmt.Sprintf(second, yours)+" and "+fmt.Sprintf(first, roots)))
	held := w.deploymentNamed(root, "half-1")
	w.expect(http.StatusOK, "PUT", "/deployments/"+held+"/hold", root, object{"reason": "demo"}, nil)
	says("held by somebody else", stranger, "big", fmt.Sprintf(remove, fmt.Sprintf(second, yours)))
	says("held by somebody else, and needed", stranger, "most", generic)
	says("held by oneself", root, "most", fmt.Sprintf(remove,
		fmt.Sprintf(first, yours)+" and "+fmt.Sprintf(second, strangers)))
	team(onHalf(controlplane.LevelRead))
	says("may only look", stranger, "big", generic)
	team()
	says("sees nothing", stranger, "big", generic)
}

// deploymentNamed returns the id of a deployment.
func (w *world) deploymentNamed(token, name string) string {
	w.t.Helper()
	var all api.DeploymentList
	w.got("/api/v1/deployments", token, &all)
	for _, d := range all.Items {
		if d.Name == name {
			return d.Id
		}
	}
	w.t.Fatalf("no deployment is called %s", name)
	return ""
}

func (w *world) deployOf(project, name, step string) {
	w.t.Helper()
	a := w.call("POST", "/api/v1/deployments", w.token("root"), object{"name": name,
		"project": project, "environment": "qa", "versions": object{step: "1.0"}})
	if a.status != http.StatusCreated {
		w.t.Fatalf("deploy %s: %d %s", name, a.status, a.body)
	}
}

// changedError makes a project with a pipeline that no door would let in today.
func changedError(name string, key pipeline.StepKey, change func(*pipeline.Step)) func(*world) {
	return func(w *world) {
		ctx, value := w.t.Context(), controlplane.NewPlain(projectSecret)
		w.expectSaved(w.catalog.PutProject(ctx, system, catalog.ProjectPut{Name: name}))
		w.expectSaved(w.catalog.PutSecret(ctx, system, catalog.SecretPut{Project: name,
			Name: "API_TOKEN", Value: &value}))
		w.expectSaved(w.catalog.SavePipeline(ctx, system, name, shopPipeline(), ""))
		w.expectSaved(nil, w.store.InTx(ctx, func(tx *postgres.Tx) error {
			project, err := tx.Projects().ByName(ctx, name)
			if err != nil {
				return err
			}
			v, _, err := tx.Pipelines().GetLatest(ctx, project.ID)
			if err != nil {
				return err
			}
			for i := range v.Pipeline.Steps {
				if v.Pipeline.Steps[i].Key == key {
					change(&v.Pipeline.Steps[i])
				}
			}
			v.Version++
			if v.Digest, err = pipeline.Digest(v.Pipeline); err != nil {
				return err
			}
			return tx.Pipelines().InsertVersion(ctx, v)
		}))
	}
}

// saysOfItself is what the node reports about itself: a machine with an Intel processor.
func (w *world) saysOfItself(i controlplane.Inventory, diskFree int64) {
	w.t.Helper()
	ctx := w.t.Context()
	i.Hostname, i.CPU, i.Memory, i.Disk, i.Arch = "node-1", 64, 64<<30, 1<<40, "x86_64"
	w.expectSaved(nil, w.store.InTx(ctx, func(tx *postgres.Tx) error {
		if err := tx.Nodes().SetInventory(ctx, w.node, "test", i); err != nil {
			return err
		}
		return tx.Nodes().SetVitals(ctx, w.node,
			controlplane.NodeVitals{At: time.Now(), DiskFree: diskFree})
	}))
}
