package wire_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/agent/wire/wiretest"
)

// serveTunnels behaves as an agent whose services answer themselves.
func serveTunnels(w http.ResponseWriter, r *http.Request) {
	target, err := wire.ParseTarget(r.Header.Get(wire.HeaderTarget))
	if err != nil || r.Method != http.MethodConnect {
		http.Error(w, "bad request", http.StatusBadRequest)
		return
	}
	switch target.Service {
	case "echo":
		conn, err := wire.AcceptTunnel(w)
		if err != nil {
			return
		}
		_, _ = io.WriteString(conn, "ready:")
		_, _ = io.Copy(conn, conn)
		_ = conn.Close()
	case "loopback", "markup", "elsewhere":
		w.Header().Set(wire.HeaderListens, map[string]string{"loopback": "127.0.0.1:80 and [::1]:80",
			"markup": "<b>", "elsewhere": "127.0.0.1:80 and 10.0.0.1:80"}[target.Service])
		http.Error(w, "it refuses", http.StatusBadGateway)
	case "hangs":
		<-r.Context().Done()
	default:
		http.Error(w, "no service "+target.Service, http.StatusNotFound)
	}
}

func openTunnel(ctx context.Context, agent *wiretest.Agent, service string) (net.Conn, error) {
	conn, err := wire.Dial(ctx, agent.DialConfig())
	if err != nil {
		return nil, err
	}
	return wire.OpenTunnel(ctx, conn, wire.Target{Deployment: "d-1", Service: service, Port: 80})
}

func TestOpenTunnel_PassesBytesBothWays(t *testing.T) {
	agent := wiretest.NewAgent(t, wiretest.AgentConfig{Listener: listenLoopback(t),
		Handler: http.HandlerFunc(serveTunnels)})
	conn, err := openTunnel(t.Context(), agent, "echo")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	text := strings.Repeat("0123456789", 100_000)
	go func() {
		_, _ = io.WriteString(conn, text)
		_ = conn.(interface{ CloseWrite() error }).CloseWrite()
	}()
	got, err := io.ReadAll(conn)
	if err != nil || string(got) != "ready:"+text {
		t.Errorf("got %d bytes, %v", len(got), err)
	}
}

// A service that speaks first may have its words in the same packet as the
// agent's answer: none may be lost.
func TestOpenTunnel_KeepsWhatComesWithTheAnswer(t *testing.T) {
	ours, theirs := net.Pipe()
	go func() {
		_, _ = theirs.Read(make([]byte, 4096))
		_, _ = io.WriteString(theirs, "HTTP/1.1 200 OK\r\n\r\n220 smtp ready\r\n")
		_ = theirs.Close()
	}()
	conn, err := wire.OpenTunnel(t.Context(), ours, wire.Target{Deployment: "d", Service: "s",
		Port: 25})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(conn); err != nil || string(got) != "220 smtp ready\r\n" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestOpenTunnel_SaysWhyNot(t *testing.T) {
	agent := wiretest.NewAgent(t, wiretest.AgentConfig{Listener: listenLoopback(t),
		Handler: http.HandlerFunc(serveTunnels)})
	_, err := openTunnel(t.Context(), agent, "nobody")
	var refused *wire.TunnelError
	if !errors.As(err, &refused) || refused.Status != http.StatusNotFound ||
		refused.Reason != "no service nobody" {
		t.Errorf("got %v", err)
	}
}

// A refusal may name loopback addresses, and nothing else: people read it.
func TestOpenTunnel_NamesLoopbackAddresses(t *testing.T) {
	agent := wiretest.NewAgent(t, wiretest.AgentConfig{Listener: listenLoopback(t),
		Handler: http.HandlerFunc(serveTunnels)})
	for service, want := range map[string]string{
		"loopback": "127.0.0.1:80 and [::1]:80", "markup": "", "elsewhere": "", "nobody": ""} {
		_, err := openTunnel(t.Context(), agent, service)
		var refused *wire.TunnelError
		if !errors.As(err, &refused) || refused.Listens.String() != want {
			t.Errorf("%s: it names %q instead of %q: %v", service, refused.Listens, want, err)
		}
	}
}

func TestOpenTunnel_EndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		agent := wiretest.NewAgent(t, wiretest.AgentConfig{
			Handler: http.HandlerFunc(serveTunnels)})
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		begin := time.Now()
		if _, err := openTunnel(ctx, agent, "hangs"); err == nil {
			t.Error("opened a tunnel nobody answered")
		}
		if took := time.Since(begin); took > 9*time.Second {
			t.Errorf("took %v", took)
		}
	})
}

