package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/api"
	"github.com/nullops/nullops/controlplane/catalog"
	"github.com/nullops/nullops/pipeline"
)

// Why something stays on a node that is drained is known as long as it stays: to anyone who asks
// later, and whether or not it was tried to move it.
func TestDrain_SaysWhyItStays(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	root := w.token("root")
	here := w.node
	w.stateless(root)
	w.stayer(root)
	w.node = here
	why := func(want map[string]string) {
		t.Helper()
		var d api.NodeDrain
		w.expect(http.StatusOK, "GET", "/nodes/node-1/drain", root, nil, &d)
		if len(d.Staying) != len(want) {
			t.Errorf("%d stay, wanted %d", len(d.Staying), len(want))
		}
		for _, one := range d.Staying {
			said, wanted := textOf(one.StaysBecause), want[one.Name]
			if !strings.HasPrefix(said, wanted) || (wanted == "") != (said == "") {
				t.Errorf("%s stays because %q, wanted %q", one.Name, said, wanted)
			}
		}
	}
	bound := "The pipeline says that volumes of deployment keeps stay on their node: db/data."
	why(map[string]string{"light": "No node has room", "keeps": bound})
	w.machine("node-2", controlplane.Inventory{CPU: 8, Memory: 8 << 30, Disk: 1 << 40})
	why(map[string]string{"light": "", "keeps": bound})
	var d api.NodeDrain
	w.expect(http.StatusOK, "POST", "/nodes/node-1/drain", root, object{"move": true}, &d)
	// A deployment that left has no reason; one that stays keeps its reason.
	why(map[string]string{"light": "", "keeps": bound})
	refusals := w.expect(http.StatusOK, "GET", "/audit?action=move%20deployment&result=refused",
		root, nil, nil)
	if n := strings.Count(string(refusals.body), `"move deployment"`); n != 1 {
		t.Errorf("the audit has %d refusals, wanted that of the move alone", n)
	}
}

// "No room" for what stays says what frees room soonest, as a refusal to create does: on nodes that
// could take it, and never on the one that is drained.
func TestDrain_SaysWhatFreesRoomElsewhere(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	root := w.token("root")
	w.saysOfItself(controlplane.Inventory{}, 1<<39)
	w.expectSaved(w.catalog.PutEnvironment(t.Context(), system, catalog.EnvironmentPut{Name: "qa",
		Domain: "localhost", CleanupAfterHours: 24}))
	half := toService("api", "api")
	half.Service.Resources.MemoryMiB = 30 << 10
	w.project("half", half)
	make := func(name string) {
		t.Helper()
		w.expect(http.StatusCreated, "POST", "/deployments", root, object{"name": name,
			"project": "half", "environment": "qa", "versions": object{"api": "1.0"}}, nil)
		w.deployReady(name)
	}
	here := w.node
	make("stays")
	w.machine("node-2", controlplane.Inventory{CPU: 8, Memory: 48 << 30, Disk: 1 << 40})
	make("there")
	w.node = here
	var d api.NodeDrain
	w.expect(http.StatusOK, "POST", "/nodes/node-1/drain", root, object{"move": true}, &d)
	want := "No node has room: this deployment asks for 0.1 cores and 32 GB of memory. " +
		"there ends by itself in 23 hours, unless somebody uses it. To make room now, remove there ("
	for _, drain := range []func(){func() {}, func() {
		w.expect(http.StatusOK, "GET", "/nodes/node-1/drain", root, nil, &d)
	}} {
		drain()
		if len(d.Staying) != 1 || !strings.HasPrefix(textOf(d.Staying[0].StaysBecause), want) {
			t.Errorf("%d stay, because %q; want %q", len(d.Staying),
				textOf(d.Staying[0].StaysBecause), want)
		}
	}
}

func (w *world) stateless(root string) {
	w.t.Helper()
	w.project("plain", toService("web", "api"))
	w.expect(http.StatusCreated, "POST", "/deployments", root, object{"name": "light",
		"project": "plain", "environment": "qa", "versions": object{"web": "1.0"}}, nil)
	w.deployReady("light")
}

func (w *world) stayer(root string) {
	w.t.Helper()
	data := toService("db", "api")
	data.Service.Volumes = []pipeline.Volume{{Name: "data", Path: "/data", Stays: true}}
	w.project("data", data)
	w.expect(http.StatusCreated, "POST", "/deployments", root, object{"name": "keeps",
		"project": "data", "environment": "qa", "versions": object{"db": "1.0"}}, nil)
	w.deployReady("keeps")
}

func textOf(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
