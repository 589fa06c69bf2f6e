package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/api"
	"github.com/nullops/nullops/controlplane/postgres"
)

// The control plane holds the one view of nodes, runs and the queue: what a node
// reports changes all three at once, for everybody who asks.
func TestRecords_NodesRunsAndQueueAreOneView(t *testing.T) {
	t.Parallel()
	w, root := queueWorld(t)
	first := w.waits(root, "first", nil)
	second := w.waits(root, "second", nil)
	w.checkView(root, 2, "applying first", first.Id, second.Id, controlplane.Applying)
	w.becomes(root, first.Id, controlplane.Ready)
	w.admit()
	var list api.QueueList
	w.got("/api/v1/queue", root, &list)
	// promise: B-01
	if got := w.listGoals(); len(list.Items) != 0 || got != "first second" {
		t.Errorf("after the report of the first, %d wait and the node is told of %q",
			len(list.Items), got)
	}
	w.becomes(root, second.Id, controlplane.Applying, controlplane.Ready)
	if got := w.showDeployment(root, second.Id); got.Status != "ready" {
		t.Errorf("the second is %s", got.Status)
	}
}

// checkView reports a status for the one that runs, and reads the registry of nodes,
// the runs and the queue.
func (w *world) checkView(root string, placed int, when, runs, waits string,
	status controlplane.DeploymentStatus) {
	w.t.Helper()
	w.becomes(root, runs, status)
	var nodes api.NodeList
	w.got("/api/v1/nodes", root, &nodes)
	var run api.Run
	w.got("/api/v1/deployments/"+runs+"/runs/1", root, &run)
	var queue api.QueueList
	w.got("/api/v1/queue", root, &queue)
	// promise: B-01
	if len(nodes.Items) != 1 || nodes.Items[0].Status != "online" ||
		nodes.Items[0].Deployments != placed {
		w.t.Errorf("%s: the nodes are %+v", when, nodes.Items)
	}
	if string(run.Status) != string(status) || run.Queue.StartedAt == nil {
		w.t.Errorf("%s: the run is %s, in the queue as %+v", when, run.Status, run.Queue)
	}
	if len(queue.Items) != 1 || queue.Items[0].DeploymentId != waits {
		w.t.Errorf("%s: the queue is %+v", when, queue.Items)
	}
}

// A run's record says of which kinds its steps are, what is to be done, how far it
// is, how often a node was told, and when; a deployment's record says on which node
// it is, how its services are, and where they answer.
func TestRecords_OfRunsAndDeployments(t *testing.T) {
	t.Parallel()
	w, root := queueWorld(t)
	first := w.waits(root, "first", nil)
	if got := w.listGoals(); got != "first" {
		t.Fatalf("the node is told of %q", got)
	}
	d, err := w.lifecycle.Get(t.Context(), system, controlplane.DeploymentID(first.Id))
	w.expectSaved(d, err)
	w.expectSaved(nil, w.lifecycle.MarkDelivered(t.Context(), system, []controlplane.RunID{d.RunID}))
	w.becomes(root, first.Id, controlplane.Applying)
	w.reportHealth(d, "unhealthy", "it answers 500", 3)
	shown := w.showDeployment(root, first.Id)
	service := shown.Services[0]
	// promise: V-29
	if shown.Node == nil || *shown.Node != "node-1" || service.Health != "unhealthy" ||
		service.Url == nil || !strings.HasPrefix(*service.Url, "http://api.first.qa.localhost") {
		t.Errorf("on node %v, service %+v", shown.Node, service)
	}
	w.becomes(root, first.Id, controlplane.Ready)
	var run api.Run
	w.got("/api/v1/deployments/"+first.Id+"/runs/1", root, &run)
	// promise: V-30
	if len(run.Steps) != 2 || run.Steps[0].Kind != api.StepKindService ||
		run.Steps[1].Kind != api.StepKindPlugin || run.Status != "ready" {
		t.Errorf("a run that is %s, with steps %+v", run.Status, run.Steps)
	}
	if len(run.Versions) != 1 || run.PipelineVersion != 1 ||
		!strings.HasPrefix(run.Versions[0].Digest, "sha256:") {
		t.Errorf("what is to be done: pipeline version %d with %+v", run.PipelineVersion, run.Versions)
	}
	q := run.Queue
	// promise: V-30
	if q == nil || q.Attempts != 1 || run.CreatedAt.IsZero() || q.QueuedAt.IsZero() ||
		q.StartedAt == nil || run.EndedAt == nil || run.EndedAt.Before(*q.StartedAt) {
		t.Errorf("ended %v, in the queue %+v", run.EndedAt, q)
	}
}

// Each decision of the control plane about a node leaves a record that people can
// read: it was registered, something was scheduled on it, it is well or not, and
// what was moved away from it and where to.
func TestRecords_OfDecisions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	root := w.token("root")
	w.deploy("first")
	d := w.deployReady("first")
	path := "/deployments/" + string(d.ID)
	w.reportHealth(d, "unhealthy", "it answers 500", 0)
	shown := w.showDeployment(root, string(d.ID))
	// promise: V-01
	if *shown.Node != "node-1" || shown.Services[0].Health != "unhealthy" {
		t.Errorf("on node %v, services %+v", shown.Node, shown.Services)
	}
	w.expectSaved(nil, w.store.InTx(t.Context(), func(tx *postgres.Tx) error {
		_, err := tx.Nodes().Move(t.Context(), w.node, controlplane.NodeOffline, "it is silent")
		return err
	}))
	var events api.NodeEventList
	w.got("/api/v1/nodes/node-1/events", root, &events)
	kinds := map[string]bool{}
	for _, e := range events.Items {
		kinds[e.Kind] = true
	}
	// promise: V-01
	if !kinds["added"] || !kinds["online"] || !kinds["offline"] {
		t.Errorf("the node's events are %+v", events.Items)
	}
	if shown = w.showDeployment(root, string(d.ID)); shown.NodeOfflineSince == nil {
		t.Errorf("its node is offline: %+v", shown)
	}
	var run api.Run
	w.got("/api/v1"+path+"/runs/1", root, &run)
	// promise: V-01
	if run.Queue == nil || run.Queue.StartedAt == nil {
		t.Errorf("when it was scheduled: %+v", run.Queue)
	}
	w.expectSaved(nil, w.store.InTx(t.Context(), func(tx *postgres.Tx) error {
		_, err := tx.Nodes().Move(t.Context(), w.node, controlplane.NodeOnline, "")
		return err
	}))
	w.machine("node-2", controlplane.Inventory{CPU: 8, Memory: 8 << 30, Disk: 1 << 40})
	w.expect(http.StatusAccepted, "POST", path+"/move", root, object{}, nil)
	w.reaches(d, controlplane.Removed)
	if n, err := w.lifecycle.FinishMoves(t.Context(), system); n != 1 || err != nil {
		t.Fatalf("%d arrived, %v", n, err)
	}
	// promise: V-01
	if shown = w.showDeployment(root, string(d.ID)); shown.MovedTo == nil ||
		*w.showDeployment(root, *shown.MovedTo).Node != "node-2" {
		t.Errorf("moved to %v", shown.MovedTo)
	}
	entries := w.call("GET", "/api/v1/audit?action=move", root, nil)
	if !strings.Contains(string(entries.body), "first") {
		t.Errorf("who moved it: %s", entries.body)
	}
}