func TestOpenTunnel_BoundsTheAnswer(t *testing.T) {
	for name, answer := range map[string]string{
		"endless header": "HTTP/1.1 200 OK\r\nX: ",
		"no HTTP":        "220 smtp ready\r\n",
	} {
		ours, theirs := net.Pipe()
		go func() {
			_, _ = theirs.Read(make([]byte, 4096))
			_, _ = io.WriteString(theirs, answer)
			_, _ = io.Copy(theirs, io.LimitReader(letters{}, 1<<30))
			_ = theirs.Close()
		}()
		if _, err := wire.OpenTunnel(t.Context(), ours, wire.Target{Deployment: "d", Service: "s",
			Port: 1}); err == nil {
			t.Errorf("%s: taken for an answer", name)
		}
	}
}

type letters struct{}

func (letters) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'a'
	}
	return len(p), nil
}

func TestParseTarget(t *testing.T) {
	good := wire.Target{Deployment: "0198c0de-0000-7000-8000-000000000001", Service: "web",
		Port: 8080}
	if again, err := wire.ParseTarget(good.String()); err != nil || again != good {
		t.Errorf("%v, %v", again, err)
	}
	for _, text := range []string{"", "a/b", "a/b/c", "a/b/0", "a/b/65536", "a/b/080", "a/b/+80",
		"a/b/80/", "/b/80", "a//80", "../b/80", "A/b/80", "a/b.c/80", "a/b/80\r\n",
		"10.0.0.1/b/80", strings.Repeat("a", 65) + "/b/80"} {
		if target, err := wire.ParseTarget(text); err == nil {
			t.Errorf("%q was taken for %v", text, target)
		}
	}
}

// Many connections to one agent share its limit on handshakes.
func TestLimitHandshakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var running atomic.Int64
		dial := wire.LimitHandshakes(func(context.Context) (net.Conn, error) {
			running.Add(1)
			defer running.Add(-1)
			time.Sleep(time.Second)
			return nil, io.EOF
		})
		done := make(chan struct{}, 40)
		for range 40 {
			go func() {
				_, _ = dial(t.Context())
				done <- struct{}{}
			}()
		}
		synctest.Wait()
		if n := running.Load(); n != 8 {
			t.Errorf("%d handshakes at once", n)
		}
		for range 40 {
			<-done
		}
	})
}

// A caller that leaves does not interrupt a handshake: it keeps its slot, ends, and is closed.
func TestLimitHandshakes_EndsWhatBegan(t *testing.T) {
	begun, release, closed := make(chan context.Context), make(chan struct{}), make(chan struct{})
	dial := wire.LimitHandshakes(func(ctx context.Context) (net.Conn, error) {
		begun <- ctx
		<-release
		near, far := net.Pipe()
		go func() {
			_, _ = far.Read(make([]byte, 1))
			close(closed)
		}()
		return near, nil
	})
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan error)
	go func() {
		_, err := dial(ctx)
		left <- err
	}()
	handshake := <-begun
	leave()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Errorf("who left got %v", err)
	}
	if handshake.Err() != nil {
		t.Error("the handshake was cut off")
	}
	close(release)
	<-closed
}
