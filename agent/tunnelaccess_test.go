package agent_test

import (
	"context"
	"errors"
	"io"
	"math"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/nullops/nullops/agent/dummy"
	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/agent/wire/wiretest"
)

// ingressDial is how an ingress with an identity of its own connects.
func (n *node) ingressDial(ingress *wire.Identity) wire.DialConfig {
	return wire.DialConfig{Address: "agent:5000", Identity: ingress,
		Thumbprint: n.agent.Thumbprint(), NodeID: wiretest.NodeID, Kid: n.token.Kid,
		Key: ingress.TunnelKey(n.token.Kid), Epoch: 1, Build: "dev", Connect: n.pipes.Dial}
}

func (n *node) dialAs(c wire.DialConfig) *wire.ProvenConn {
	n.t.Helper()
	conn, err := wire.Dial(n.t.Context(), c)
	if err != nil {
		n.t.Fatal(err)
	}
	return conn
}

// The ingress opens tunnels with its own key. Everything else that an agent serves is refused
// to that key, and so is every other way of showing it.
//
// threat: T53
func TestAgent_TheIngressOpensTunnelsOnly(t *testing.T) {
	t.Parallel()
	p, dir := newPlane(t), t.TempDir()
	ingress := wiretest.NewIdentity(t)
	runtime := dummy.New(dummy.Hooks{Plugin: runMaker})
	n := p.boot(dir, runtime, nil)
	if _, err := wire.Dial(t.Context(), n.ingressDial(ingress)); err == nil {
		t.Fatal("an ingress was let in that no control plane has named")
	}
	s := n.connect()
	n.tellAccess(s, wire.NewTunnelAccess(ingress, p.token.Kid), "d1")
	n.pings(ingress)
	n.refusesCommands(ingress)
	n.refusesOtherProofs(ingress)
	// A high epoch of the ingress is not kept: it would lock the control plane out.
	high := n.ingressDial(ingress)
	high.Epoch = math.MaxUint64
	_ = n.dialAs(high).Close()
	if conn, err := n.dial(t.Context()); err != nil {
		t.Errorf("after the ingress came with a high epoch, the control plane: %v", err)
	} else {
		_ = conn.Close()
	}
	n.stop()
	n = p.boot(dir, runtime, nil)
	n.pings(ingress)
	s = n.connect()
	open := n.dialAs(n.ingressDial(ingress))
	n.tellAccess(s, wire.TunnelAccess{}, "d2")
	if _, err := open.Read(make([]byte, 1)); err == nil {
		t.Error("a connection of the ingress outlived its access")
	}
	if _, err := wire.Dial(t.Context(), n.ingressDial(ingress)); err == nil {
		t.Error("the ingress was let in after its access was withdrawn")
	}
}

// tellAccess names the ingress, and waits until the agent has obeyed: it handles commands in
// their order, and the goal comes behind.
func (n *node) tellAccess(s *wire.Session, access wire.TunnelAccess, deployment string) {
	n.t.Helper()
	if err := s.Send(n.t.Context(), access); err != nil {
		n.t.Fatal(err)
	}
	n.want(s, shopGoal(deployment))
	n.untilPhase(deployment, wire.PhaseReady)
}

func (n *node) pings(ingress *wire.Identity) {
	n.t.Helper()
	tunnel, err := wire.OpenTunnel(n.t.Context(), n.dialAs(n.ingressDial(ingress)),
		wire.Target{Deployment: "d1", Service: "web", Port: 80})
	if err != nil {
		n.t.Fatal(err)
	}
	defer func() { _ = tunnel.Close() }()
	got := make([]byte, 4)
	if _, err = io.WriteString(tunnel, "ping"); err == nil {
		_, err = io.ReadFull(tunnel, got)
	}
	if err != nil || string(got) != "ping" {
		n.t.Errorf("through the tunnel came %q, %v", got, err)
	}
}

// refusesCommands asks for everything besides tunnels, over connections that are proven.
func (n *node) refusesCommands(ingress *wire.Identity) {
	n.t.Helper()
	ctx, how := n.t.Context(), n.ingressDial(ingress)
	if _, err := wire.OpenSession(ctx, n.dialAs(how)); !errors.Is(err, wire.ErrNoSession) {
		n.t.Errorf("a session of the ingress: %v", err)
	}
	if _, err := wire.OpenRunLogs(ctx, n.dialAs(how)); !errors.Is(err, wire.ErrNoSession) {
		n.t.Errorf("step logs for the ingress: %v", err)
	}
	_, err := wire.OpenInside(ctx, n.dialAs(how), "d1", "web")
	refused, ok := errors.AsType[*wire.TunnelError](err)
	if !ok || refused.Status != http.StatusForbidden {
		n.t.Errorf("a command inside a service for the ingress: %v", err)
	}
	client := &http.Client{Transport: wire.NewTransport(
		func(ctx context.Context) (net.Conn, error) { return wire.Dial(ctx, how) })}
	defer client.CloseIdleConnections()
	volume := strings.NewReplacer("{id}", "d1", "{step}", "web", "{key}", "web", "{name}", "data")
	for _, asked := range []string{"GET " + wire.PathServiceLogs, "GET " + wire.PathDeployment,
		"POST " + wire.PathChecks, "GET " + wire.PathVolumes, "GET " + wire.PathVolume,
		"PUT " + wire.PathVolume, "GET " + wire.PathInventory, "POST " + wire.PathUpgrade,
		"GET " + wire.PathMails,
		"DELETE " + wire.PathMails, "GET " + wire.PathSession, "GET /"} {
		method, path, _ := strings.Cut(asked, " ")
		r, err := http.NewRequestWithContext(ctx, method, "http://agent"+volume.Replace(path), nil)
		if err != nil {
			n.t.Fatal(err)
		}
		answer, err := client.Do(r)
		if err != nil {
			n.t.Fatal(err)
		}
		_ = answer.Body.Close()
		if answer.StatusCode != http.StatusForbidden {
			n.t.Errorf("%s of the ingress was answered with %s", asked, answer.Status)
		}
	}
}

// refusesOtherProofs tries what a holder of the ingress's key could make of it.
func (n *node) refusesOtherProofs(ingress *wire.Identity) {
	n.t.Helper()
	for name, change := range map[string]func(*wire.DialConfig){
		"the token's key":        func(c *wire.DialConfig) { c.Key = n.token.Key() },
		"another node's key":     func(c *wire.DialConfig) { c.Key = ingress.TunnelKey("0123456789") },
		"another node's ID":      func(c *wire.DialConfig) { c.NodeID = "another" },
		"the control plane's ID": func(c *wire.DialConfig) { c.Identity = n.identity },
		"another release": func(c *wire.DialConfig) {
			c.Build, c.Maintain = "later", true
		},
	} {
		how := n.ingressDial(ingress)
		change(&how)
		conn, err := wire.Dial(n.t.Context(), how)
		if err == nil && name == "another release" {
			// The dialing end takes the refusal for an agent that it may maintain.
			_, err = conn.Read(make([]byte, 1))
		}
		if err == nil {
			n.t.Errorf("with %s the ingress was let in", name)
		}
	}
}
