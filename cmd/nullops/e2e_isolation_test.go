package main_test

import (
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/nullops/nullops/internal/testpart"
)

// isolation tries from inside one deployment what it can reach: its own services
// by name and the outside, but not another deployment.
func isolation(t *testing.T, w *world) {
	testpart.Rotate(t)
	p := w.product()
	n := p.node("alpha")
	outside, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = outside.Close() })
	away := net.JoinHostPort(machineAddress(t), portOf(outside.Addr().String()))
	p.define(t, "victim", webStep("web"))
	theirTeam := p.member(t, "victims", object{"project": "victim", "level": "full"})
	victim := theirTeam.deployReady(t, "victim", "victim", nil)
	p.answers(t, serviceURL(t, victim, "web"))
	theirs := n.foreignAddresses(t, victim.Id)
	p.define(t, "curious", webStep("web"), hostileStep("look", []string{"web"}, object{
		"mode": "connect", "seconds": 5, "addresses": append([]string{"web:8080", away}, theirs...)}))
	otherTeam := p.member(t, "curious-ones", object{"project": "curious", "level": "full"})
	curious := otherTeam.deployReady(t, "curious", "curious", nil)
	// promise: N-171
	otherTeam.want(t, http.StatusNotFound, http.MethodGet, "/deployments/"+victim.Id, nil, nil)
	outputs := findStep(t, p.admin.run(t, curious), "look").Outputs
	if outputs == nil {
		t.Fatal("the plugin returned nothing")
	}
	results, ok := (*outputs)["results"].(map[string]any)
	if !ok {
		t.Fatalf("the plugin returned %v", *outputs)
	}
	// promise: N-172
	if results["web:8080"] != "connected" {
		t.Errorf("its own service by name: %v", results["web:8080"])
	}
	// promise: N-176
	if results[away] != "connected" {
		t.Errorf("the outside: %v", results[away])
	}
	for _, address := range theirs {
		// promise: N-170, N-171
		if results[address] == nil || results[address] == "connected" {
			t.Errorf("another deployment at %s: %v", address, results[address])
		}
	}
	n.shareNoNetwork(t, curious.Id, victim.Id)
	if serviceURL(t, curious, "web") == serviceURL(t, victim, "web") {
		t.Error("two deployments share a host") // promise: N-251
	}
	p.admin.remove(t, curious.Id)
	n.nothingLeft(t, curious.Id)
	p.answers(t, serviceURL(t, victim, "web"))
	p.admin.remove(t, victim.Id)
	n.nothingLeft(t, victim.Id)
}

// foreignAddresses are those under which a service of a deployment could be reached by others, and
// in a cluster the API server too.
func (n *node) foreignAddresses(t *testing.T, victim string) (theirs []string) {
	t.Helper()
	if n.p.w.cluster != nil {
		pod := n.pod(t, victim, "web")
		return []string{net.JoinHostPort(pod.Status.PodIP, "8080"),
			"web." + pod.Metadata.Namespace + ".svc.cluster.local:8080", "10.96.0.1:443"}
	}
	for _, network := range n.containers(t, victim)["web"].NetworkSettings.Networks {
		theirs = append(theirs, net.JoinHostPort(network.IPAddress.String(), "8080"),
			net.JoinHostPort(network.Gateway.String(), "8080"))
	}
	if len(theirs) != 2 || strings.Contains(theirs[0], "invalid") {
		t.Fatalf("the victim's addresses are %v", theirs)
	}
	return theirs
}

func (n *node) shareNoNetwork(t *testing.T, one, another string) {
	t.Helper()
	if n.p.w.cluster != nil {
		return // all pods of a cluster are on one, and policies keep them apart
	}
	own, other := n.containers(t, one), n.containers(t, another)
	for name := range own["web"].NetworkSettings.Networks {
		if _, shared := other["web"].NetworkSettings.Networks[name]; shared {
			t.Errorf("both are on network %s", name)
		}
	}
}
