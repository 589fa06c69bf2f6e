package api_test

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/api"
	"github.com/nullops/nullops/controlplane/jobs"
	"github.com/nullops/nullops/controlplane/lifecycle"
	"github.com/nullops/nullops/controlplane/nodes"
	"github.com/nullops/nullops/controlplane/postgres"
)

// queueWorld is a shop whose only node takes one run at a time.
func queueWorld(t *testing.T) (w *world, root string) {
	t.Helper()
	w = newWorld(t)
	w.shop()
	w.expectSaved(w.nodes.PutNode(t.Context(), system, nodes.Put{Name: "node-1",
		Environment: "qa", Address: "127.0.0.1:5000",
		Settings: controlplane.NodeSettings{RunLimit: 1}}))
	return w, w.token("root")
}

// admit is one turn of the queue's loop.
func (w *world) admit() {
	w.t.Helper()
	w.expectSaved(nil, w.lifecycle.AdmitQueuedRuns(context.WithoutCancel(w.t.Context()), system, true))
}

// waits makes a deployment that queues.
func (w *world) waits(root, name string, more map[string]any) api.Deployment {
	w.t.Helper()
	body := map[string]any{"wait": true}
	maps.Copy(body, more)
	a := w.create(root, name, body)
	if a.status != http.StatusCreated {
		w.t.Fatalf("%s: %d %s", name, a.status, a.body)
	}
	return w.showDeployment(root, a.field("id"))
}

func (w *world) showDeployment(root, id string) (d api.Deployment) {
	w.t.Helper()
	w.got("/api/v1/deployments/"+id, root, &d)
	return d
}

// listGoals lists the deployments in the agent's goals.
func (w *world) listGoals() string {
	w.t.Helper()
	orders, _, err := w.lifecycle.NodeGoals(w.t.Context(), system, w.node)
	w.expectSaved(orders, err)
	var names []string
	for _, o := range orders {
		names = append(names, o.Name)
	}
	return strings.Join(names, " ")
}

// becomes has the node report a deployment through to the status.
func (w *world) becomes(root, id string, all ...controlplane.DeploymentStatus) {
	w.t.Helper()
	for _, status := range all {
		d, err := w.lifecycle.Get(w.t.Context(), system, controlplane.DeploymentID(id))
		w.expectSaved(d, err)
		w.report(d, lifecycle.Report{Status: status})
	}
}

// One run at a time: the others wait in the order of their priority, nobody
// tells the agent of them, and each starts when its turn has come. What was
// queued, started and ended is on record.
func TestQueue_WaitsForARunToSpare(t *testing.T) {
	t.Parallel()
	w, root := queueWorld(t)
	first := w.waits(root, "first", nil)
	if first.Queue != nil || first.Node == nil {
		t.Fatalf("the first has to start at once: %+v", first.Queue)
	}
	// promise: B-16
	if a := w.create(root, "refused", nil); a.status < 400 ||
		!strings.Contains(string(a.body), "takes 1 run at a time and has 1") {
		t.Errorf("who does not wait: %d %s", a.status, a.body)
	}
	low := w.waits(root, "low", map[string]any{"priority": 200})
	usual := w.waits(root, "usual", nil)
	high := w.waits(root, "high", map[string]any{"priority": 10})
	// promise: B-16
	if low.Queue == nil || low.Queue.Position == nil || *low.Queue.Position != 1 {
		t.Errorf("the only one that waits stands at %+v", low.Queue)
	}
	w.admit()
	var list api.QueueList
	w.got("/api/v1/queue", root, &list)
	var line []string
	for _, q := range list.Items {
		line = append(line, fmt.Sprint(*q.Position, " ", q.Deployment, " ", q.Priority))
	}
	// promise: B-30
	if got := strings.Join(line, ", "); got != "1 high 10, 2 usual 128, 3 low 200" {
		t.Errorf("the queue is %s", got)
	}
	if got := w.showDeployment(root, low.Id); got.Queue == nil || *got.Queue.Position != 3 ||
		!strings.Contains(*got.Detail, "takes 1 run") || got.Status != "queued" {
		t.Errorf("low stands at %+v: %v", got.Queue, got.Detail)
	}
	// promise: V-22, B-27
	if got := w.listGoals(); got != "first" {
		t.Errorf("the agent is told of %s", got)
	}
	w.becomes(root, first.Id, controlplane.Applying, controlplane.Ready)
	w.admit()
	if got := w.listGoals(); got != "first high" {
		t.Errorf("after the first, the agent is told of %s", got)
	}
	if got := w.showDeployment(root, usual.Id); *got.Queue.Position != 1 {
		t.Errorf("usual stands at %+v", got.Queue)
	}
	w.becomes(root, high.Id, controlplane.Applying, controlplane.Undoing, controlplane.Failed)
	w.admit()
	if a := w.call("DELETE", "/api/v1/deployments/"+low.Id, root, nil); a.status != 202 ||
		a.field("status") != "canceled" {
		t.Errorf("canceled in the queue: %d %s", a.status, a.body)
	}
	if a := w.waits(root, "low", nil); a.Queue == nil {
		t.Error("its name is not free, or it does not wait")
	}
	w.queueHistory(root, high.Id)
}

