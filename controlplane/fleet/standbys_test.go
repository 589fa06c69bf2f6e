package fleet_test

import (
	"context"
	"crypto/x509"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/agent/wire/wiretest"
	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/fleet"
	"github.com/nullops/nullops/controlplane/nodes"
	"github.com/nullops/nullops/controlplane/postgres/pgtest"
)

// standbyRig is a rig whose agent dials one replica; the test decides which others there are.
type standbyRig struct {
	*rig
	ingress *wire.Identity
	door    *fleet.Standbys
	web     *httptest.Server
}

func newStandbyRig(t *testing.T) *standbyRig {
	r := &standbyRig{rig: newRig(t), ingress: wiretest.NewIdentity(t)}
	r.failOnError(r.nodes.PutNode(t.Context(), system, nodes.Put{Name: "n", Environment: "qa",
		Connect: controlplane.ConnectAgent}))
	r.door = r.newStandbys("a", r.rig.newNodeTable("a"))
	r.web = httptest.NewTLSServer(r.door)
	t.Cleanup(r.web.Close)
	at, err := url.Parse(r.web.URL)
	r.failOnError(nil, err)
	ctx, cancel := context.WithCancel(context.Background())
	var announcing sync.WaitGroup
	announcing.Go(func() {
		_ = r.door.Announce(ctx, at, func() string {
			return fleet.FingerprintOf(r.web.Certificate().Raw)
		})
	})
	t.Cleanup(func() {
		cancel()
		announcing.Wait()
	})
	return r
}

func (r *standbyRig) newStandbys(holder string, table fleet.NodeTable) *fleet.Standbys {
	table.Holder = holder
	return fleet.NewStandbys(table, r.ingress, slog.New(slog.DiscardHandler))
}

// dialFrom has the rig's agent dial the replica, until stop is called.
func (r *standbyRig) dialFrom() (stop func()) {
	at, err := url.Parse(r.web.URL)
	r.failOnError(nil, err)
	l := wire.NewStandbyListener(wire.StandbyConfig{URL: at, Client: r.web.Client(),
		Credential: func() (string, wire.Key, error) {
			return r.agent.Token.Kid, r.agent.Token.Key(), nil
		}})
	return r.passToAgent(l)
}

// passToAgent has the rig's agent serve what a listener accepts.
func (r *rig) passToAgent(l net.Listener) (stop func()) {
	var passing sync.WaitGroup
	passing.Go(func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			far, err := r.pipes.Dial(context.Background(), "", "")
			if err != nil {
				_ = near.Close()
				continue
			}
			go func() { _, _ = io.Copy(near, far); _ = near.Close() }()
			go func() { _, _ = io.Copy(far, near); _ = far.Close() }()
		}
	})
	stop = func() {
		_ = l.Close()
		passing.Wait()
	}
	r.t.Cleanup(stop)
	return stop
}

// A node whose address is a URL is reached through the reverse proxy there, whose address is
// vetted as any node's and whose certificate is checked.
func TestSession_ANodesAddressMayBeAURL(t *testing.T) {
	r := newRig(t)
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	r.failOnError(nil, err)
	r.passToAgent(wire.NewCarrierListener(inner, slog.New(slog.DiscardHandler)))
	paths := make(chan string, 64)
	front := httptest.NewTLSServer(&httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) {
		paths <- p.In.URL.Path
		p.SetURL(&url.URL{Scheme: "http", Host: inner.Addr().String()})
	}})
	t.Cleanup(front.Close)
	r.failOnError(r.nodes.PutNode(t.Context(), system, nodes.Put{Name: "n", Environment: "qa",
		Address: "wss://example.com/nodes/n"}))
	dialed := make(chan string, 64)
	r.connect = func(ctx context.Context, network, address string) (net.Conn, error) {
		dialed <- address
		return (&net.Dialer{}).DialContext(ctx, network, front.Listener.Addr().String())
	}
	stop := r.start("a")
	for r.detail() == "" { // the proxy's certificate is not one that the system trusts
		time.Sleep(20 * time.Millisecond)
	}
	stop()
	if !strings.Contains(r.detail(), "certificate") || len(paths) > 0 {
		t.Errorf("with an unknown proxy it says %q", r.detail())
	}
	r.roots = x509.NewCertPool()
	r.roots.AddCert(front.Certificate())
	r.start("b")
	r.waitForSession()
	r.waitUntilOnline()
	if at, path := <-dialed, <-paths; at != "example.com:443" || path != "/nodes/n" {
		t.Errorf("dialed %s, and asked for %s", at, path)
	}
}

func (r *rig) detail() string {
	return pgtest.QueryValue[string](r.t, r.url, "SELECT detail FROM nodes")
}

