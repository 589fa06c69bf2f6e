package api_test

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/api"
	"github.com/nullops/nullops/controlplane/jobs"
	"github.com/nullops/nullops/controlplane/lifecycle"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/controlplane/postgres/pgtest"
	"github.com/nullops/nullops/pipeline"
)

// relocation is a deployment with data, on a node and beside another.
type relocation struct {
	*world
	d         controlplane.Deployment
	path      string
	root      string
	from, to  controlplane.NodeID
	beginning api.Deployment
}

func newRelocation(t *testing.T, change ...func(*api.Config)) *relocation {
	r := &relocation{world: newWorld(t, change...)}
	r.shop()
	r.root, r.from = r.token("root"), r.node
	data := toService("db", "api")
	// A shared volume is copied once, however often it is mounted.
	data.Service.Volumes = []pipeline.Volume{{Name: "data", Path: "/data", Shared: "site"},
		{Name: "again", Path: "/again", Shared: "site", ReadOnly: true}}
	r.project("data", data)
	r.d = r.another("data")
	r.path = "/deployments/" + string(r.d.ID)
	r.to = r.machine("node-2", controlplane.Inventory{CPU: 8, Memory: 8 << 30, Disk: 1 << 40})
	return r
}

// another is a deployment with data beside it.
func (r *relocation) another(name string) controlplane.Deployment {
	r.t.Helper()
	r.expect(http.StatusCreated, "POST", "/deployments", r.root, object{"name": name,
		"project": "data", "environment": "qa", "versions": object{"db": "1.0"}}, nil)
	return r.deployReady(name)
}

// claimMove moves a deployment, and claims the copy of its volumes.
func (r *relocation) claimMove(d controlplane.Deployment) controlplane.RelocationTask {
	r.t.Helper()
	r.expect(http.StatusAccepted, "POST", "/deployments/"+string(d.ID)+"/move", r.root,
		object{"node": "node-2"}, nil)
	j, err := r.lifecycle.ClaimRelocation(r.t.Context(), system, "me")
	r.expectSaved(nil, err)
	if j.Deployment != d.ID {
		r.t.Errorf("the journey is %+v", j)
	}
	return j
}

// beginMove moves the deployment, and claims the copy of its volumes.
func (r *relocation) beginMove() controlplane.RelocationTask {
	r.t.Helper()
	r.expect(http.StatusAccepted, "POST", r.path+"/move", r.root, object{}, &r.beginning)
	if r.beginning.Moving == nil || r.beginning.Status != "ready" {
		r.t.Errorf("it begins as %+v", r.beginning)
	}
	again := r.expect(http.StatusConflict, "POST", r.path+"/move", r.root, object{}, nil)
	if again.field("code") != "moving" {
		r.t.Errorf("moved while it moves: %s", again.body)
	}
	j, err := r.lifecycle.ClaimRelocation(r.t.Context(), system, "me")
	r.expectSaved(nil, err)
	if j.Deployment != r.d.ID || j.From != r.from || j.To != r.to || len(j.Volumes) != 1 ||
		j.Volumes[0] != (controlplane.VolumeName{Step: "db", Name: "data"}) {
		r.t.Errorf("the journey is %+v", j)
	}
	return j
}

// describeGoal returns the deployment's goal on a node: "none", or the goal and its marks.
func (r *relocation) describeGoal(node controlplane.NodeID) string {
	r.t.Helper()
	o := r.nodeGoal(node)
	if o.Deployment == "" {
		return "none"
	}
	words := []string{string(o.Goal)}
	if o.Elsewhere {
		words = append(words, "elsewhere")
	}
	if o.Still {
		words = append(words, "still")
	}
	return strings.Join(words, " ")
}

// nodeGoal returns the goal of a node for the deployment; it is empty if there is none.
func (r *relocation) nodeGoal(node controlplane.NodeID) (o controlplane.NodeGoal) {
	r.t.Helper()
	orders, _, err := r.lifecycle.NodeGoals(r.t.Context(), system, node)
	r.expectSaved(nil, err)
	for _, other := range orders {
		if other.Deployment == r.d.ID {
			o = other
		}
	}
	return o
}

func (r *relocation) expectGoals(from, to string) {
	r.t.Helper()
	if a, b := r.describeGoal(r.from), r.describeGoal(r.to); a != from || b != to {
		r.t.Errorf("the nodes are told %q and %q, wanted %q and %q", a, b, from, to)
	}
}

// says is a report of a node.
func (r *relocation) says(node controlplane.NodeID, s controlplane.DeploymentStatus, why string) {
	r.t.Helper()
	d, err := r.lifecycle.Get(r.t.Context(), system, r.d.ID)
	r.expectSaved(nil, err)
	d.NodeID = node
	r.node = node
	r.report(d, lifecycle.Report{Status: s, Message: why})
}

