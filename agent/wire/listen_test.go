package wire_test

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/agent/wire/wiretest"
)

// T24: strangers from ten addresses hold everything they can, and the control
// plane still gets through.
//
// threat: T24
func TestListener_SurvivesAConnectFlood(t *testing.T) {
	agent := newAgent(t)
	address := agent.DialConfig().Address
	const strangers, places = 300, 64
	gone := make(chan struct{}, strangers)
	var readers sync.WaitGroup
	var held []net.Conn
	for i := range strangers {
		from := &net.TCPAddr{IP: net.IPv4(127, 0, 1, byte(1+i%10))}
		c, err := (&net.Dialer{LocalAddr: from}).DialContext(t.Context(), "tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, c)
		if i%2 == 0 {
			_, _ = io.WriteString(c, "\x16\x03\x01") // half a record, then nothing
		}
		readers.Go(func() {
			_, _ = c.Read(make([]byte, 1))
			gone <- struct{}{}
		})
	}
	conn, err := wire.Dial(t.Context(), agent.DialConfig())
	if err != nil {
		t.Fatalf("the control plane was locked out: %v", err)
	}
	_ = conn.Close()
	for range strangers - places {
		<-gone // hangs, and fails by the test's timeout, if more than 64 stay
	}
	for _, c := range held {
		_ = c.Close()
	}
	readers.Wait()
}

// A peer that stalls, at whichever point, has five seconds.
func TestListener_GivesEachStrangerFiveSeconds(t *testing.T) {
	for name, start := range map[string]func(*testing.T, net.Conn, *wiretest.Agent){
		"says nothing": func(*testing.T, net.Conn, *wiretest.Agent) {},
		"stops inside a record": func(_ *testing.T, c net.Conn, _ *wiretest.Agent) {
			_, _ = io.WriteString(c, "\x16\x03\x01\x01")
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				agent := wiretest.NewAgent(t, wiretest.AgentConfig{})
				begin := time.Now()
				c, err := agent.DialConfig().Connect(t.Context(), "", "")
				if err != nil {
					t.Fatal(err)
				}
				start(t, c, agent)
				_, _ = io.Copy(io.Discard, c)
				if took := time.Since(begin); took != 5*time.Second {
					t.Errorf("it was let go after %v", took)
				}
			})
		})
	}
}

// A flood of failures makes a bounded number of log lines.
func TestListener_LogsBoundedly(t *testing.T) {
	var log lockedBuilder
	agent := wiretest.NewAgent(t, wiretest.AgentConfig{Listener: listenLoopback(t),
		Log: slog.New(slog.NewJSONHandler(&log, nil))})
	for range 100 {
		c, err := net.Dial("tcp", agent.DialConfig().Address)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(c, "garbage\n")
		_, _ = io.Copy(io.Discard, c)
		_ = c.Close()
	}
	lines := strings.Count(log.String(), "\n")
	if lines == 0 || lines > 20 {
		t.Errorf("%d lines for 100 failures:\n%s", lines, log.String())
	}
}

type lockedBuilder struct {
	mu   sync.Mutex
	text strings.Builder
}

