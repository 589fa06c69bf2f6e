package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/api"
	"github.com/nullops/nullops/controlplane/lifecycle"
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

func newRelocation(t *testing.T) *relocation {
	r := &relocation{world: newWorld(t)}
	r.shop()
	r.root, r.from = r.token("root"), r.node
	data := service("db", "api")
	data.Service.Volumes = []pipeline.Volume{{Name: "data", Path: "/data"}}
	r.project("data", data)
	r.expect(http.StatusCreated, "POST", "/deployments", r.root, object{"name": "data",
		"project": "data", "environment": "qa", "versions": object{"db": "1.0"}}, nil)
	r.d = r.settled("data")
	r.path = "/deployments/" + string(r.d.ID)
	r.to = r.machine("node-2", controlplane.Inventory{CPU: 8, Memory: 8 << 30, Disk: 1 << 40})
	return r
}

// begin moves it, and claims its volumes.
func (r *relocation) begin() controlplane.Journey {
	r.t.Helper()
	r.expect(http.StatusAccepted, "POST", r.path+"/move", r.root, object{}, &r.beginning)
	if r.beginning.Moving == nil || r.beginning.Status != "ready" {
		r.t.Errorf("it begins as %+v", r.beginning)
	}
	again := r.expect(http.StatusConflict, "POST", r.path+"/move", r.root, object{}, nil)
	if again.field("code") != "moving" {
		r.t.Errorf("moved while it moves: %s", again.body)
	}
	j, err := r.lifecycle.TakeRelocation(r.t.Context(), system, "me")
	r.saved(nil, err)
	if j.Deployment != r.d.ID || j.From != r.from || j.To != r.to || len(j.Volumes) != 1 ||
		j.Volumes[0] != (controlplane.VolumeName{Step: "db", Name: "data"}) {
		r.t.Errorf("the journey is %+v", j)
	}
	return j
}

// ordered is what a node is told about it: "none", or the goal and its marks.
func (r *relocation) ordered(node controlplane.NodeID) string {
	r.t.Helper()
	orders, _, err := r.lifecycle.Orders(r.t.Context(), system, node)
	r.saved(nil, err)
	for _, o := range orders {
		if o.Deployment != r.d.ID {
			continue
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
	return "none"
}

func (r *relocation) told(from, to string) {
	r.t.Helper()
	if a, b := r.ordered(r.from), r.ordered(r.to); a != from || b != to {
		r.t.Errorf("the nodes are told %q and %q, wanted %q and %q", a, b, from, to)
	}
}

// says is a report of a node.
func (r *relocation) says(node controlplane.NodeID, s controlplane.DeploymentStatus, why string) {
	r.t.Helper()
	d, err := r.lifecycle.Get(r.t.Context(), system, r.d.ID)
	r.saved(nil, err)
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
	j := r.begin()
	r.told("present", "none")
	ctx := t.Context()
	j.Bytes = 1 << 40
	if err := r.lifecycle.RelocationMeasured(ctx, system, j); err == nil ||
		!strings.Contains(err.Error(), "room") {
		t.Errorf("more than the node has room for: %v", err)
	}
	j.Bytes = 100 << 20
	r.saved(nil, r.lifecycle.RelocationMeasured(ctx, system, j))
	r.told("present still", "present elsewhere still")
	wanted, err := r.lifecycle.SeeRelocation(ctx, system, r.d.ID, "me", 40<<20)
	if d := r.now(); !wanted || err != nil || !strings.Contains(*d.Detail, "40 MB of about 100 MB") {
		t.Errorf("wanted %v, %v: %v", wanted, err, *d.Detail)
	}
	r.saved(nil, r.lifecycle.RelocationCopied(ctx, system, r.d.ID))
	r.told("present still", "present elsewhere")
	r.says(r.to, controlplane.Ready, "")
	r.told("gone elsewhere", "present")
	if d := r.now(); *d.Node != "node-2" || d.Moving != nil || d.Status != "ready" ||
		*d.Services[0].Url != *r.beginning.Services[0].Url {
		t.Errorf("there it is %+v", d)
	}
	used := r.expect(http.StatusConflict, "DELETE", "/nodes/node-1", r.root, nil, nil)
	if !strings.Contains(string(used.body), "data") {
		t.Errorf("what it left is still on the node: %s", used.body)
	}
	r.says(r.from, controlplane.Removed, "")
	r.told("none", "present")
}

// Whatever ends a move, it goes on where it was, and the other node is cleared.
func TestMove_CalledOff(t *testing.T) {
	t.Parallel()
	r := newRelocation(t)
	ctx := t.Context()
	j := r.begin()
	r.saved(nil, r.lifecycle.CallOff(ctx, system, r.d.ID, "nobody measured"))
	r.told("present", "none")
	for _, how := range []func(){
		func() { r.saved(nil, r.lifecycle.CallOff(ctx, system, r.d.ID, "because")) },
		func() {
			r.saved(nil, r.lifecycle.RelocationCopied(ctx, system, r.d.ID))
			r.says(r.to, controlplane.Failed, "because")
		},
	} {
		j = r.begin()
		r.saved(nil, r.lifecycle.RelocationMeasured(ctx, system, j))
		how()
		r.told("present", "gone elsewhere")
		if d := r.now(); *d.Node == "node-2" || d.Moving != nil || d.Status != "ready" ||
			!strings.Contains(*d.Detail, "was not moved to node node-2: because") {
			t.Errorf("it goes on as %+v: %s", d, *d.Detail)
		}
		wanted, err := r.lifecycle.SeeRelocation(ctx, system, r.d.ID, "me", 0)
		if wanted || err != nil {
			t.Errorf("the copy goes on: %v", err)
		}
		r.says(r.to, controlplane.Removed, "")
		r.told("present", "none")
	}
	j = r.begin()
	r.saved(nil, r.lifecycle.RelocationMeasured(ctx, system, j))
	r.expect(http.StatusAccepted, "DELETE", r.path, r.root, nil, nil)
	r.told("gone", "gone elsewhere")
}
