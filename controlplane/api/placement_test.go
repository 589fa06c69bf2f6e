package api_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/api"
	"github.com/nullops/nullops/controlplane/nodes"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/internal/testpart"
	"github.com/nullops/nullops/pipeline"
)

// machine adds a node of a size, as if its agent had just connected.
func (w *world) machine(name string, i controlplane.Inventory) controlplane.NodeID {
	w.t.Helper()
	ctx := w.t.Context()
	e, err := w.nodes.AddNode(ctx, system, nodes.Put{Name: name, Environment: "qa",
		Address: name + ".example:5000"})
	w.expectSaved(e, err)
	w.expectSaved(nil, w.store.InTx(ctx, func(tx *postgres.Tx) error {
		if err := tx.Nodes().SetInventory(ctx, e.Node.ID, "test", i); err != nil {
			return err
		}
		if err := tx.Nodes().SetVitals(ctx, e.Node.ID, controlplane.NodeVitals{At: time.Now(),
			DiskFree: 1 << 39}); err != nil {
			return err
		}
		print := controlplane.Thumbprint(fmt.Sprintf("%064x", []byte(name)))
		if _, err := tx.NodeTrust().Trust(ctx, e.Node.ID, print); err != nil {
			return err
		}
		_, err := tx.Nodes().Move(ctx, e.Node.ID, controlplane.NodeOnline, "")
		return err
	}))
	return e.Node.ID
}

func (w *world) create(token, name string, more map[string]any) answer {
	w.t.Helper()
	body := map[string]any{"name": name, "project": "shop", "environment": "qa",
		"versions": map[string]string{"api": "1.0"}}
	maps.Copy(body, more)
	return w.call("POST", "/api/v1/deployments", token, body)
}

func (w *world) got(path, token string, into any) {
	w.t.Helper()
	a := w.call("GET", path, token, nil)
	if a.status != http.StatusOK {
		w.t.Fatalf("GET %s: %d %s", path, a.status, a.body)
	}
	if err := json.Unmarshal(a.body, into); err != nil {
		w.t.Fatal(err)
	}
}

// Thirty people at once want what ten can have: ten get it, on nodes that have
// it, and no GPU is given twice.
func TestPlacement_RacersNeverOverbook(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	root := w.token("root")
	w.expectSaved(w.nodes.DisableNode(t.Context(), system, "node-1"))
	const each, racers = 5, 30
	for _, name := range []string{"race-a", "race-b"} {
		var gpus []controlplane.GPU
		for i := range each {
			gpus = append(gpus, controlplane.GPU{ID: fmt.Sprint(i), Memory: 8 << 30})
		}
		w.machine(name, controlplane.Inventory{CPU: 64, Memory: (each*64 + 32) << 20,
			Disk: 1 << 40, GPUs: gpus})
	}
	p := shopPipeline()
	p.Steps[0].Service.GPUs = &pipeline.GPUs{Count: 1}
	w.expectSaved(w.catalog.SavePipeline(t.Context(), system, "shop", p, "with a GPU"))
	answers := make([]answer, racers)
	var all sync.WaitGroup
	for i := range racers {
		all.Go(func() { answers[i] = w.create(root, fmt.Sprintf("racer-%d", i), nil) })
	}
	all.Wait()
	made := 0
	for _, a := range answers {
		switch a.status {
		case http.StatusCreated:
			made++
		case http.StatusConflict, http.StatusUnprocessableEntity:
			if !strings.Contains(string(a.body), `"no_room"`) {
				t.Errorf("refused for another reason: %s", a.body)
			}
		default:
			t.Errorf("%d %s", a.status, a.body)
		}
	}
	// promise: N-130, N-140
	if made != 2*each {
		t.Errorf("%d were placed, %d fit", made, 2*each)
	}
	for _, name := range []string{"race-a", "race-b"} {
		var n api.Node
		w.got("/api/v1/nodes/"+name, root, &n)
		if n.Deployments != each || n.Allocated.MemoryMiB != each*64 {
			t.Errorf("%s has %d deployments with %d MiB", name, n.Deployments,
				n.Allocated.MemoryMiB)
		}
		w.eachGPUOnce(name, each)
	}
}

// eachGPUOnce checks the agents' goals against what was reserved.
func (w *world) eachGPUOnce(node string, want int) {
	w.t.Helper()
	given := map[string]bool{}
	n, err := w.nodes.GetNode(w.t.Context(), system, node)
	w.expectSaved(n, err)
	orders, _, err := w.lifecycle.NodeGoals(w.t.Context(), system, n.ID)
	w.expectSaved(orders, err)
	for _, o := range orders {
		s, _ := o.Pipeline.Step("api")
		if g := s.Service.GPUs; g == nil || len(g.DeviceIDs) != 1 || given[g.DeviceIDs[0]] {
			w.t.Errorf("%s: %s is given %+v, after %v", node, o.Name, g, given)
		} else {
			given[g.DeviceIDs[0]] = true
		}
	}
	if len(given) != want {
		w.t.Errorf("%s: GPUs %v, want %d", node, given, want)
	}
}