func (r *relocation) now() (d api.Deployment) {
	r.t.Helper()
	r.expect(http.StatusOK, "GET", r.path, r.root, nil, &d)
	return d
}

// With its volumes a deployment stays what it is, on another node.
func TestMove_WithVolumes(t *testing.T) {
	t.Parallel()
	r := newRelocation(t)
	j := r.beginMove()
	r.expectGoals("present", "none")
	ctx := t.Context()
	j.Bytes = 1 << 40
	if err := r.lifecycle.RelocationMeasured(ctx, system, j); err == nil ||
		!strings.Contains(err.Error(), "room") {
		t.Errorf("more than the node has room for: %v", err)
	}
	j.Bytes = 100 << 20
	r.expectSaved(nil, r.lifecycle.RelocationMeasured(ctx, system, j))
	r.expectGoals("present still", "present elsewhere still")
	wanted, err := r.lifecycle.TouchRelocation(ctx, system, j.RelocationAttempt, "me", 40<<20)
	if d := r.now(); !wanted || err != nil || !strings.Contains(*d.Detail, "42 MB of about 105 MB") {
		t.Errorf("wanted %v, %v: %v", wanted, err, *d.Detail)
	}
	j.Resume = []pipeline.StepKey{"job"}
	r.expectSaved(nil, r.lifecycle.FinishCopy(ctx, system, j))
	r.expectGoals("present still", "present elsewhere")
	if o := r.nodeGoal(r.to); !slices.Equal(o.Resume, j.Resume) || !o.Attempt.Equal(j.Since) {
		t.Errorf("where it goes, %v resume, of the attempt of %s", o.Resume, o.Attempt)
	}
	r.says(r.to, controlplane.Ready, "")
	r.expectGoals("gone elsewhere", "present")
	if d := r.now(); *d.Node != "node-2" || d.Moving != nil || d.Status != "ready" ||
		*d.Services[0].Url != *r.beginning.Services[0].Url {
		t.Errorf("there it is %+v", d)
	}
	used := r.expect(http.StatusConflict, "DELETE", "/nodes/node-1", r.root, nil, nil)
	if !strings.Contains(string(used.body), "data") {
		t.Errorf("what it left is still on the node: %s", used.body)
	}
	r.says(r.from, controlplane.Removed, "")
	r.expectGoals("none", "present")
}

// Whatever ends a move, it continues where it was, and the other node is cleared.
func TestMove_CalledOff(t *testing.T) {
	t.Parallel()
	r := newRelocation(t)
	ctx := t.Context()
	j := r.beginMove()
	r.expectSaved(nil, r.lifecycle.CancelRelocation(ctx, system, j.RelocationAttempt,
		"nobody measured"))
	r.expectGoals("present", "none")
	for _, how := range []func(){
		func() {
			r.expectSaved(nil, r.lifecycle.CancelRelocation(ctx, system, j.RelocationAttempt,
				"because"))
		},
		func() {
			r.expectSaved(nil, r.lifecycle.FinishCopy(ctx, system, j))
			r.says(r.to, controlplane.Failed, "because")
		},
	} {
		j = r.beginMove()
		r.expectSaved(nil, r.lifecycle.RelocationMeasured(ctx, system, j))
		how()
		r.expectGoals("present", "gone elsewhere")
		if d := r.now(); *d.Node == "node-2" || d.Moving != nil || d.Status != "ready" ||
			!strings.Contains(*d.Detail, "was not moved to node node-2: because") {
			t.Errorf("it goes on as %+v: %s", d, *d.Detail)
		}
		wanted, err := r.lifecycle.TouchRelocation(ctx, system, j.RelocationAttempt, "me", 0)
		if wanted || err != nil {
			t.Errorf("the copy goes on: %v", err)
		}
		r.says(r.to, controlplane.Removed, "")
		r.expectGoals("present", "none")
	}
	j = r.beginMove()
	r.expectSaved(nil, r.lifecycle.RelocationMeasured(ctx, system, j))
	r.expect(http.StatusAccepted, "DELETE", r.path, r.root, nil, nil)
	r.expectGoals("gone", "gone elsewhere")
}