func (w *world) queueHistory(root, high string) {
	w.t.Helper()
	var list api.QueueList
	w.got("/api/v1/queue?history=true&limit=3", root, &list)
	if len(list.Items) != 3 || list.NextCursor == nil || list.Items[0].Deployment != "low" {
		w.t.Fatalf("the newest of the history: %+v", list)
	}
	page := list
	for page.NextCursor != nil {
		next := *page.NextCursor
		page = api.QueueList{}
		w.got("/api/v1/queue?history=true&limit=3&cursor="+next, root, &page)
		list.Items = append(list.Items, page.Items...)
	}
	if len(list.Items) != 5 {
		w.t.Fatalf("%d runs in the history", len(list.Items))
	}
	var run api.Run
	w.got("/api/v1/deployments/"+high+"/runs/1", root, &run)
	q := run.Queue
	// promise: V-24
	if q == nil || q.StartedAt == nil || q.EndedAt == nil || q.StartedAt.Before(q.QueuedAt) ||
		q.EndedAt.Before(*q.StartedAt) || q.Priority != 10 || !q.Wait {
		w.t.Errorf("the way of a run is %+v", q)
	}
	for _, e := range list.Items {
		if e.Deployment == "low" && e.LeftAt != nil && e.StartedAt != nil {
			w.t.Errorf("canceled in the queue, and yet started: %+v", e)
		}
	}
}

// No node has room: a waiting run has no node yet, gets the first with room, and keeps later runs
// from taking it. A run that waited too long fails, with the reason.
func TestQueue_WaitsForRoom(t *testing.T) {
	t.Parallel()
	w, root := queueWorld(t)
	w.expectSaved(w.nodes.DisableNode(t.Context(), system, "node-1"))
	patient := w.waits(root, "patient", nil)
	if patient.Node != nil || patient.Queue == nil ||
		!strings.Contains(*patient.Queue.Reason, "node-1: It is disabled") {
		t.Fatalf("waits on %v for %+v", patient.Node, patient.Queue)
	}
	hasty := w.waits(root, "hasty", map[string]any{"deadline_seconds": 1800})
	w.overdue(hasty.Id)
	w.admit()
	got := w.showDeployment(root, hasty.Id)
	if got.Status != "failed" || got.Failure == nil || got.Failure.Code != "queue_deadline" ||
		!strings.Contains(got.Failure.Message, "It is disabled") {
		t.Errorf("too late: %s %+v", got.Status, got.Failure)
	}
	var late api.Run
	w.got("/api/v1/deployments/"+hasty.Id+"/runs/1", root, &late)
	if q := late.Queue; late.Status != "failed" || late.EndedAt == nil || q == nil ||
		q.Deadline == nil || q.StartedAt != nil ||
		!q.Deadline.Equal(q.QueuedAt.Add(1800*time.Second)) {
		t.Errorf("the run with a deadline: %s, ended %v, %+v", late.Status, late.EndedAt, q)
	}
	if a := w.call("POST", "/api/v1/deployments/"+hasty.Id+"/retry", root,
		map[string]any{"deadline_seconds": 3600}); a.status != 202 || a.field("status") != "queued" {
		t.Errorf("it waits again: %d %s", a.status, a.body)
	}
	w.expectSaved(nil, w.store.InTx(t.Context(), func(tx *postgres.Tx) error {
		for _, to := range []controlplane.NodeStatus{controlplane.NodeOffline,
			controlplane.NodeOnline} {
			if _, err := tx.Nodes().Move(t.Context(), w.node, to, ""); err != nil {
				return err
			}
		}
		return nil
	}))
	if a := w.create(root, "pushy", nil); a.status < 400 ||
		!strings.Contains(string(a.body), "wait for room on it already") {
		t.Errorf("who came later: %d %s", a.status, a.body)
	}
	w.admit()
	if got := w.showDeployment(root, patient.Id); got.Queue != nil || *got.Node != "node-1" {
		t.Errorf("patient has %v and waits %+v", got.Node, got.Queue)
	}
	if got := w.listGoals(); got != "patient" {
		t.Errorf("the agent is told of %s", got)
	}
	if a := w.call("DELETE", "/api/v1/deployments/"+hasty.Id, root, nil); a.status != 202 ||
		a.field("status") != "canceled" {
		t.Errorf("canceled without a node: %d %s", a.status, a.body)
	}
}