// Anyone who may deploy may do so as often as there is room: nobody counts a user's or a team's
// deployments, nor how many are begun at once.
func TestPlacement_NoQuotas(t *testing.T) {
	testpart.Rotate(t)
	t.Parallel()
	w := newWorld(t)
	w.shop()
	const many, atOnce = 100, 10
	token := w.token("full")
	var all sync.WaitGroup
	for i := range atOnce {
		all.Go(func() {
			for n := range many / atOnce {
				// promise: N-139
				if a := w.create(token, fmt.Sprintf("mine-%d-%d", i, n), nil); a.status !=
					http.StatusCreated {
					t.Errorf("deployment %d of user full: %d %s", i*many/atOnce+n, a.status, a.body)
				}
			}
		})
	}
	all.Wait()
	var n api.Node
	w.got("/api/v1/nodes/node-1", w.token("root"), &n)
	// promise: N-139
	if n.Deployments != many {
		t.Errorf("%d deployments are on the node", n.Deployments)
	}
}

// No answer that a user gets tells what nodes have left, until creating fails for
// want of it: then the refusal does, node by node.
func TestPlacement_RoomIsShownOnRefusalOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	d := w.deploy("first")
	token, figures := w.token("full"), []string{`"cpu_free"`, `"memory_free"`, `"allocated"`,
		`"inventory"`, `"vitals"`, `"disk_free"`, `"memory":68719476736`}
	told := func(a answer) (found []string) {
		for _, f := range figures {
			if strings.Contains(string(a.body), f) {
				found = append(found, f)
			}
		}
		return found
	}
	var node answer
	if node = w.call("GET", "/api/v1/nodes/node-1", w.token("root"), nil); len(told(node)) < 3 {
		t.Fatalf("an admin sees %v of the node: %s", told(node), node.body)
	}
	read, all := 0, readOperations(t)
	for _, id := range operationNames(all) {
		o := all[id]
		if !o.reads() || o.access == access.Public {
			continue
		}
		a := w.call(o.method, fillPath(o.visit.path, d), token, o.visit.body)
		if a.status == http.StatusOK {
			read++
		}
		// promise: N-133
		if found := told(a); a.status == http.StatusOK && len(found) > 0 {
			t.Errorf("%s tells a user %v: %s", id, found, a.body)
		}
	}
	if read < 20 {
		t.Errorf("only %d reads were allowed", read)
	}
	w.expectSaved(w.nodes.DisableNode(t.Context(), system, "node-1"))
	w.machine("tiny", controlplane.Inventory{CPU: 1, Memory: 16 << 20, Disk: 1 << 40})
	// promise: N-133
	if a := w.create(token, "more", nil); a.status != http.StatusConflict ||
		!strings.Contains(string(a.body), `"memory_free":16777216`) {
		t.Errorf("without room: %d %s", a.status, a.body)
	}
}

