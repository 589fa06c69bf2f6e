package lifecycle_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/lifecycle"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/controlplane/postgres/pgtest"
	"github.com/nullops/nullops/pipeline"
)

// oneRunAtATime is a rig whose only node takes one run at a time.
func oneRunAtATime(t *testing.T) *rig {
	t.Helper()
	r := newRig(t)
	pgtest.Exec(t, r.url, `UPDATE nodes SET settings = '{"run_limit": 1}' WHERE id = $1`, r.node)
	return r
}

// createQueued creates a deployment that waits in the queue if no node has room.
func (r *rig) createQueued(
	name string, priority int, patience time.Duration,
) controlplane.Deployment {
	r.t.Helper()
	q := newRequest(name)
	q.Wait, q.Priority, q.Patience = true, priority, patience
	d, err := r.Create(r.t.Context(), system, q)
	r.failOnError(nil, err)
	return d
}

func (r *rig) admitQueued(deadlines bool) {
	r.t.Helper()
	r.failOnError(nil, r.AdmitQueuedRuns(r.t.Context(), system, deadlines))
}

// queuedNames lists the names of the queued deployments, in their order.
func (r *rig) queuedNames() string {
	r.t.Helper()
	all, err := r.Queue(r.t.Context(), system, lifecycle.QueueFilter{Most: 100})
	r.failOnError(nil, err)
	var names []string
	for _, e := range all {
		names = append(names, e.Name)
	}
	return strings.Join(names, " ")
}

// pastDeadline makes the deadline of a deployment's run have passed.
func (r *rig) pastDeadline(id controlplane.DeploymentID) {
	r.t.Helper()
	pgtest.Exec(r.t, r.url, `UPDATE queue SET deadline = deadline - interval '2 hours',
		queued_at = queued_at - interval '2 hours', started_at = started_at - interval '2 hours'
		WHERE deployment_id = $1`, id)
}

func TestQueue_ABusyNodeRefusesThoseWhoDoNotWait(t *testing.T) {
	r := oneRunAtATime(t)
	r.createDeployment("first")
	_, err := r.Create(t.Context(), system, newRequest("second"))
	if controlplane.CodeOf(err) != "no_room" {
		t.Errorf("it ended with %v", err)
	}
	got := r.createQueued("third", controlplane.DefaultPriority, 0)
	if got.Status != controlplane.Queued || got.NodeID != r.node {
		t.Errorf("who waits is %s, for %q", got.Status, got.Node)
	}
	if got := r.queuedNames(); got != "third" {
		t.Errorf("in the queue: %q", got)
	}
}

func TestQueue_NodesAreNotToldOfRunsThatWait(t *testing.T) {
	r := oneRunAtATime(t)
	first := r.createDeployment("first")
	second := r.createQueued("second", controlplane.DefaultPriority, 0)
	told := func() (ids []controlplane.DeploymentID) {
		orders, _, err := r.NodeGoals(t.Context(), system, r.node)
		r.failOnError(nil, err)
		for _, o := range orders {
			ids = append(ids, o.Deployment)
		}
		return ids
	}
	if got := told(); len(got) != 1 || got[0] != first.ID {
		t.Errorf("the node has goals for %v", got)
	}
	r.applyStatuses(first.ID, controlplane.Applying, controlplane.Ready)
	r.admitQueued(true)
	if got := told(); len(got) != 2 {
		t.Errorf("after it was admitted, the node has goals for %v, without %s", got, second.ID)
	}
}

func TestQueue_LowerPriorityStartsFirstAndOneAtATime(t *testing.T) {
	r := oneRunAtATime(t)
	running := r.createDeployment("first")
	later := r.createQueued("later", 200, 0)
	sooner := r.createQueued("sooner", 10, 0)
	r.admitQueued(true)
	if got := r.queuedNames(); got != "sooner later" {
		t.Fatalf("they wait as %q", got)
	}
	r.applyStatuses(running.ID, controlplane.Applying, controlplane.Ready)
	r.admitQueued(true)
	r.admitQueued(true)
	if got := r.queuedNames(); got != "later" {
		t.Fatalf("after one ended, %q waits", got)
	}
	r.applyStatuses(sooner.ID, controlplane.Applying, controlplane.Failed)
	r.admitQueued(true)
	if got := r.queuedNames(); got != "" {
		t.Errorf("after all ended, %q waits", got)
	}
	r.applyStatuses(later.ID, controlplane.Applying)
}

