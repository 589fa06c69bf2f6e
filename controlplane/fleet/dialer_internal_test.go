package fleet

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/agent/wire/wiretest"
	"github.com/nullops/nullops/controlplane"
)

// Forwarding a port of a service on loopback addresses fails with a remedy.
func TestRefusedTunnel_NamesLoopback(t *testing.T) {
	err := refusedTunnel(&wire.TunnelError{Status: 502, Reason: "it refuses",
		Listens: wire.ListenAddrs{netip.MustParseAddrPort("127.0.0.1:80")}})
	e, ok := errors.AsType[*controlplane.Error](err)
	if !ok || e.Message != "The service listens on 127.0.0.1:80 only." ||
		e.Remedy != "Make it listen on 0.0.0.0." {
		t.Errorf("it became %v", err)
	}
}

// What passes by itself can be tried again; what does not, cannot.
func TestRefusedCheck_SaysWhetherItPasses(t *testing.T) {
	later, final := refusedCheck(503, "it waits for secrets"), refusedCheck(409, "it is not ready")
	if e, ok := errors.AsType[*controlplane.Error](later); !ok ||
		e.Kind != controlplane.Unavailable || e.RetryAfter == 0 {
		t.Errorf("503 became %v", later)
	}
	if e, ok := errors.AsType[*controlplane.Error](final); !ok || e.Kind != controlplane.Conflict {
		t.Errorf("409 became %v", final)
	}
}

// oneNode is the part of Nodes that a dialer uses, for one node.
type oneNode struct {
	Nodes
	link NodeLink
}

func (n oneNode) GetLink(context.Context, controlplane.NodeID) (NodeLink, error) {
	return n.link, nil
}

func (n oneNode) Epoch(context.Context, controlplane.NodeID) (int64, error) { return 1, nil }

// tunnelAgent is an agent that accepts any tunnel, and the node that it is.
func tunnelAgent(t *testing.T) (NodeLink, wire.DialConfig) {
	t.Helper()
	agent := wiretest.NewAgent(t, wiretest.AgentConfig{Build: "1.0.0",
		Listener: wiretest.NewPipeListener(),
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodConnect {
				t.Errorf("the agent was asked for %s %s", r.Method, r.URL)
			}
			w.WriteHeader(http.StatusOK)
		})})
	dial := agent.DialConfig()
	return NodeLink{Node: controlplane.Node{ID: wiretest.NodeID, Name: "n1", Address: dial.Address,
		Status: controlplane.NodeOnline}, Kid: dial.Kid, Key: dial.Key}, dial
}

// While an agent is restarted, the tunnels of visitors wait for it.
func TestDialer_WaitsForARestart(t *testing.T) {
	t.Parallel()
	link, dial := tunnelAgent(t)
	refusals := []error{syscall.ECONNREFUSED, io.EOF, syscall.ECONNRESET}
	const replaced = 6 * time.Second // on a busy machine
	begun, tries := time.Now(), 0
	d := NewDialer(oneNode{link: link}, DialSettings{Identity: dial.Identity, Build: "1.0.0",
		Connect: func(ctx context.Context, network, address string) (net.Conn, error) {
			if time.Since(begun) < replaced {
				tries++
				return nil, refusals[tries%len(refusals)]
			}
			return dial.Connect(ctx, network, address)
		}})
	target := wire.Target{Deployment: "d", Service: "web", Port: 80}
	conn, err := d.OpenTunnel(t.Context(), wiretest.NodeID, target)
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
}

// An agent of another release opens tunnels, and nothing else, until it is upgraded.
func TestDialer_OpensTunnelsOfAnotherRelease(t *testing.T) {
	t.Parallel()
	link, dial := tunnelAgent(t)
	link.Node.Status = controlplane.NodeIncompatible
	d := NewDialer(oneNode{link: link}, DialSettings{Identity: dial.Identity, Build: "2.0.0",
		Connect: dial.Connect})
	target := wire.Target{Deployment: "d", Service: "web", Port: 80}
	for range 2 {
		conn, err := d.OpenTunnel(t.Context(), wiretest.NodeID, target)
		if err != nil {
			t.Fatal(err)
		}
		_ = conn.Close()
	}
	_, err := d.Logs(t.Context(), wiretest.NodeID, "d", "web", LogOptions{})
	if err == nil || !strings.Contains(err.Error(), "of another release") {
		t.Errorf("asked for logs: %v", err)
	}
	link.Node.Status = controlplane.NodeOffline
	d = NewDialer(oneNode{link: link}, DialSettings{Identity: dial.Identity, Build: "2.0.0",
		Connect: dial.Connect})
	if _, err := d.OpenTunnel(t.Context(), wiretest.NodeID, target); err == nil {
		t.Error("a tunnel to an agent that is offline was tried")
	}
}