// Labels, taints and limits of nodes are set over HTTP, the same twice changes
// nothing, and they decide where a deployment goes or why it does not.
func TestPlacement_FollowsSettings(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	root := w.token("root")
	put := func(path string, status int, body map[string]any) answer {
		t.Helper()
		a := w.call("PUT", path, root, body)
		if a.status != status {
			t.Fatalf("PUT %s: %d %s", path, a.status, a.body)
		}
		return a
	}
	settings := func(s map[string]any) map[string]any {
		return map[string]any{"environment": "qa", "address": "127.0.0.1:5000", "settings": s}
	}
	tainted := settings(map[string]any{"labels": map[string]string{"zone": "fra"},
		"taints": []any{map[string]any{"key": "gpu-only", "effect": "no_schedule"}}})
	if a := put("/api/v1/nodes/node-1", 200, tainted); a.field("changed") != "true" {
		t.Errorf("first: %s", a.body)
	}
	// promise: B-07
	if a := put("/api/v1/nodes/node-1", 200, tainted); a.field("changed") != "false" {
		t.Errorf("second: %s", a.body)
	}
	a := w.create(root, "tainted", nil)
	var refused api.Problem
	if err := json.Unmarshal(a.body, &refused); err != nil || refused.Placement == nil ||
		len(*refused.Placement) != 1 ||
		!strings.Contains((*refused.Placement)[0].Reason, "taint gpu-only") {
		t.Fatalf("a taint nobody tolerates: %d %s", a.status, a.body)
	}
	environment := map[string]any{"domain": "localhost",
		"placement": map[string]any{"tolerations": []string{"gpu-only"}}}
	put("/api/v1/environments/qa", 200, environment)
	if a := put("/api/v1/environments/qa", 200, environment); a.field("changed") != "false" {
		t.Errorf("the same environment: %s", a.body)
	}
	if a := w.create(root, "tolerated", nil); a.field("node") != "node-1" {
		t.Fatalf("tolerated: %d %s", a.status, a.body)
	}
	put("/api/v1/projects/shop", 200, map[string]any{
		"resources": map[string]any{"cpu": 2, "memory_mib": 1024},
		"placement": map[string]any{"required": []string{"zone=ber"}}})
	if a := w.create(root, "elsewhere", nil); a.status < 400 ||
		!strings.Contains(string(a.body), "no label zone=ber") {
		t.Errorf("required label: %d %s", a.status, a.body)
	}
	for field, s := range map[string]map[string]any{
		// promise: B-26
		"labels.nullops/gpu": {"labels": map[string]string{"nullops/gpu": "H100"}},
		"labels.a b":         {"labels": map[string]string{"a b": "x"}},
		"taints":             {"taints": []any{map[string]any{"key": "-", "effect": "no_schedule"}}},
		"effect":             {"taints": []any{map[string]any{"key": "a", "effect": "NoSchedule"}}},
		"run_limit":          {"run_limit": -1},
	} {
		a := w.call("PUT", "/api/v1/nodes/node-1", root, settings(s))
		if a.status < 400 || a.status >= 500 || !strings.Contains(a.field("field"), field) {
			t.Errorf("%s: %d %s", field, a.status, a.body)
		}
	}
	if a := put("/api/v1/nodes/later", 200, map[string]any{"environment": "qa",
		"address": "127.0.0.1:5001"}); a.field("created") != "true" {
		t.Errorf("a new node: %s", a.body)
	}
	a = w.call("POST", "/api/v1/nodes/later/token", root, nil)
	if a.status != http.StatusCreated || a.field("token") == "" {
		t.Errorf("its first token: %d %s", a.status, a.body)
	}
}

// A node that has just connected has no size yet. That passes by itself, so the
// answer says to try again instead of that there is no room; and once the size
// is known the same request works. A node that would never do does not count.
func TestCreate_OnANodeWithoutSizeIsAskedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	w.expectSaved(nil, w.store.InTx(t.Context(), func(tx *postgres.Tx) error {
		return tx.Nodes().SetInventory(t.Context(), w.node, "test",
			controlplane.Inventory{Hostname: "n"})
	}))
	root := w.token("root")
	early := w.create(root, "early", nil)
	if early.status != http.StatusServiceUnavailable || early.field("code") != "node_not_ready" ||
		early.header.Get("Retry-After") == "" {
		t.Errorf("a node without size answers %d, %v: %s", early.status, early.header, early.body)
	}
	w.expectSaved(nil, w.store.InTx(t.Context(), func(tx *postgres.Tx) error {
		return tx.Nodes().SetInventory(t.Context(), w.node, "test",
			controlplane.Inventory{Hostname: "n",
				CPU: 64, Memory: 64 << 30, Disk: 1 << 40})
	}))
	if late := w.create(root, "early", nil); late.status != http.StatusCreated {
		t.Errorf("with its size known it answers %d: %s", late.status, late.body)
	}
	w.engineDown(root)
}

// engineDown asks for room on a node whose engine does not answer: that passes
// too, so the answer is to try again, and who chooses to wait is queued.
func (w *world) engineDown(token string) {
	w.t.Helper()
	w.expectSaved(nil, w.store.InTx(w.t.Context(), func(tx *postgres.Tx) error {
		return tx.Nodes().SetInventory(w.t.Context(), w.node, "test",
			controlplane.Inventory{Hostname: "n",
				CPU: 64, Memory: 64 << 30, Disk: 1 << 40, Checks: []controlplane.Check{
					{ID: "engine", Severity: controlplane.SeverityCritical,
						Detail: "It is down."}}})
	}))
	a := w.create(token, "down", nil)
	if a.status != http.StatusServiceUnavailable || a.field("code") != "node_not_ready" ||
		a.header.Get("Retry-After") == "" || !strings.Contains(string(a.body), "engine") {
		w.t.Errorf("without its engine a node answers %d, %v: %s", a.status, a.header, a.body)
	}
	if a := w.create(token, "down", map[string]any{"wait": true}); a.status != http.StatusCreated ||
		a.field("status") != "queued" {
		w.t.Errorf("who waits for the engine is answered %d: %s", a.status, a.body)
	}
}
