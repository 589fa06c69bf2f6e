package wire_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/agent/wire/wiretest"
)

func TestDial_ProvesBothEnds(t *testing.T) {
	agent := newAgent(t)
	config := agent.DialConfig()
	config.Thumbprint = wire.Thumbprint{} // enrolling
	conn, err := wire.Dial(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if conn.Peer().Thumbprint != agent.Identity.Thumbprint() || conn.Peer().Build != "dev" {
		t.Errorf("peer is %+v", conn.Peer())
	}
	state := conn.ConnectionState()
	if state.Version != tls.VersionTLS13 || state.DidResume {
		t.Errorf("TLS version %x, resumed %v", state.Version, state.DidResume)
	}
	if node, epoch := agent.Memory.BoundNode(); node != wiretest.NodeID || epoch != 1 {
		t.Errorf("the agent remembers node %q, epoch %d", node, epoch)
	}
}

// N-210 and its neighbours: who is refused, and what each may learn.
func TestDial_Refusals(t *testing.T) {
	stranger := wiretest.NewIdentity(t)
	for name, tc := range map[string]struct {
		change func(*wiretest.Agent, *wire.DialConfig)
		want   error
		says   string
	}{
		"wrong token": {func(_ *wiretest.Agent, c *wire.DialConfig) {
			other := wire.NewToken(c.Identity.SPKI())
			c.Kid, c.Key = other.Kid, other.Key()
		}, wire.ErrRefused, "compare the token"},
		"right kid, wrong key": {func(_ *wiretest.Agent, c *wire.DialConfig) {
			c.Key = wire.NewToken(c.Identity.SPKI()).Key()
		}, wire.ErrIntercepted, "another token"},
		"revoked token": {func(a *wiretest.Agent, c *wire.DialConfig) {
			a.Memory.RevokeToken(c.Kid)
		}, wire.ErrRefused, "compare the token"},
		"another control plane": {func(_ *wiretest.Agent, c *wire.DialConfig) {
			c.Identity = stranger
		}, wire.ErrRefused, "certificate"},
		"older epoch": {func(_ *wiretest.Agent, c *wire.DialConfig) {
			c.Epoch = 4
		}, wire.ErrStaleEpoch, "newer control plane epoch"},
		"another node id": {func(_ *wiretest.Agent, c *wire.DialConfig) {
			c.NodeID = "0198c0de-0000-7000-8000-00000000000f"
		}, wire.ErrOtherNode, "another node"},
		"another release": {func(_ *wiretest.Agent, c *wire.DialConfig) {
			c.Build = "1.9.0"
		}, wire.ErrIncompatible, "ours 1.9.0 (protocol 1), theirs dev"},
	} {
		t.Run(name, func(t *testing.T) {
			agent := newAgent(t)
			config := agent.DialConfig()
			config.Epoch = 5
			first, err := wire.Dial(t.Context(), config)
			if err != nil {
				t.Fatal(err)
			}
			defer first.Close()
			tc.change(agent, &config)
			conn, err := wire.Dial(t.Context(), config)
			if err == nil {
				_ = conn.Close()
				t.Fatal("let in")
			}
			// promise: N-210, V-05, V-15
			if !errors.Is(err, tc.want) || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("got %v, want %v that says %q", err, tc.want, tc.says)
			}
			if _, epoch := agent.Memory.BoundNode(); epoch != 5 {
				t.Errorf("the agent's epoch moved to %d", epoch)
			}
			// promise: V-18
			refused, ok := errors.AsType[*wire.RefusedError](err)
			if name == "wrong token" && (!ok || refused.Code != 4001 || refused.Reason == "") {
				t.Errorf("a wrong token was refused with %v", err)
			}
		})
	}
}

// N-217: both ends are proven first, so the control plane may mark the node,
// and the incompatible control plane's epoch still counts.
func TestDial_IncompatibleAgentIsProven(t *testing.T) {
	agent := newAgent(t)
	config := agent.DialConfig()
	config.Build, config.Thumbprint, config.Epoch = "2.0.0", wire.Thumbprint{}, 9
	_, err := wire.Dial(t.Context(), config)
	var incompatible *wire.IncompatibleError
	if !errors.As(err, &incompatible) {
		t.Fatal(err)
	}
	if incompatible.Ours != "2.0.0" || incompatible.Theirs != "dev" ||
		incompatible.Peer.Thumbprint != agent.Identity.Thumbprint() {
		t.Errorf("%+v", incompatible)
	}
	if _, epoch := agent.Memory.BoundNode(); epoch != 9 {
		t.Errorf("the agent's epoch is %d", epoch)
	}
	if len(agent.Sessions) != 0 {
		t.Error("an incompatible control plane got a session")
	}
}

