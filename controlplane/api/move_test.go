package api_test

import (
	"net/http"
	"testing"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/api"
	"github.com/nullops/nullops/controlplane/lifecycle"
	"github.com/nullops/nullops/pipeline"
)

// What moves continues elsewhere with the same name, URLs and digests. Without anywhere to go, or
// with data that would be lost, it stays as it is.
func TestMove_ToAnotherNode(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	root := w.token("root")
	here := w.node
	w.expect(http.StatusCreated, "POST", "/deployments", root, object{"name": "first",
		"project": "shop", "environment": "qa", "versions": object{"api": "moving"}}, nil)
	d := w.deployReady("first")
	path := "/deployments/" + string(d.ID)
	var before, now api.Deployment
	w.got("/api/v1"+path, root, &before)
	nowhere := w.expect(http.StatusConflict, "POST", path+"/move", root, object{}, nil)
	if nowhere.field("code") != "no_room" {
		t.Errorf("there is one node only: %s", nowhere.body)
	}
	w.machine("node-2", controlplane.Inventory{CPU: 8, Memory: 8 << 30, Disk: 1 << 40})
	w.keepsData(root)
	w.expect(http.StatusForbidden, "POST", path+"/move", w.token("full"), object{"node": "node-2"},
		nil)
	moving := w.expect(http.StatusAccepted, "POST", path+"/move", root, object{"node": "node-2"},
		&now)
	if now.Status != "removing" || now.Moving == nil {
		t.Errorf("%+v", now)
	}
	arrives := func(want int) {
		t.Helper()
		if n, err := w.lifecycle.FinishMoves(t.Context(), system); n != want || err != nil {
			t.Errorf("%d arrived, %v; wanted %d", n, err, want)
		}
	}
	arrives(0)
	w.node = here
	w.reaches(d, controlplane.Removed)
	arrives(1)
	arrives(0)
	w.got("/api/v1"+path, root, &now)
	var there api.Deployment
	w.got("/api/v1/deployments/"+*now.MovedTo, root, &there)
	if *there.Node != "node-2" || there.Name != "first" || there.CreatedBy != before.CreatedBy ||
		*there.Services[0].Url != *before.Services[0].Url ||
		there.Versions[0].Digest != before.Versions[0].Digest ||
		there.RequestId == nil || *there.RequestId != moving.header.Get("X-Request-Id") {
		t.Errorf("%+v\nwanted as before: %+v", there, before)
	}
}

// deployReady returns a deployment of that name, once its node says it is ready.
func (w *world) deployReady(name string) controlplane.Deployment {
	w.t.Helper()
	all, err := w.lifecycle.List(w.t.Context(), system, lifecycle.Filter{Name: name, Most: 1})
	w.expectSaved(nil, err)
	w.reaches(all[0].Deployment, controlplane.Applying)
	w.reaches(all[0].Deployment, controlplane.Ready)
	return all[0].Deployment
}

// keepsData is refused unless the person accepts losing the data.
func (w *world) keepsData(root string) {
	w.t.Helper()
	data := toService("db", "api")
	data.Service.Volumes = []pipeline.Volume{{Name: "data", Path: "/data", Stays: true}}
	w.project("data", data)
	w.expect(http.StatusCreated, "POST", "/deployments", root, object{"name": "data",
		"project": "data", "environment": "qa", "versions": object{"db": "1.0"}}, nil)
	all, err := w.lifecycle.List(w.t.Context(), system, lifecycle.Filter{Name: "data", Most: 1})
	w.expectSaved(nil, err)
	w.node = all[0].NodeID
	d := w.deployReady("data")
	path := "/deployments/" + string(d.ID) + "/move"
	refused := w.expect(http.StatusConflict, "POST", path, root, object{}, nil)
	if refused.field("code") != "has_volumes" {
		w.t.Errorf("%s", refused.body)
	}
	w.expect(http.StatusAccepted, "POST", path, root, object{"drop_volumes": true}, nil)
}
