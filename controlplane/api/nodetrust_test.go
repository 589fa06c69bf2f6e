package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/api"
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
			if !strings.Contains(said, wanted) || (wanted == "") != (said == "") {
				t.Errorf("%s stays because %q, wanted %q", one.Name, said, wanted)
			}
		}
	}
	bound := "volumes of deployment keeps stay on their node: db/data"
	why(map[string]string{"light": "no node has room", "keeps": bound})
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
