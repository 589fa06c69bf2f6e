package api_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/api"
	"github.com/nullops/nullops/controlplane/nodes"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/pipeline"
)

// storeUsage stores what a node's agent measured: the use of CPU since then, every five seconds,
// and of memory now, none of it by deployments.
func (w *world) storeUsage(node controlplane.NodeID, since time.Duration, cpu float64,
	memory int64) {
	w.t.Helper()
	now := time.Now()
	var all []controlplane.UsageSum
	for at := now.Add(-since); at.Before(now); at = at.Add(5 * time.Second) {
		all = append(all, controlplane.UsageSum{Node: node, Subject: string(node), At: at,
			Count: 1, CPU: cpu, CPUMax: cpu})
	}
	w.expectSaved(nil, w.store.InTx(w.t.Context(), func(tx *postgres.Tx) error {
		if err := tx.Usage().Add(w.t.Context(), all); err != nil {
			return err
		}
		return tx.Nodes().SetVitals(w.t.Context(), node, controlplane.NodeVitals{At: now, CPU: cpu,
			MemoryUsed: memory, DiskFree: 1 << 39})
	}))
}

// refusedWith creates a deployment that no node may take, and says that the table of nodes, of
// the answer and of the pre-flight, has the reason.
func (w *world) refusedWith(name, reason string, more map[string]any) {
	w.t.Helper()
	a := w.create(w.token("root"), name, more)
	if a.status != http.StatusConflict || !strings.Contains(string(a.body), reason) {
		w.t.Errorf("%s: %d %s; want %q", name, a.status, a.body, reason)
	}
	body := map[string]any{"name": name, "project": "shop", "environment": "qa",
		"versions": map[string]string{"api": "1.0"}}
	maps.Copy(body, more)
	a = w.call("POST", "/api/v1/deployments/preflight", w.token("root"), body)
	p := decodeAnswer[api.Preflight](w.t, a)
	for _, n := range p.Nodes {
		if n.Reason != nil && strings.Contains(*n.Reason, reason) {
			return
		}
	}
	w.t.Errorf("pre-flight of %s says %+v; want %q", name, p.Nodes, reason)
}

func (w *world) deployPlaced(name string, more map[string]any) (d api.Deployment) {
	w.t.Helper()
	a := w.create(w.token("root"), name, more)
	if a.status != http.StatusCreated {
		w.t.Fatalf("%s: %d %s", name, a.status, a.body)
	}
	w.expectSaved(nil, json.Unmarshal(a.body, &d))
	return d
}

func (w *world) counts(status int, rules map[string]any) {
	w.t.Helper()
	a := w.call("PUT", "/api/v1/environments/qa", w.token("root"),
		map[string]any{"domain": "localhost", "capacity": rules})
	if a.status != status {
		w.t.Fatalf("%v: %d %s", rules, a.status, a.body)
	}
}

// What other programs of a machine use, CPU or memory, is not promised to deployments.
func TestPlacement_CountsWhatIsReallyUsed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	w.expectSaved(w.nodes.DisableNode(t.Context(), system, "node-1"))
	hog := w.machine("hog", controlplane.Inventory{CPU: 1, Memory: 16 << 30, Disk: 1 << 40})
	w.storeUsage(hog, 0, 0.1, 16<<30-32<<20)
	// promise: N-131
	w.refusedWith("one", "is used by processes that are not ours", nil)
	w.storeUsage(hog, 2*time.Minute, 0.99, 1<<30)
	w.deployPlaced("busy-not-long", nil)
	w.counts(http.StatusOK, map[string]any{"busy_cpu_percent": 95, "busy_seconds": 60})
	// promise: N-131
	w.refusedWith("two", "It is busy: for 1 minute, at least 95 % of its CPU has been in use.", nil)
	w.counts(http.StatusOK, map[string]any{"busy_cpu_percent": 100})
	w.deployPlaced("never-busy", nil)
	w.counts(http.StatusOK, map[string]any{"busy_seconds": 60})
	w.refusedWith("three", "at least 90 % of its CPU", nil)
	w.expectSaved(nil, w.store.InTx(t.Context(), func(tx *postgres.Tx) error {
		return tx.Usage().Add(t.Context(), []controlplane.UsageSum{{Node: hog, Subject: string(hog),
			At: time.Now().Add(-31 * time.Second), Count: 1, CPU: 0.2}})
	}))
	w.deployPlaced("it-rested", nil)
}