// A worker that was away for too long cannot change a later attempt.
func TestMove_OfEarlierAttempt(t *testing.T) {
	t.Parallel()
	r := newRelocation(t)
	ctx := t.Context()
	old := r.beginMove()
	r.expectSaved(nil, r.lifecycle.CancelRelocation(ctx, system, old.RelocationAttempt,
		"nobody was at it"))
	j := r.beginMove()
	if err := r.lifecycle.RelocationMeasured(ctx, system, old); err == nil {
		t.Error("the earlier attempt's size counts")
	}
	r.expectGoals("present", "none")
	r.expectSaved(nil, r.lifecycle.RelocationMeasured(ctx, system, j))
	if err := r.lifecycle.FinishCopy(ctx, system, old); err == nil {
		t.Error("the earlier attempt's copy counts")
	}
	if _, err := r.lifecycle.ReserveMoreRoom(ctx, system, old.RelocationAttempt, 1); err == nil {
		t.Error("the earlier attempt gets room")
	}
	if wanted, err := r.lifecycle.TouchRelocation(ctx, system, old.RelocationAttempt, "me",
		1); wanted ||
		err != nil {
		t.Errorf("the earlier attempt is wanted: %v, %v", wanted, err)
	}
	r.expectSaved(nil, r.lifecycle.CancelRelocation(ctx, system, old.RelocationAttempt, "too late"))
	r.expectGoals("present still", "present elsewhere still")
	r.expectSaved(nil, r.lifecycle.FinishCopy(ctx, system, j))
	r.expectGoals("present still", "present elsewhere")
}

// What is promised to one is not promised to another, and neither is what a copy
// takes that was not measured.
func TestMove_RoomIsPromisedOnce(t *testing.T) {
	t.Parallel()
	r := newRelocation(t)
	ctx := t.Context()
	// The other node has half of 1 TiB free, and keeps 1 GiB of it.
	const much = 300 << 30
	r.node = r.from
	second := r.another("more")
	first := r.claimMove(r.d)
	first.Bytes = much
	r.expectSaved(nil, r.lifecycle.RelocationMeasured(ctx, system, first))
	j := r.claimMove(second)
	j.Bytes = much
	if err := r.lifecycle.RelocationMeasured(ctx, system, j); err == nil ||
		!strings.Contains(err.Error(), "room for") {
		t.Errorf("two copies get the same room: %v", err)
	}
	j.Bytes = 100 << 20
	r.expectSaved(nil, r.lifecycle.RelocationMeasured(ctx, system, j))
	bytes, err := r.lifecycle.ReserveMoreRoom(ctx, system, j.RelocationAttempt, 200<<20)
	if bytes != 400<<20 || err != nil {
		t.Errorf("a copy of 200 MiB may take %d bytes: %v", bytes, err)
	}
	if _, err := r.lifecycle.ReserveMoreRoom(ctx, system, j.RelocationAttempt, much/2); err == nil ||
		!strings.Contains(err.Error(), "more than the 419 MB that were measured") {
		t.Errorf("it grows into the room of the other: %v", err)
	}
	r.expectSaved(nil, r.lifecycle.CancelRelocation(ctx, system, first.RelocationAttempt, "because"))
	if _, err := r.lifecycle.ReserveMoreRoom(ctx, system, j.RelocationAttempt, much/2); err != nil {
		t.Errorf("the other's room is not free again: %v", err)
	}
}

// A source that is away cannot be read.
func TestMove_SourceGoesAway(t *testing.T) {
	t.Parallel()
	r := newRelocation(t)
	j := r.beginMove()
	r.expectSaved(nil, r.lifecycle.RelocationMeasured(t.Context(), system, j))
	r.expectSaved(nil, r.lifecycle.CancelLostRelocations(t.Context(), system))
	r.expectGoals("present still", "present elsewhere still")
	pgtest.Exec(t, r.database, `UPDATE nodes SET status = 'offline',
		since = now() - interval '10 minutes' WHERE id = $1`, string(r.from))
	r.expectSaved(nil, r.lifecycle.CancelLostRelocations(t.Context(), system))
	r.expectGoals("present", "gone elsewhere")
	if d := r.now(); !strings.Contains(*d.Detail, "node node-1 went away") {
		t.Errorf("it says %s", *d.Detail)
	}
}

// What cannot be read is called off, and keeps nobody waiting.
func TestMove_Unreadable(t *testing.T) {
	t.Parallel()
	r := newRelocation(t)
	ctx := t.Context()
	r.node = r.from
	second := r.another("more")
	for _, d := range []controlplane.Deployment{r.d, second} {
		r.expect(http.StatusAccepted, "POST", "/deployments/"+string(d.ID)+"/move", r.root,
			object{}, nil)
	}
	pgtest.Exec(t, r.database, `UPDATE runs SET pipeline = '[]' WHERE deployment_id = $1`,
		string(r.d.ID))
	if j, err := r.lifecycle.ClaimRelocation(ctx, system, "me"); err == nil ||
		j.Deployment != "" {
		t.Errorf("what cannot be read is taken: %+v, %v", j, err)
	}
	j, err := r.lifecycle.ClaimRelocation(ctx, system, "me")
	if err != nil || j.Deployment != second.ID {
		t.Errorf("the next one waits: %+v, %v", j, err)
	}
	if n := pgtest.QueryValue[int](t, r.database, "SELECT count(*) FROM relocations"); n != 1 {
		t.Errorf("%d are on their way", n)
	}
}