func TestDial_RefusesIncompleteConfig(t *testing.T) {
	good := wiretest.NewAgent(t, wiretest.AgentConfig{}).DialConfig()
	for name, tc := range map[string]struct {
		change func(*wire.DialConfig)
		says   string
	}{
		"no port":     {func(c *wire.DialConfig) { c.Address = "node-1" }, "host:port"},
		"no identity": {func(c *wire.DialConfig) { c.Identity = nil }, "identity"},
		"no key":      {func(c *wire.DialConfig) { c.Key = wire.Key{} }, "key"},
		"no node":     {func(c *wire.DialConfig) { c.NodeID = "" }, "node id"},
		"no build":    {func(c *wire.DialConfig) { c.Build = "" }, "build"},
	} {
		config := good
		tc.change(&config)
		if _, err := wire.Dial(t.Context(), config); err == nil ||
			!strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// N-202 and T4: nothing but TLS 1.3 with the control plane's certificate gets
// as far as a byte of HTTP.
func TestListener_RefusesStrangersInTheHandshake(t *testing.T) {
	agent := newAgent(t)
	address := agent.DialConfig().Address
	own := keyPair(t, agent.ControlPlane)
	alpn := []string{"nullops-agent/1"}
	for name, config := range map[string]*tls.Config{
		"TLS 1.2": {Certificates: []tls.Certificate{own}, NextProtos: alpn,
			MaxVersion: tls.VersionTLS12},
		"no certificate": {NextProtos: alpn},
		"stranger's certificate": {NextProtos: alpn,
			Certificates: []tls.Certificate{keyPair(t, wiretest.NewIdentity(t))}},
		"agent's own certificate": {NextProtos: alpn,
			Certificates: []tls.Certificate{keyPair(t, agent.Identity)}},
		"no ALPN":          {Certificates: []tls.Certificate{own}},
		"a browser's ALPN": {Certificates: []tls.Certificate{own}, NextProtos: []string{"h2"}},
	} {
		t.Run(name, func(t *testing.T) {
			config.InsecureSkipVerify = true
			raw, err := net.Dial("tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			defer raw.Close()
			conn := tls.Client(raw, config)
			_, _ = io.WriteString(conn, "GET /v1/session HTTP/1.1\r\n\r\n")
			// promise: B-08
			if answer, err := io.ReadAll(conn); err == nil || len(answer) > 0 {
				t.Errorf("got %q, %v instead of a TLS alert", answer, err)
			}
		})
	}
}

func TestListener_RefusesPlainWebSocket(t *testing.T) {
	agent := newAgent(t)
	conn, err := net.Dial("tcp", agent.DialConfig().Address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, err = io.WriteString(conn, "GET /v1/session HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\n"+
		"Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"+
		"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n")
	if err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(conn)
	// promise: N-112
	if strings.Contains(string(answer), "HTTP/") { // promise: N-202
		t.Errorf("plain HTTP was answered: %q, %v", answer, err)
	}
	if len(agent.Sessions) != 0 {
		t.Error("a plain WebSocket got a session")
	}
}

// T4: a client that wants tickets gets none.
//
// threat: T4
func TestListener_GivesNoTickets(t *testing.T) {
	agent := newAgent(t)
	cache := &ticketCounter{}
	conn, err := tls.Dial("tcp", agent.DialConfig().Address, &tls.Config{
		InsecureSkipVerify: true, NextProtos: []string{"nullops-agent/1"},
		Certificates: []tls.Certificate{keyPair(t, agent.ControlPlane)}, ClientSessionCache: cache,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	// Tickets would come before the refusal of this wrong hello.
	_, _ = conn.Write([]byte{0, 0, 0, 2, '{', '}'})
	answer, err := io.ReadAll(conn)
	if err != nil || !strings.Contains(string(answer), "4001") {
		t.Fatalf("%q, %v", answer, err)
	}
	if cache.tickets != 0 {
		t.Errorf("%d tickets", cache.tickets)
	}
}

type ticketCounter struct{ tickets int }

func (c *ticketCounter) Get(string) (*tls.ClientSessionState, bool) { return nil, false }

func (c *ticketCounter) Put(_ string, s *tls.ClientSessionState) {
	if s != nil {
		c.tickets++
	}
}

// Whatever sits on the port, Dial says in one sentence what it is, and what it
// sends does not pile up.
func TestDial_HostilePeers(t *testing.T) {
	id := wiretest.NewIdentity(t)
	for name, tc := range map[string]struct {
		serve func(net.Conn)
		want  error
	}{
		"SSH banner": {func(c net.Conn) { _, _ = io.WriteString(c, "SSH-2.0-OpenSSH_9.2\r\n") },
			wire.ErrNotAgent},
		"plain HTTP": {func(c net.Conn) {
			_, _ = http.ReadRequest(bufio.NewReader(io.LimitReader(c, 1024)))
			_, _ = io.WriteString(c, "HTTP/1.1 400 Bad Request\r\n\r\n")
		}, wire.ErrNotAgent},
		"hangs up": {func(c net.Conn) { _, _ = c.Read(make([]byte, 4096)) }, io.EOF},
		"web server without ALPN": {overTLS(t, id, nil, func(c net.Conn) {
			_, _ = io.WriteString(c, "HTTP/1.1 400 Bad Request\r\n\r\n")
		}), wire.ErrNotAgent},
		"HTTP/2 server": {overTLS(t, id, []string{"h2"}, func(net.Conn) {}), wire.ErrNotAgent},
		"HTTP/2 behind our ALPN": {overTLS(t, id, alpnOf(), func(c net.Conn) {
			_, _ = c.Write([]byte{0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0})
		}), wire.ErrNotAgent},
		"HTTP behind our ALPN": {overTLS(t, id, alpnOf(), func(c net.Conn) {
			_, _ = io.WriteString(c, "HTTP/1.1 302 Found\r\nLocation: http://x/\r\n\r\n")
		}), wire.ErrNotAgent},
		"a frame of 1 GiB": {overTLS(t, id, alpnOf(), func(c net.Conn) {
			_, _ = c.Write(binary.BigEndian.AppendUint32(nil, 1<<30))
			_, _ = io.Copy(c, io.LimitReader(zeroes{}, 1<<30))
		}), wire.ErrNotAgent},
		"frame cut short": {overTLS(t, id, alpnOf(), func(c net.Conn) {
			_, _ = c.Write([]byte{0, 0, 1, 0, '{'})
		}), io.ErrUnexpectedEOF},
		"echo": {overTLS(t, id, alpnOf(), func(c net.Conn) { _, _ = io.Copy(c, c) }),
			wire.ErrNotAgent},
	} {
		t.Run(name, func(t *testing.T) {
			config := wiretest.NewAgent(t, wiretest.AgentConfig{}).DialConfig()
			config.Thumbprint, config.Connect = wire.Thumbprint{}, nil
			config.Address = serveOnce(t, tc.serve)
			before := heapInUse()
			_, err := wire.Dial(t.Context(), config)
			if !errors.Is(err, tc.want) {
				t.Errorf("got %v, want %v", err, tc.want)
			}
			if grown := heapInUse() - before; grown > 8<<20 {
				t.Errorf("the heap grew by %d MiB", grown>>20)
			}
		})
	}
}

func alpnOf() []string { return []string{"nullops-agent/1"} }

type zeroes struct{}

func (zeroes) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func heapInUse() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func overTLS(
	t *testing.T, id *wire.Identity, alpn []string, serve func(net.Conn),
) func(net.Conn) {
	t.Helper()
	config := &tls.Config{Certificates: []tls.Certificate{keyPair(t, id)}, NextProtos: alpn}
	return func(raw net.Conn) {
		conn := tls.Server(raw, config)
		if conn.Handshake() == nil {
			serve(conn)
			_ = conn.Close()
		}
	}
}

// serveOnce answers one connection and hangs up.
func serveOnce(t *testing.T, serve func(net.Conn)) (address string) {
	t.Helper()
	l := listenLoopback(t)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if c, err := l.Accept(); err == nil {
			serve(c)
			_ = c.Close()
		}
	}()
	t.Cleanup(func() {
		_ = l.Close()
		<-done
	})
	return l.Addr().String()
}

// A silent peer costs five seconds, a cancelled caller none.
func TestDial_EndsWithItsContext(t *testing.T) {
	config := wiretest.NewAgent(t, wiretest.AgentConfig{}).DialConfig()
	stop := errors.New("node disabled")
	ctx, cancel := context.WithCancelCause(t.Context())
	config.Connect = func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		t.Cleanup(func() { _ = theirs.Close() })
		cancel(stop)
		return ours, nil
	}
	if _, err := wire.Dial(ctx, config); !errors.Is(err, stop) {
		t.Errorf("got %v", err)
	}
}

func ExampleParseToken() {
	_, err := wire.ParseToken("nopa1_abc")
	fmt.Println(err)
	// Output: invalid agent token: it has 9 characters instead of 92: copy it whole
}

// A control plane that came to upgrade an agent of another release gets a
// connection, and on it neither a session nor a log connection.
func TestDial_MaintainsAnotherRelease(t *testing.T) {
	agent := newAgent(t)
	config := agent.DialConfig()
	config.Build, config.Maintain = "2.0.0", true
	for _, open := range []func(context.Context, net.Conn) (*wire.Session, error){
		wire.OpenSession, wire.OpenRunLogs} {
		conn, err := wire.Dial(t.Context(), config)
		if err != nil {
			t.Fatal(err)
		}
		if conn.Peer().Build != "dev" {
			t.Errorf("the agent is said to run %q", conn.Peer().Build)
		}
		if s, err := open(t.Context(), conn); err == nil {
			_ = s.Close(wire.CodeGone, "the test is over")
			t.Error("an incompatible control plane got a session")
		}
	}
	if len(agent.Sessions) != 0 {
		t.Error("the agent took a session of an incompatible control plane")
	}
}