// How often CPU is promised is the environment's decision, and each node shows it.
func TestPlacement_OvercommitIsTheEnvironments(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	root := w.token("root")
	w.expectSaved(w.nodes.DisableNode(t.Context(), system, "node-1"))
	w.machine("one-core", controlplane.Inventory{CPU: 1, Memory: 16 << 30, Disk: 1 << 40})
	over := func() float64 {
		var n api.Node
		w.got("/api/v1/nodes/one-core", root, &n)
		return *n.CpuOvercommit
	}
	if got := over(); got != controlplane.DefaultCPUOvercommit {
		t.Errorf("without a rule, it is %g", got)
	}
	w.counts(http.StatusOK, map[string]any{"cpu_overcommit": 0.2})
	if got := over(); got != 0.2 {
		t.Errorf("it is %g", got)
	}
	w.deployPlaced("first", nil)
	w.deployPlaced("second", nil)
	w.refusedWith("third", "0.1 cores short.", nil)
	w.counts(http.StatusOK, map[string]any{"cpu_overcommit": 0.3})
	w.deployPlaced("third", nil)
	var e api.Environment
	w.got("/api/v1/environments/qa", root, &e)
	if e.Capacity == nil || *e.Capacity.CpuOvercommit != 0.3 {
		t.Errorf("the environment shows %+v", e.Capacity)
	}
	for _, wrong := range []map[string]any{{"cpu_overcommit": 0.01}, {"busy_seconds": 5}} {
		w.counts(http.StatusBadRequest, wrong)
	}
}

// showsGPUCluster reads what other products store of a cluster of GPU replicas: the pipeline has
// the image and the GPUs of each, and each deployment is a replica with an address of its own.
func (w *world) showsGPUCluster(root string) {
	w.t.Helper()
	var project api.PipelineVersion
	w.got("/api/v1/projects/shop/pipeline", root, &project)
	service := project.Pipeline.Steps[0].Service
	// promise: V-28
	if service.GPUs == nil || service.GPUs.Count != 1 || service.GPUs.VRAMMiB != 20<<10 ||
		service.Image == nil || service.Image.Repository == "" {
		w.t.Errorf("the service has the GPUs %+v and the image %+v", service.GPUs, service.Image)
	}
	var replicas api.DeploymentList
	w.got("/api/v1/deployments?project=shop", root, &replicas)
	urls := map[string]bool{}
	for _, d := range replicas.Items {
		for _, s := range w.showDeployment(root, d.Id).Services {
			if s.Url != nil {
				urls[*s.Url] = true
			}
		}
	}
	// promise: V-28
	if len(replicas.Items) != 2 || len(urls) != 2 {
		w.t.Errorf("%d replicas are at %v", len(replicas.Items), urls)
	}
}

// A node that cannot hold secrets takes only what has none.
func TestPlacement_NoSecretsWithoutAFolderInMemory(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	w.expectSaved(w.nodes.DisableNode(t.Context(), system, "node-1"))
	w.machine("bare", controlplane.Inventory{CPU: 8, Memory: 16 << 30, Disk: 1 << 40,
		Checks: []controlplane.Check{{ID: "secrets", Severity: controlplane.SeverityWarning}}})
	// promise: N-334
	w.refusedWith("one", "It has no folder in memory for the secrets and files of services", nil)
	p := shopPipeline()
	p.Steps = p.Steps[:1]
	p.Steps[0].Service.Env = map[string]string{"API_NAME": "shop"}
	w.expectSaved(w.catalog.SavePipeline(t.Context(), system, "shop", p, "no secret"))
	w.deployPlaced("two", nil)
}

// addLabelledNode adds a node with a label.
func (w *world) addLabelledNode(name, zone string) controlplane.NodeID {
	w.t.Helper()
	id := w.machine(name, controlplane.Inventory{CPU: 8, Memory: 16 << 30, Disk: 1 << 40})
	w.expectSaved(w.nodes.PutNode(w.t.Context(), system, nodes.Put{Name: name,
		Environment: "qa", Address: name + ".example:5000",
		Settings: controlplane.NodeSettings{Labels: controlplane.Labels{"zone": zone}}}))
	return id
}

