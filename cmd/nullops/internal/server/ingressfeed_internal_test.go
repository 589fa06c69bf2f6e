package server

import (
	"slices"
	"testing"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/ingress"
)

// A deployment keeps its hosts when its environment's domain changes: the gate
// must hold for them as for those that come after.
func TestFormer_TheGateHoldsForOldHosts(t *testing.T) {
	t.Parallel()
	front := controlplane.IngressConfig{Zones: []controlplane.Zone{{Environment: "e1", Name: "qa",
		Domain: "new.example", EnvironmentGate: controlplane.EnvironmentGate{
			Gate: controlplane.GateMembers, RedirectHTTPS: true}}}}
	var routes []controlplane.Route
	for _, host := range []string{"web.cart.qa.old.example", "web--cart--qa.old.example",
		"admin--web--cart--qa.old.example", "cart.qa.old.example", "web.cart.qa.new.example"} {
		routes = append(routes, controlplane.Route{Host: host, Deployment: "d1", Name: "cart",
			Environment: "qa", Status: controlplane.Ready, NodeStatus: controlplane.NodeOnline,
			Step: "web", Port: 8080, Node: "n1"})
	}
	source := &routeSource{home: "http://ui.example"}
	all := addFormerZones(toZones(front.Zones), routes)
	table := ingress.NewTable(1, source.toRoutes(routes, front)).WithZones(all)
	for _, r := range table.Routes() {
		if r.Gate != ingress.GateMembers {
			t.Errorf("%s has the gate %q", r.Host, r.Gate)
		}
	}
	if len(table.Routes()) != len(routes) || len(all) != 2 || !slices.ContainsFunc(all,
		func(z ingress.Zone) bool {
			return z.Suffix == "qa.old.example" && z.EnvironmentID == "e1" && z.RedirectHTTPS
		}) {
		t.Errorf("%d routes in the zones %+v", len(table.Routes()), all)
	}
}