func (r *standbyRig) link(key wire.Key) fleet.NodeLink {
	return fleet.NodeLink{Node: controlplane.Node{ID: r.node, Name: "n",
		Connect: controlplane.ConnectAgent}, Kid: r.agent.Token.Kid, Key: key}
}

// A node whose agent dials one replica is commanded by another, which asks the first for a
// connection; so does the ingress, which holds no token.
func TestStandbys_AnyProcessReachesAnAgentThatDials(t *testing.T) {
	r := newStandbyRig(t)
	r.standbys = r.newStandbys("b", r.newNodeTable("b"))
	stop := r.start("b")
	for r.detail() == "" {
		time.Sleep(20 * time.Millisecond)
	}
	if !strings.Contains(r.detail(), "its agent has not connected") {
		t.Errorf("without the agent it says %q", r.detail())
	}
	r.dialFrom()
	r.waitForSession()
	r.waitUntilOnline()

	ingress := r.newStandbys("ingress", r.newNodeTable("ingress"))
	conn, err := ingress.Take(t.Context(), r.link(r.ingress.TunnelKey(r.agent.Token.Kid)))
	if err != nil {
		t.Fatalf("the ingress gets no connection: %v", err)
	}
	_ = conn.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	stranger := wiretest.NewIdentity(t).TunnelKey(r.agent.Token.Kid)
	if conn, err := ingress.Take(ctx, r.link(stranger)); err == nil {
		_ = conn.Close()
		t.Error("a stranger got a connection to the agent")
	}

	stop()
	r.standbys = r.newStandbys("c", r.newNodeTable("c"))
	r.start("c")
	r.waitForSession()
}

// The replica that the agent dials uses its connections itself, and one that a former token
// opened is used by nobody.
func TestStandbys_OnlyTheTokenThatOpenedAConnectionUsesIt(t *testing.T) {
	r := newStandbyRig(t)
	r.dialFrom()
	link := r.link(r.agent.Token.Key())
	conn, err := r.door.Take(t.Context(), link)
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
	link.Kid = wire.NewToken(r.agent.ControlPlane.SPKI()).Kid
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if conn, err := r.door.Take(ctx, link); err == nil {
		_ = conn.Close()
		t.Error("a connection of another token was used")
	}
}

func TestStandbys_RefuseWhoMayNotConnect(t *testing.T) {
	r := newStandbyRig(t)
	token, stranger := r.agent.Token, wire.NewToken(r.agent.ControlPlane.SPKI())
	for name, try := range map[string]struct {
		before string
		token  wire.Token
		says   string
	}{
		"unknown token": {"SELECT 1", stranger, "token refused"},
		"disabled":      {"UPDATE nodes SET status = 'disabled'", token, "disabled"},
		"other mode": {"UPDATE nodes SET status = 'offline', connect = 'control-plane', " +
			"address = 'a:1'", token, "the control plane dials this node"},
		"revoked": {"UPDATE node_tokens SET revoked_at = now()", token, "token refused"},
	} {
		t.Run(name, func(t *testing.T) {
			pgtest.Exec(t, r.url, try.before)
			defer pgtest.Exec(t, r.url, "UPDATE nodes SET status = 'offline', connect = 'agent', "+
				"address = ''; UPDATE node_tokens SET revoked_at = NULL")
			_, err := wire.DialStandby(t.Context(), wire.StandbyDial{
				URL: r.web.URL + wire.PathStandby, Client: r.web.Client(), Role: wire.StandbyAgent,
				Kid: try.token.Kid, Key: try.token.Key()})
			refused, ok := errors.AsType[*wire.RefusedError](err)
			if !ok || refused.Code != wire.CodeRefused || !strings.Contains(refused.Reason, try.says) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// Strangers cannot use up what is kept for connections without a proof, and a source that fails
// often gets little.
func TestStandbys_BoundStrangers(t *testing.T) {
	r := newStandbyRig(t)
	hold := func() (status int) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.web.URL, nil)
		if err != nil {
			t.Error(err)
			return 0
		}
		for name, value := range map[string]string{"Connection": "Upgrade", "Upgrade": "websocket",
			"Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA=="} {
			request.Header.Set(name, value)
		}
		answer, err := r.web.Client().Transport.RoundTrip(request)
		if err != nil {
			t.Error(err)
			return 0
		}
		t.Cleanup(func() { _ = answer.Body.Close() })
		return answer.StatusCode
	}
	// All at once: each has its place for the time of a proof only.
	var refused atomic.Int32
	var strangers sync.WaitGroup
	for range 80 {
		strangers.Go(func() {
			if hold() == http.StatusServiceUnavailable {
				refused.Add(1)
			}
		})
	}
	strangers.Wait()
	if n := refused.Load(); n != 16 {
		t.Errorf("%d of 80 were refused, with room for 64", n)
	}
}
