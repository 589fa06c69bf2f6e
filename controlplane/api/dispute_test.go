package api_test

import (
	"context"
	"net/http"
	"slices"
	"testing"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/api"
	"github.com/nullops/nullops/controlplane/lifecycle"
	"github.com/nullops/nullops/pipeline"
)

// restoredWorld is a database from a backup, and a node that knows what happened
// after it.
type restoredWorld struct {
	*stage
	// found is what the node says when it is asked; nil is nothing.
	found *lifecycle.DescribedDeployment
}

func newRestoredWorld(t *testing.T) *restoredWorld {
	t.Helper()
	r := &restoredWorld{}
	w := newWorld(t, func(c *api.Config) {
		c.Describe = func(context.Context, controlplane.NodeID,
			controlplane.DeploymentID) (lifecycle.DescribedDeployment, error) {
			if r.found == nil {
				return lifecycle.DescribedDeployment{}, controlplane.NewNotFoundError(
					"deployment",
					"on the node",
				)
			}
			return *r.found, nil
		}
	})
	w.shop()
	r.stage = &stage{world: w, root: w.token("root")}
	return r
}

// retriedAfterBackup has a failed row, and a node on which its retry is ready.
func (r *restoredWorld) retriedAfterBackup() (id string, m lifecycle.AgentMemory) {
	r.t.Helper()
	id = r.reportStatuses(nil, applying, undoing, controlplane.Failed)
	d, err := r.lifecycle.Get(r.t.Context(), system, controlplane.DeploymentID(id))
	r.expectSaved(d, err)
	p := r.pipelineOf(d)
	r.found = &lifecycle.DescribedDeployment{
		ID:         d.ID,
		Generation: d.Generation + 1,
		Version:    1,
		Pipeline:   p,
		Run:        controlplane.NewID[controlplane.RunID](),
		Phase:      "ready",
		Key:        make([]byte, 32),
		Steps:      map[pipeline.StepKey]pipeline.StepStatus{},
	}
	for _, s := range p.Steps {
		r.found.Steps[s.Key] = pipeline.StepDone
	}
	return id, lifecycle.AgentMemory{
		FirstReport:  1,
		Acknowledged: r.seq,
		Deployments: []lifecycle.RememberedDeployment{{
			ID: d.ID, Generation: r.found.Generation, Run: r.found.Run, Name: d.Name,
			Project: "shop", Environment: "qa", Phase: "ready"}},
	}
}

func (r *restoredWorld) pipelineOf(d controlplane.Deployment) pipeline.Pipeline {
	r.t.Helper()
	run, _, err := r.lifecycle.SealedRun(r.t.Context(), system, r.world.node, d.ID, d.Generation)
	r.expectSaved(run, err)
	return run.Pipeline
}

// connects reconnects the node's agent and returns what is sent to it.
func (r *restoredWorld) connects(m lifecycle.AgentMemory) []controlplane.NodeGoal {
	r.t.Helper()
	_, err := r.lifecycle.CompareAgentMemory(r.t.Context(), system, r.world.node, m)
	r.expectSaved(nil, err)
	orders, _, err := r.lifecycle.NodeGoals(r.t.Context(), system, r.world.node)
	r.expectSaved(orders, err)
	return orders
}

func (r *restoredWorld) listUnknown() []api.UnknownDeployment {
	r.t.Helper()
	var list api.UnknownDeploymentList
	r.got("/api/v1/nodes/node-1/unknown", r.root, &list)
	return list.Items
}

// mustWait checks that nobody touches the deployment before an admin decided.
func (r *restoredWorld) mustWait(id, phase string, status api.DeploymentStatus,
	orders []controlplane.NodeGoal) {
	r.t.Helper()
	if slices.ContainsFunc(orders, func(o controlplane.NodeGoal) bool {
		return string(o.Deployment) == id
	}) {
		r.t.Errorf("a goal is sent about it: %v", orders)
	}
	all := r.listUnknown()
	if len(all) != 1 || all[0].Id != id || all[0].Phase != phase || all[0].Status == nil ||
		*all[0].Status != status || all[0].Reason == nil {
		r.t.Fatalf("listed as %+v", all)
	}
	for _, act := range []struct{ method, path string }{{"DELETE", ""}, {"POST", "/retry"}} {
		a := r.call(act.method, "/api/v1/deployments/"+id+act.path, r.root, nil)
		if a.status != http.StatusConflict {
			r.t.Errorf("%s %s: %d %s", act.method, act.path, a.status, a.body)
		}
	}
}