func TestQueue_CanceledWhileItWaitsIsGoneAtOnce(t *testing.T) {
	r := oneRunAtATime(t)
	r.createDeployment("first")
	d := r.createQueued("second", controlplane.DefaultPriority, 0)
	if got := r.removeDeployment(d.ID); got.Status != controlplane.Canceled ||
		got.Detail != "canceled while it waited" {
		t.Errorf("it is %s: %s", got.Status, got.Detail)
	}
	if got := r.queuedNames(); got != "" {
		t.Errorf("%q still waits", got)
	}
	r.createQueued("second", controlplane.DefaultPriority, 0)
}

func TestQueue_ADeadlineThatPassesWhileWaitingFailsTheRun(t *testing.T) {
	r := oneRunAtATime(t)
	r.createDeployment("first")
	d := r.createQueued("second", controlplane.DefaultPriority, time.Hour)
	patient := r.createQueued("third", controlplane.DefaultPriority, 0)
	r.admitQueued(true)
	if got := r.get(d.ID); got.Status != controlplane.Queued {
		t.Fatalf("before its deadline it is %s", got.Status)
	}
	r.pastDeadline(d.ID)
	r.admitQueued(false)
	if got := r.get(d.ID); got.Status != controlplane.Queued {
		t.Fatalf("while deadlines do not count it is %s", got.Status)
	}
	r.admitQueued(true)
	got := r.get(d.ID)
	if got.Status != controlplane.Failed || got.Failure == nil ||
		got.Failure.Code != "queue_deadline" ||
		!strings.Contains(got.Failure.Message, "takes 1 run at a time") {
		t.Errorf("past its deadline it is %s: %+v", got.Status, got.Failure)
	}
	if got := r.get(patient.ID); got.Status != controlplane.Queued {
		t.Errorf("one without a deadline is %s", got.Status)
	}
}

func TestQueue_ADeadlineThatPassesUnderWayUndoesTheRun(t *testing.T) {
	r := newRig(t)
	late, done := r.createQueued("late", 1, time.Hour), r.createQueued("done", 1, time.Hour)
	r.applyStatuses(late.ID, controlplane.Applying)
	r.applyStatuses(done.ID, controlplane.Applying, controlplane.Ready)
	r.pastDeadline(late.ID)
	r.pastDeadline(done.ID)
	r.admitQueued(true)
	got := r.get(late.ID)
	if got.Status != controlplane.Undoing || got.Goal != controlplane.GoalGone || got.Canceled {
		t.Fatalf("it is %s, wanted %s", got.Status, got.Goal)
	}
	if got := r.get(done.ID); got.Status != controlplane.Ready {
		t.Errorf("what was ready in time is %s", got.Status)
	}
	got = r.applyStatuses(late.ID, controlplane.Removing, controlplane.Removed)
	if got.Status != controlplane.Failed || got.Goal != controlplane.GoalPresent ||
		got.Failure == nil || got.Failure.Code != "deadline" {
		t.Errorf("undone, it is %s, wanted %s: %+v", got.Status, got.Goal, got.Failure)
	}
	if err := verbs["retry"](r, late.ID); err != nil {
		t.Errorf("it cannot be retried: %v", err)
	}
}

