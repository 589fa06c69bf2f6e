package wire_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/agent/wire/wiretest"
)

// socketPatience bounds waits that only something broken comes to.
const socketPatience = 30 * time.Second

// socketRig is an agent that passes sockets to an ingress on its machine.
type socketRig struct {
	t       *testing.T
	agent   *wiretest.Agent
	path    string
	service *net.TCPListener
	// late delays the socket of the service called late until it is closed.
	late chan struct{}
}

func newSocketRig(t *testing.T) *socketRig {
	t.Helper()
	r := &socketRig{t: t, path: filepath.Join(shortFolder(t), "a.sock"), late: make(chan struct{}),
		service: listenLoopback(t).(*net.TCPListener)}
	t.Cleanup(func() { _ = r.service.Close() })
	local, err := wire.ListenLocal(r.path, -1, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.agent = wiretest.NewAgent(t, wiretest.AgentConfig{Listener: local,
		Handler: http.HandlerFunc(r.serve)})
	return r
}

// serve passes sockets to the service, or refuses by the service's name.
func (r *socketRig) serve(w http.ResponseWriter, q *http.Request) {
	channel, err := wire.AcceptSockets(w, q)
	if err != nil {
		return
	}
	defer func() { _ = channel.Close() }()
	for one, err := channel.Next(); err == nil; one, err = channel.Next() {
		target, err := wire.ParseTarget(one.Target)
		if err != nil || target.Service == "none" {
			_ = one.Refuse(http.StatusNotFound, "no service none", nil)
			continue
		}
		if target.Service == "late" {
			<-r.late
		}
		c, err := net.Dial("tcp4", r.service.Addr().String())
		if err != nil {
			r.t.Error(err)
			return
		}
		if raw, err := c.(*net.TCPConn).SyscallConn(); err == nil {
			_ = one.Pass(raw)
		}
		_ = c.Close()
	}
}

func (r *socketRig) open() *wire.SocketClient {
	r.t.Helper()
	how := r.agent.DialConfig()
	how.Address = "unix://" + r.path
	how.Connect = func(ctx context.Context, _, _ string) (net.Conn, error) {
		return wire.DialLocal(ctx, r.path)
	}
	conn, err := wire.Dial(r.t.Context(), how)
	if err != nil {
		r.t.Fatal(err)
	}
	c, err := wire.OpenSockets(r.t.Context(), conn)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = c.Close() })
	return c
}

func targetOf(service string) wire.Target {
	return wire.Target{Deployment: "d-1", Service: service, Port: 80}
}

// accept is the service's end of the next socket.
func (r *socketRig) accept() net.Conn {
	r.t.Helper()
	_ = r.service.SetDeadline(time.Now().Add(socketPatience))
	c, err := r.service.Accept()
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(socketPatience))
	return c
}

// Each request over a channel gets a socket of its own, or the agent's refusal, one after the
// other. A socket ends with its channel.
func TestSockets_EachRequestIsAnswered(t *testing.T) {
	t.Parallel()
	r := newSocketRig(t)
	c := r.open()
	var visitors []net.Conn
	for range 2 {
		visitor, err := c.Dial(t.Context(), targetOf("web"))
		if err != nil {
			t.Fatal(err)
		}
		service := r.accept()
		go func() { _, _ = io.Copy(service, service) }()
		visitors = append(visitors, visitor)
		_, err = c.Dial(t.Context(), targetOf("none"))
		var refused *wire.TunnelError
		if !errors.As(err, &refused) || refused.Status != http.StatusNotFound ||
			refused.Reason != "no service none" {
			t.Fatalf("an unknown service: %v", err)
		}
	}
	for i, visitor := range visitors {
		said := []byte{byte('a' + i)}
		if _, err := visitor.Write(said); err != nil {
			t.Fatal(err)
		}
		_ = visitor.SetReadDeadline(time.Now().Add(socketPatience))
		if _, err := io.ReadFull(visitor, said); err != nil || said[0] != byte('a'+i) {
			t.Errorf("visitor %d reads %q, %v", i, said, err)
		}
	}
	_ = c.Close()
	<-c.Done()
	if _, err := visitors[0].Read(make([]byte, 1)); err == nil {
		t.Error("a socket outlives its channel")
	}
	if _, err := c.Dial(t.Context(), targetOf("web")); !errors.Is(err, wire.ErrChannelEnded) {
		t.Errorf("after the end: %v", err)
	}
}

// The socket of a request that nobody waits for any more is closed when it comes, while the channel
// goes on.
func TestSockets_WhatComesTooLateIsClosed(t *testing.T) {
	t.Parallel()
	r := newSocketRig(t)
	c := r.open()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Dial(ctx, targetOf("late")); !errors.Is(err, context.Canceled) {
		t.Fatalf("given up: %v", err)
	}
	close(r.late)
	if _, err := r.accept().Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("the socket that came too late is open: %v", err)
	}
	if visitor, err := c.Dial(t.Context(), targetOf("web")); err != nil {
		t.Errorf("the channel ended: %v", err)
	} else {
		_ = visitor.Close()
	}
}

// Over the network no sockets can be passed: both ends say so.
func TestSockets_OverTheUnixSocketOnly(t *testing.T) {
	t.Parallel()
	asked := make(chan error, 1)
	agent := wiretest.NewAgent(t, wiretest.AgentConfig{Listener: listenLoopback(t),
		Handler: http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
			_, err := wire.AcceptSockets(w, q)
			asked <- err
		})})
	dial := func() *wire.ProvenConn {
		conn, err := wire.Dial(t.Context(), agent.DialConfig())
		if err != nil {
			t.Fatal(err)
		}
		return conn
	}
	if _, err := wire.OpenSockets(t.Context(), dial()); err == nil {
		t.Error("the ingress opens a channel over TCP")
	}
	// A tunnel's request stands for an ingress that asks all the same.
	_, err := wire.OpenTunnel(t.Context(), dial(), targetOf("web"))
	var refused *wire.TunnelError
	if !errors.As(err, &refused) || refused.Status != http.StatusBadRequest || <-asked == nil {
		t.Errorf("the agent passes sockets over TCP: %v", err)
	}
}

// The form without a port has two names and nothing else.
func TestParseInside_WantsTwoNames(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"", "d-1", "/web", "D/web", "d-1/", "d-1/Web", "/", "d-1/web/80"} {
		if got, err := wire.ParseInside(bad); err == nil {
			t.Errorf("%q is read as %+v", bad, got)
		}
	}
	got, err := wire.ParseInside("d-1/web")
	if want := (wire.Target{Deployment: "d-1", Service: "web"}); err != nil || got != want {
		t.Errorf("read as %+v, %v", got, err)
	}
}