func (r *restoredWorld) decides(what, id string, want int) answer {
	r.t.Helper()
	a := r.call("POST", "/api/v1/nodes/node-1/unknown/"+id+"/"+what, r.root, nil)
	if a.status != want {
		r.t.Fatalf("%s: %d %s", what, a.status, a.body)
	}
	return a
}

// A deployment failed when the backup was made, and was retried until it was ready: its data stays
// until someone decides.
func TestDispute_RetriedAfterTheBackup(t *testing.T) {
	t.Parallel()
	r := newRestoredWorld(t)
	id, m := r.retriedAfterBackup()
	r.mustWait(id, "ready", "failed", r.connects(m))
	r.decides("recreate", id, http.StatusConflict)
	if a := r.decides("adopt", id, http.StatusOK); a.field("status") != "ready" {
		t.Errorf("adopted as %s", a.body)
	}
	orders := r.connects(m)
	if len(orders) != 1 || orders[0].Run != r.found.Run || orders[0].Status != ready ||
		len(r.listUnknown()) > 0 {
		t.Errorf("after that the node is told %+v, and listed is %+v", orders, r.listUnknown())
	}
}

// What is purged is removed like any other: with the run that the node has.
func TestDispute_PurgeUndoesTheNodesRun(t *testing.T) {
	t.Parallel()
	r := newRestoredWorld(t)
	id, m := r.retriedAfterBackup()
	r.mustWait(id, "ready", "failed", r.connects(m))
	r.decides("purge", id, http.StatusNoContent)
	orders := r.connects(m)
	if len(orders) != 1 || orders[0].Run != r.found.Run || orders[0].Goal != controlplane.GoalGone ||
		orders[0].Generation <= r.found.Generation || len(r.listUnknown()) > 0 {
		t.Errorf("after that the node is told %+v, and listed is %+v", orders, r.listUnknown())
	}
}

// What was removed after the backup does not come back by itself: whether the
// agent still remembers the removal, or only that it reported more than the
// database has.
func TestDispute_RemovedAfterTheBackup(t *testing.T) {
	t.Parallel()
	for name, remembers := range map[string]bool{"remembered": true, "forgotten": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRestoredWorld(t)
			id := r.reportStatuses(nil, applying, ready)
			d, err := r.lifecycle.Get(t.Context(), system, controlplane.DeploymentID(id))
			r.expectSaved(d, err)
			m, phase := lifecycle.AgentMemory{FirstReport: 1, Acknowledged: r.seq + 9}, ""
			if remembers {
				phase = "removed"
				m.Deployments = []lifecycle.RememberedDeployment{
					{ID: d.ID, Generation: d.Generation + 1, Run: d.RunID,
						Name: d.Name, Project: "shop", Environment: "qa",
						Phase: controlplane.DeploymentStatus(phase)},
				}
			}
			r.mustWait(id, phase, "ready", r.connects(m))
			// The reports came once more, and the link was cut.
			m.Acknowledged = 0
			r.mustWait(id, phase, "ready", r.connects(m))
			a := r.decides("recreate", id, http.StatusOK)
			if again := a.field("id"); again == id || a.field("status") != "queued" {
				t.Errorf("made again as %s", a.body)
			}
			var old api.Deployment
			r.got("/api/v1/deployments/"+id, r.root, &old)
			if old.Status != "removed" || len(r.listUnknown()) > 0 {
				t.Errorf("the old one is %s, and listed is %+v", old.Status, r.listUnknown())
			}
		})
	}
}

// An agent that lost its memory is no sign of a restore: what is ready comes back.
func TestDispute_NoneWithoutARestore(t *testing.T) {
	t.Parallel()
	r := newRestoredWorld(t)
	id := r.reportStatuses(nil, applying, ready)
	orders := r.connects(lifecycle.AgentMemory{FirstReport: 1})
	if len(orders) != 1 || string(orders[0].Deployment) != id || len(r.listUnknown()) > 0 {
		t.Errorf("the node is told %+v, and listed is %+v", orders, r.listUnknown())
	}
}