func TestQueue_WhoWaitsForRoomGetsANodeOnceThereIsOne(t *testing.T) {
	r := newRig(t)
	r.nodeGoesOffline()
	d := r.createQueued("d", controlplane.DefaultPriority, 0)
	if d.NodeID != "" || d.Status != controlplane.Queued {
		t.Fatalf("it is %s on %q", d.Status, d.Node)
	}
	r.admitQueued(true)
	if got := r.get(d.ID); got.NodeID != "" {
		t.Fatalf("without room it is on %q", got.Node)
	}
	node := r.addNode("node-2", controlplane.NodeSettings{})
	r.admitQueued(true)
	if got := r.get(d.ID); got.NodeID != node {
		t.Errorf("it is on %q", got.Node)
	}
	if got := r.queuedNames(); got != "" {
		t.Errorf("%q still waits", got)
	}
}

func TestQueue_RemovingWhatNeverGotANodeNeedsNoNode(t *testing.T) {
	r := newRig(t)
	r.nodeGoesOffline()
	d := r.createQueued("d", controlplane.DefaultPriority, time.Hour)
	r.pastDeadline(d.ID)
	r.admitQueued(true)
	if got := r.get(d.ID); got.Status != controlplane.Failed || got.NodeID != "" {
		t.Fatalf("it is %s on %q", got.Status, got.Node)
	}
	if got := r.removeDeployment(d.ID); got.Status != controlplane.Removed {
		t.Errorf("it is %s", got.Status)
	}
}

// A run that waited for GPUs gets those that are free, and its services are told which.
func TestQueue_WhoWaitedForGPUsIsToldWhich(t *testing.T) {
	r := newRig(t)
	p := shopPipeline()
	p.Steps[0].Service.GPUs = &pipeline.GPUs{Count: 1, VRAMMiB: 1024}
	r.failOnError(r.catalog.SavePipeline(t.Context(), system, "shop", p, "with a GPU"))
	d := r.createQueued("d", controlplane.DefaultPriority, 0)
	if d.NodeID != "" {
		t.Fatalf("without a GPU it is on %q", d.Node)
	}
	node := r.addNode("node-2", controlplane.NodeSettings{})
	r.failOnError(nil, r.store.InTx(t.Context(), func(tx *postgres.Tx) error {
		return tx.Nodes().SetInventory(t.Context(), node, "test", controlplane.Inventory{
			Hostname: "node-2", Arch: "amd64", CPU: 8, Memory: 16 << 30, Disk: 1 << 40,
			GPUs: []controlplane.GPU{{ID: "gpu-7", Memory: 4 << 30}}})
	}))
	r.admitQueued(true)
	got := r.get(d.ID)
	reserved := pgtest.QueryValue[string](t, r.url, `SELECT concat_ws(' ', gpus, vram_mib)
		FROM deployments WHERE id = $1`, d.ID)
	if got.NodeID != node || reserved != "{gpu-7} 1024" {
		t.Errorf("it is on %q with %s", got.Node, reserved)
	}
	orders, _, err := r.NodeGoals(t.Context(), system, node)
	r.failOnError(nil, err)
	if len(orders) != 1 {
		t.Fatalf("its node has %d goals", len(orders))
	}
	s, _ := orders[0].Pipeline.Step("api")
	if g := s.Service.GPUs; g == nil || !slices.Equal(g.DeviceIDs, []string{"gpu-7"}) || g.Count != 0 {
		t.Errorf("its service is told %+v", g)
	}
	_, err = r.Create(t.Context(), system, newRequest("e"))
	if controlplane.CodeOf(err) != "no_room" {
		t.Errorf("a GPU is given twice: %v", err)
	}
}

// What was sent to a node is undone there, although no report of it came yet.
func TestQueue_CanceledAfterItsTurnIsRemovedByTheNode(t *testing.T) {
	r := newRig(t)
	d := r.createDeployment("d")
	got := r.removeDeployment(d.ID)
	if got.Status.IsGone() || got.Goal != controlplane.GoalGone {
		t.Fatalf("it is %s, wanted %s", got.Status, got.Goal)
	}
	orders, _, err := r.NodeGoals(t.Context(), system, r.node)
	r.failOnError(nil, err)
	if len(orders) != 1 || orders[0].Deployment != d.ID || orders[0].Goal != controlplane.GoalGone {
		t.Errorf("its node is told %+v", orders)
	}
}