func (b *lockedBuilder) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuilder) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// Rotation and revocation: one token's connections end at once, the other's
// stay.
func TestListener_CutsOneTokensConnections(t *testing.T) {
	agent := newAgent(t)
	other := wire.NewToken(agent.ControlPlane.SPKI())
	agent.Memory.AddToken(other)
	old := agent.Open(t)
	config := agent.DialConfig()
	config.Kid, config.Key = other.Kid, other.Key()
	kept, err := wire.Dial(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer kept.Close()
	agent.Memory.RevokeToken(agent.Token.Kid)
	n := agent.Listener.CloseMatching(func(p wire.Peer) bool { return p.Kid == agent.Token.Kid })
	if n != 1 {
		t.Errorf("%d connections were cut", n)
	}
	<-old.Done()
	if _, err := wire.Dial(t.Context(), agent.DialConfig()); err == nil {
		t.Error("the revoked token was accepted again")
	}
	if _, err := wire.OpenSession(t.Context(), kept); err != nil {
		t.Errorf("the other token's connection is gone: %v", err)
	}
}

// A connection that its owner closed is off the list of those that can be cut.
func TestListener_ForgetsAClosedConnection(t *testing.T) {
	pipes, control := wiretest.NewPipeListener(), wiretest.NewIdentity(t)
	own, token := wiretest.NewIdentity(t), wire.NewToken(control.SPKI())
	l := wire.NewListener(pipes, wire.ListenConfig{Identity: own, Build: "dev",
		Verifier: wiretest.NewMemoryVerifier(token)})
	defer l.Close()
	near, err := wire.Dial(t.Context(), wire.DialConfig{Address: pipes.Addr().String(),
		Connect: pipes.Dial, Identity: control, Thumbprint: own.Thumbprint(), NodeID: wiretest.NodeID,
		Kid: token.Kid, Key: token.Key(), Epoch: 1, Build: "dev"})
	if err != nil {
		t.Fatal(err)
	}
	defer near.Close()
	far, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	_ = far.Close()
	if n := l.CloseMatching(func(wire.Peer) bool { return true }); n != 0 {
		t.Errorf("%d connections were cut that were closed before", n)
	}
}

// cutsInAdmit is a revocation that happens at the worst moment.
type cutsInAdmit struct {
	*wiretest.MemoryVerifier
	listener func() *wire.Listener
	cut      chan int
}

func (c cutsInAdmit) Admit(ctx context.Context, p wire.Peer) error {
	c.cut <- c.listener().CloseMatching(func(wire.Peer) bool { return true })
	return c.MemoryVerifier.Admit(ctx, p)
}

func TestListener_CutCatchesAConnectionBeingAdmitted(t *testing.T) {
	var agent *wiretest.Agent
	ready, cut := make(chan struct{}), make(chan int, 1)
	agent = wiretest.NewAgent(t, wiretest.AgentConfig{Listener: listenLoopback(t),
		Verifier: func(m *wiretest.MemoryVerifier) wire.Verifier {
			return cutsInAdmit{MemoryVerifier: m, cut: cut, listener: func() *wire.Listener {
				<-ready
				return agent.Listener
			}}
		}})
	close(ready)
	conn, err := wire.Dial(t.Context(), agent.DialConfig())
	if err == nil {
		_, err = wire.OpenSession(t.Context(), conn)
	}
	if err == nil {
		t.Error("a connection outlived its revocation")
	}
	if n := <-cut; n != 1 {
		t.Errorf("the revocation saw %d connections", n)
	}
}

func TestListener_TellsTheHandlerWhoAsks(t *testing.T) {
	peers := make(chan wire.Peer, 1)
	agent := wiretest.NewAgent(t, wiretest.AgentConfig{Listener: listenLoopback(t),
		Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			peer, _ := wire.PeerFrom(r.Context())
			peers <- peer
		})})
	config := agent.DialConfig()
	config.Epoch = 12
	client := &http.Client{Transport: wire.NewTransport(
		func(ctx context.Context) (net.Conn, error) { return wire.Dial(ctx, config) })}
	defer client.CloseIdleConnections()
	answer, err := client.Get("http://agent/v1/deployments/d/services/api/logs")
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	peer := <-peers
	if peer.Epoch != 12 || peer.Kid != agent.Token.Kid || peer.NodeID != wiretest.NodeID ||
		peer.SPKI != agent.ControlPlane.SPKI() {
		t.Errorf("%+v", peer)
	}
}

// The five seconds are for strangers: a proven connection may idle in a pool.
func TestListener_LiftsTheLimitAfterTheProof(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		agent := wiretest.NewAgent(t, wiretest.AgentConfig{})
		conn, err := wire.Dial(t.Context(), agent.DialConfig())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		time.Sleep(time.Minute)
		_, _ = io.WriteString(conn, "GET /late HTTP/1.0\r\n\r\n")
		if answer, err := io.ReadAll(conn); err != nil ||
			!strings.HasPrefix(string(answer), "HTTP/1.0 404") {
			t.Errorf("%q, %v", answer, err)
		}
	})
}

// ServeSession must not be reachable by a server that forgot the listener.
func TestServeSession_RefusesUnprovenConnections(t *testing.T) {
	answer := httptest.NewRecorder()
	request := httptest.NewRequest(http.MethodGet, wire.PathSession, nil)
	if _, err := wire.ServeSession(answer, request); err == nil ||
		answer.Code != http.StatusForbidden {
		t.Errorf("got %v, status %d", err, answer.Code)
	}
}

// T36-like on the agent's side: closing leaves no goroutine and no half-proven
// connection behind.
func TestListener_CloseEndsEverything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		id := wiretest.NewIdentity(t)
		pipes := wiretest.NewPipeListener()
		l := wire.NewListener(pipes, wire.ListenConfig{Identity: id,
			Verifier: wiretest.NewMemoryVerifier(), Build: "dev"})
		c, err := pipes.Dial(t.Context(), "", "")
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Read(make([]byte, 1)); err == nil {
			t.Error("the unproven connection lives on")
		}
		if _, err := l.Accept(); err == nil {
			t.Error("accepted after close")
		}
	})
}