// What failed before it got a node is on none: it is removed at once, and its
// name is free again.
func TestQueue_RemovesWhatNeverGotANode(t *testing.T) {
	t.Parallel()
	w, root := queueWorld(t)
	w.expectSaved(w.nodes.DisableNode(t.Context(), system, "node-1"))
	hasty := w.waits(root, "hasty", map[string]any{"deadline_seconds": 1800})
	w.overdue(hasty.Id)
	w.admit()
	if a := w.call("DELETE", "/api/v1/deployments/"+hasty.Id, root, nil); a.status != 202 ||
		a.field("status") != "removed" {
		t.Errorf("removed without a node: %d %s", a.status, a.body)
	}
	w.waits(root, "hasty", nil)
}

// The queue is rows: a control plane that was away finds it as it was. Its loop
// starts who is next by itself, when something changes.
func TestQueue_SurvivesARestart(t *testing.T) {
	t.Parallel()
	w, root := queueWorld(t)
	first := w.waits(root, "first", nil)
	second := w.waits(root, "second", nil)
	third := w.waits(root, "third", map[string]any{"priority": 0})
	log := slog.New(slog.NewTextHandler(w.log, nil))
	listener := postgres.NewListener(w.store, log)
	again := lifecycle.New(lifecycle.Config{Store: w.store, Catalog: w.catalog, Keys: w.keys,
		Log: log})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 2)
	go func() { done <- listener.Run(ctx) }()
	go func() { done <- jobs.Queue(ctx, again, w.store, listener, log) }()
	t.Cleanup(func() {
		cancel()
		_, _ = <-done, <-done
	})
	w.becomes(root, first.Id, controlplane.Applying, controlplane.Ready)
	// promise: B-09, V-20, V-23
	w.until("the third starts", func() bool { return w.listGoals() == "first third" })
	if got := w.showDeployment(root, second.Id); got.Queue == nil || *got.Queue.Position != 1 {
		t.Errorf("second stands at %+v", got.Queue)
	}
	w.becomes(root, third.Id, controlplane.Applying, controlplane.Ready)
	w.until("the second starts", func() bool { return w.listGoals() == "first second third" })
}

func (w *world) until(what string, is func() bool) {
	w.t.Helper()
	for end := time.Now().Add(2 * time.Minute); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			w.t.Fatalf("%s: it did not happen\n%s", what, w.log.String())
		}
	}
}

// Who may not see a deployment does not see it in the queue either, and what
// cannot be asked for is refused.
func TestQueue_ShowsWhatOneMaySee(t *testing.T) {
	t.Parallel()
	w, root := queueWorld(t)
	w.waits(root, "first", nil)
	w.waits(root, "second", nil)
	for user, want := range map[string]int{"reader": 1, "stranger": 0} {
		var list api.QueueList
		w.got("/api/v1/queue", w.token(user), &list)
		if len(list.Items) != want {
			t.Errorf("%s sees %+v", user, list.Items)
		}
	}
	for field, body := range map[string]map[string]any{"priority": {"priority": 256},
		"deadline_seconds": {"deadline_seconds": 0, "wait": true}} {
		a := w.create(root, "refused", body)
		if a.status < 400 || a.status > 499 || !strings.Contains(string(a.body), field) {
			t.Errorf("%s: %d %s", field, a.status, a.body)
		}
	}
}
