package ingress_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/nullops/nullops/ingress"
)

// One address gets three quarters of the connections, all together get all of them, and a closed
// connection makes room, a hijacked one too.
//
// threat: T34
// fault: F56
func TestLimits(t *testing.T) {
	t.Parallel()
	limits := ingress.NewLimits(8, quietLogger())
	under, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := ingress.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		c, rw, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = rw.WriteString("in")
		_ = rw.Flush()
		_, _ = io.Copy(io.Discard, c)
		_ = c.Close()
	}), quietLogger())
	go func() { _ = s.Serve(limits.Listen(under)) }()
	t.Cleanup(func() { _ = s.Close() })
	come := func(from string) (net.Conn, bool) {
		t.Helper()
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
		c, err := d.DialContext(t.Context(), "tcp", under.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		_ = c.SetDeadline(time.Now().Add(2 * time.Minute))
		_, _ = io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\n"+
			"Upgrade: websocket\r\n\r\n")
		answer := make([]byte, 2)
		_, err = io.ReadFull(c, answer)
		return c, err == nil
	}
	var first net.Conn
	for i, want := range []struct {
		from string
		in   bool
	}{{"127.0.0.1", true}, {"127.0.0.1", true}, {"127.0.0.1", true}, {"127.0.0.1", true},
		{"127.0.0.1", true}, {"127.0.0.1", true}, {"127.0.0.1", false}, {"127.0.0.2", true},
		{"127.0.0.3", true}, {"127.0.0.4", false}} {
		c, in := come(want.from)
		// promise: G-03
		if in != want.in {
			t.Fatalf("connection %d, from %s: let in %v", i+1, want.from, in)
		}
		if first == nil {
			first = c
		}
	}
	_ = first.Close()
	for end := time.Now().Add(time.Minute); ; {
		if _, in := come("127.0.0.4"); in {
			break
		}
		if time.Now().After(end) {
			t.Fatal("whoever left made no room")
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// Nobody hears that the client of a silent WebSocket is gone: the kernel asks
// after it, without a byte that either end would see.
func TestLimits_SilentWebSocketsAreAskedAfter(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	r := b.up("cart", "web", func(w http.ResponseWriter, r *http.Request) {
		if c, err := websocket.Accept(w, r, nil); err == nil {
			_, _, _ = c.Read(r.Context())
			_ = c.CloseNow()
		}
	})
	b.set(r)
	under, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := ingress.NewServer(b.proxy, quietLogger())
	go func() { _ = s.Serve(ingress.NewLimits(8, quietLogger()).Listen(under)) }()
	t.Cleanup(func() { _ = s.Close() })
	c, _, err := websocket.Dial(t.Context(), "ws://"+under.Addr().String()+"/", &websocket.DialOptions{
		Host: r.Host})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.CloseNow() }()
	for end := time.Now().Add(time.Minute); !keptAlive(t, under.Addr()); {
		if time.Now().After(end) {
			t.Fatal("nobody asks after the client of a silent WebSocket")
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// keptAlive finds the connection of a listener's one client in the kernel's list,
// which says what timer runs for it: 02 is that of keep-alive.
func keptAlive(t *testing.T, at net.Addr) bool {
	t.Helper()
	all, err := os.ReadFile("/proc/net/tcp")
	if err != nil {
		t.Fatal(err)
	}
	local := fmt.Sprintf("0100007F:%04X", at.(*net.TCPAddr).Port)
	for line := range strings.Lines(string(all)) {
		const established = "01"
		f := strings.Fields(line)
		if len(f) > 5 && f[1] == local && f[3] == established {
			return strings.HasPrefix(f[5], "02:")
		}
	}
	return false
}