// A request's own labels count as those of the environment do, also while it waits in the queue
// and when it moves.
func TestPlacement_RequiredLabelsOfARequest(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	root := w.token("root")
	w.node = w.addLabelledNode("far", "ams")
	w.addLabelledNode("near", "fra")
	required := func(labels ...string) map[string]any {
		return map[string]any{"required_labels": labels, "wait": false}
	}
	d := w.deployPlaced("one", required("zone=ams"))
	if *d.Node != "far" {
		t.Errorf("it is on %s", *d.Node)
	}
	w.refusedWith("two", "It has no label zone=lon, which is required.", required("zone=lon"))
	a := w.create(root, "three", required("zone=ams", "=lon"))
	if a.status != http.StatusBadRequest ||
		!strings.Contains(string(a.body), "required_labels[1]") {
		t.Errorf("a malformed label: %d %s", a.status, a.body)
	}
	w.deployReady("one")
	a = w.call("POST", "/api/v1/deployments/"+d.Id+"/move", root, map[string]any{})
	if a.status != http.StatusConflict || !strings.Contains(string(a.body), "no label zone=ams") {
		t.Errorf("it moves away from its label: %d %s", a.status, a.body)
	}
	waits := w.deployPlaced("four", map[string]any{"required_labels": []string{"zone=lon"},
		"wait": true})
	w.expectSaved(nil, w.lifecycle.AdmitQueuedRuns(t.Context(), system, false))
	if now := w.showDeployment(root, waits.Id); now.Node != nil ||
		now.Status != api.DeploymentStatusQueued {
		t.Errorf("it did not wait for its label: %+v", now)
	}
	w.addLabelledNode("new", "lon")
	w.expectSaved(nil, w.lifecycle.AdmitQueuedRuns(t.Context(), system, false))
	if now := w.showDeployment(root, waits.Id); now.Node == nil || *now.Node != "new" {
		t.Errorf("it did not take its label: %+v", now)
	}
}

// GPU memory is a budget: the sum of what deployments say they use stays below what the node has,
// and a node may refuse those that do not say it.
func TestPlacement_GPUMemoryIsABudget(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	root := w.token("root")
	w.expectSaved(w.nodes.DisableNode(t.Context(), system, "node-1"))
	w.node = w.machine("gpus", controlplane.Inventory{CPU: 8, Memory: 16 << 30, Disk: 1 << 40,
		GPUs: []controlplane.GPU{{ID: "0", Memory: 24 << 30}, {ID: "1", Memory: 8 << 30},
			{ID: "2", Memory: 8 << 30}}})
	uses := func(g pipeline.GPUs) {
		t.Helper()
		p := shopPipeline()
		p.Steps[0].Service.GPUs = &g
		w.expectSaved(w.catalog.SavePipeline(t.Context(), system, "shop", p, "GPUs"))
	}
	settings := func(hint bool) {
		t.Helper()
		w.expect(http.StatusOK, "PUT", "/nodes/gpus", root, object{"environment": "qa",
			"address": "gpus.example:5000", "settings": object{"require_vram_hint": hint}}, nil)
	}
	settings(true)
	uses(pipeline.GPUs{Count: 1})
	// promise: B-28
	w.refusedWith("one", "only if they say how much GPU memory they use (vram_mib)", nil)
	settings(false)
	w.deployPlaced("without-hint", nil)
	settings(true)
	uses(pipeline.GPUs{Count: 1, VRAMMiB: 48 << 10})
	w.refusedWith("two", "It asks for 52 GB of GPU memory and the node has 43 GB.", nil)
	uses(pipeline.GPUs{Count: 1, VRAMMiB: 20 << 10})
	large := w.deployPlaced("large", nil)
	w.showsGPUCluster(root)
	// Each of two GPUs would have to hold 10 GiB.
	uses(pipeline.GPUs{Count: 2, VRAMMiB: 20 << 10})
	w.refusedWith("three", "It has 1 GPU of 11 GB or more; 2 asked for.", nil)
	// The cards were exchanged for smaller ones: what is allocated stays so.
	w.expectSaved(nil, w.store.InTx(t.Context(), func(tx *postgres.Tx) error {
		return tx.Nodes().SetInventory(t.Context(), w.node, "test", controlplane.Inventory{CPU: 8,
			Memory: 16 << 30, Disk: 1 << 40, GPUs: []controlplane.GPU{{ID: "0", Memory: 12 << 30},
				{ID: "1", Memory: 4 << 30}, {ID: "2", Memory: 8 << 30}}})
	}))
	uses(pipeline.GPUs{DeviceIDs: []string{"2"}, VRAMMiB: 6 << 10})
	// promise: B-28
	w.refusedWith("four", "2.1 GB of GPU memory short: 21 GB of 26 GB is allocated.", nil)
	w.expect(http.StatusAccepted, "DELETE", "/deployments/"+large.Id, root, nil, nil)
	w.reaches(controlplane.Deployment{ID: controlplane.DeploymentID(large.Id)},
		controlplane.Removed)
	w.deployPlaced("four", nil)
}
