package server

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/ingress"
)

// A deployment that waits for room has no node yet, so its page says that it
// waits and not that its machine is out of reach. One that has a node which
// went away says so.
func TestRoutes_OfQueuedDeployments(t *testing.T) {
	t.Parallel()
	const host = "web.cart.qa.example"
	for name, c := range map[string]struct {
		node   controlplane.NodeID
		status controlplane.NodeStatus
		says   string
	}{
		"without a node":       {"", "", "waits for its turn"},
		"on a node that is up": {"n1", controlplane.NodeOnline, "waits for its turn"},
		"on a node that is away": {"n1", controlplane.NodeOffline,
			"out of reach"},
	} {
		source := &routeSource{home: "http://ui.example"}
		table := ingress.NewTable(1, source.toRoutes([]controlplane.Route{{Host: host,
			Deployment: "0190f6a0-0000-7000-8000-000000000001", Name: "cart", Environment: "qa",
			Project: "shop", Step: "web", Port: 80, Status: controlplane.Queued,
			Node: c.node, NodeStatus: c.status}}, controlplane.IngressConfig{}))
		p, err := ingress.New(ingress.Config{Dial: newTunnelOpener(nil, nil)})
		if err != nil {
			t.Fatal(err)
		}
		p.SetTable(table)
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		r.Host = host
		r.Header.Set("Accept", "text/html")
		w := httptest.NewRecorder()
		p.ServeHTTP(w, r)
		if w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), c.says) {
			t.Errorf("%s: %d, and the page does not say %q:\n%s", name, w.Code, c.says, w.Body)
		}
	}
}

// An agent of another release takes no orders, but its services are reached until it is upgraded.
func TestRoutes_OfAnotherRelease(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status controlplane.DeploymentStatus
		want   ingress.State
	}{
		{controlplane.Ready, ingress.StateReady},
		{controlplane.Applying, ingress.StateOffline},
	} {
		source := &routeSource{}
		got := source.toRoutes([]controlplane.Route{{Deployment: "d", Step: "web", Port: 80,
			Status: c.status, Node: "n1", NodeStatus: controlplane.NodeIncompatible}},
			controlplane.IngressConfig{})
		if got[0].State != c.want {
			t.Errorf("%s on a node of another release is shown as %s", c.status, got[0].State)
		}
	}
}

// What an agent says of a service on loopback addresses reaches visitors.
func TestTunnels_ExplainLoopback(t *testing.T) {
	t.Parallel()
	plain := &wire.TunnelError{Status: http.StatusBadGateway, Reason: "it refuses"}
	told := *plain
	told.Listens = wire.ListenAddrs{netip.MustParseAddrPort("[::1]:80")}
	if err := explainedTunnel(plain); !errors.Is(err, plain) || explainedTunnel(nil) != nil {
		t.Errorf("a plain refusal became %v", err)
	}
	err := explainedTunnel(fmt.Errorf("dial: %w", &told))
	if l, ok := errors.AsType[*ingress.LoopbackError](err); !ok || l.Listens != "[::1]:80" ||
		!errors.Is(err, &told) {
		t.Errorf("it became %v", err)
	}
}