// As long as something of it is to be cleared, a deployment is not forgotten, and the
// node is not drained.
func TestMove_ClearedBeforeForgotten(t *testing.T) {
	t.Parallel()
	r := newRelocation(t)
	ctx := t.Context()
	j := r.beginMove()
	r.expectSaved(nil, r.lifecycle.RelocationMeasured(ctx, system, j))
	r.expectSaved(nil, r.lifecycle.FinishCopy(ctx, system, j))
	r.says(r.to, controlplane.Ready, "")
	r.expect(http.StatusAccepted, "DELETE", r.path, r.root, nil, nil)
	r.says(r.to, controlplane.Removed, "")
	pgtest.Exec(t, r.database, `UPDATE deployments SET changed_at = now() - interval '1 year'`)
	r.expect(http.StatusOK, "POST", "/nodes/node-1/drain", r.root, object{}, nil)
	pgtest.Exec(t, r.database, `UPDATE nodes SET drain_deadline = now() - interval '1 hour'
		WHERE drain = 'draining'`)
	forgets := func(want int, drained string) {
		t.Helper()
		gone, err := r.lifecycle.DeleteRemovedDeployments(ctx, system)
		if err != nil || gone != want {
			t.Errorf("%d are forgotten, wanted %d: %v", gone, want, err)
		}
		r.expectSaved(nil, r.store.InTx(ctx, func(tx *postgres.Tx) error {
			return tx.Nodes().FinishDrains(ctx)
		}))
		if now := pgtest.QueryValue[string](t, r.database,
			"SELECT drain FROM nodes WHERE name = 'node-1'"); now != drained {
			t.Errorf("the drain is %s, wanted %s", now, drained)
		}
	}
	forgets(0, "overdue")
	kept := r.expect(http.StatusConflict, "DELETE", "/projects/data", r.root, nil, nil)
	if !strings.Contains(string(kept.body), "what deployment data left on node node-1") {
		t.Errorf("its project is deleted: %s", kept.body)
	}
	r.expectGoals("gone elsewhere", "none")
	r.says(r.from, controlplane.Removed, "")
	forgets(1, "drained")
	r.expect(http.StatusNoContent, "DELETE", "/projects/data", r.root, nil, nil)
}

// steady is nodes whose volumes hold little, and are copied at once.
type steady struct {
	copied chan controlplane.DeploymentID
}

func (steady) Volumes(context.Context, controlplane.NodeID, controlplane.DeploymentID,
	bool) (controlplane.VolumesState, error) {
	return controlplane.VolumesState{Still: true, Bytes: 10}, nil
}

func (s steady) CopyVolume(
	_ context.Context, c controlplane.VolumeCopy, moved func(int) error,
) error {
	s.copied <- c.Deployment
	return moved(10)
}

// One that cannot be called off keeps the others from nothing.
func TestMove_OneCannotBeCalledOff(t *testing.T) {
	t.Parallel()
	r := newRelocation(t)
	r.node = r.from
	second := r.another("more")
	j := r.beginMove()
	r.expectSaved(nil, r.lifecycle.RelocationMeasured(t.Context(), system, j))
	pgtest.Exec(t, r.database, `UPDATE relocations SET seen_at = now() - interval '1 hour';
		CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql
			AS $$ BEGIN RAISE EXCEPTION 'cannot be called off'; END $$;
		CREATE TRIGGER refuse BEFORE UPDATE ON relocations FOR EACH ROW
			WHEN (NEW.phase = 'clearing') EXECUTE FUNCTION refuse()`)
	r.expect(http.StatusAccepted, "POST", "/deployments/"+string(second.ID)+"/move", r.root,
		object{}, nil)
	nodes := steady{copied: make(chan controlplane.DeploymentID, 1)}
	moves := jobs.Relocator{Deployments: r.lifecycle, Volumes: nodes, Holder: "me",
		Log: slog.New(slog.DiscardHandler)}
	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	all.Go(func() { _ = moves.Run(ctx) })
	defer func() { stop(); all.Wait() }()
	select {
	case id := <-nodes.copied:
		if id != second.ID {
			t.Errorf("copied is %s", id)
		}
	case <-time.After(time.Minute):
		t.Error("the other one waits")
	}
}
