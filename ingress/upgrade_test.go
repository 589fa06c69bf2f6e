package ingress_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
)

func TestProxy_WebSocketEcho(t *testing.T) {
	b := newBed(t)
	r := b.up("cart", "web", func(w http.ResponseWriter, r *http.Request) {
		c, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{"echo"}})
		if err != nil {
			return
		}
		defer c.CloseNow()
		for {
			kind, data, err := c.Read(r.Context())
			if err != nil || c.Write(r.Context(), kind, append([]byte("echo "), data...)) != nil {
				return
			}
		}
	})
	b.set(r)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	c, _, err := websocket.Dial(ctx, "ws://"+b.addr+"/socket", &websocket.DialOptions{
		Host: r.Host, Subprotocols: []string{"echo"},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer c.CloseNow()
	if c.Subprotocol() != "echo" {
		t.Errorf("subprotocol = %q", c.Subprotocol())
	}
	for i := range 50 {
		text := fmt.Sprint("message ", i)
		if err := c.Write(ctx, websocket.MessageText, []byte(text)); err != nil {
			t.Fatal(err)
		}
		_, data, err := c.Read(ctx)
		if err != nil || string(data) != "echo "+text {
			t.Fatalf("%q %v", data, err)
		}
	}
	// A table that still has the route does not touch the stream.
	b.set(r, b.up("other", "web", sayText("other")))
	if err := c.Write(ctx, websocket.MessageText, []byte("on")); err != nil {
		t.Fatal(err)
	}
	if _, data, err := c.Read(ctx); err != nil || string(data) != "echo on" {
		t.Fatalf("after a swap: %q %v", data, err)
	}
	if err := c.Close(websocket.StatusNormalClosure, "done"); err != nil {
		t.Errorf("close: %v", err)
	}
}

// The first event must arrive while the upstream still holds back the second.
func TestProxy_ServerSentEventsAreNotHeldBack(t *testing.T) {
	b := newBed(t)
	next := make(chan struct{})
	b.set(b.up("cart", "web", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for i := range 3 {
			_, _ = fmt.Fprintf(w, "data: %d\n\n", i)
			w.(http.Flusher).Flush()
			select {
			case <-next:
			case <-r.Context().Done():
				return
			}
		}
	}))
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+b.addr+"/events", nil)
	req.Host = "web.cart.env." + domain
	res, err := newClient(t).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	lines := bufio.NewReader(res.Body)
	for i := range 3 {
		line, err := lines.ReadString('\n')
		if err != nil || line != fmt.Sprintf("data: %d\n", i) {
			t.Fatalf("%q %v", line, err)
		}
		if _, err := lines.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
		next <- struct{}{}
	}
	if rest, err := io.ReadAll(lines); err != nil || len(rest) != 0 {
		t.Fatalf("%q %v", rest, err)
	}
}

// The h2c upgrade turned httputil's proxy into a raw pipe (golang/go#80416).
// It must reach the service as a plain request, and so must every other
// protocol but websocket (T31).
func TestProxy_DropsEveryUpgradeButWebSocket(t *testing.T) {
	rec := newRecorder(t)
	b := newBed(t)
	r := b.at("cart", "web", rec.addr)
	b.set(r)
	upgrades := []string{
		"Upgrade: h2c\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n",
		"Upgrade: H2C\r\n", "Upgrade: h2c, websocket\r\n", "Upgrade: websocket, h2c\r\n",
		"Upgrade: websocket\r\nUpgrade: h2c\r\n", "Upgrade: h2c\r\nUpgrade: websocket\r\n",
		"Upgrade: TLS/1.2\r\n", "Upgrade: websocket/13\r\n", "Upgrade: \r\n", "uPgRaDe: h2c\r\n",
		"Upgrade: tcp\r\n", "Upgrade: websocket\x0b\r\n",
	}
	for _, u := range upgrades {
		rec.reset()
		out := b.raw("GET /first HTTP/1.1\r\nHost: " + r.Host +
			"\r\nConnection: Upgrade, HTTP2-Settings\r\n" + u + "\r\n" +
			"GET /second HTTP/1.1\r\nHost: no." + domain + "\r\nConnection: close\r\n\r\n")
		sent := strings.ToLower(rec.bytes())
		// promise: G-03
		if strings.Contains(sent, "upgrade") || strings.Contains(sent, "http2-settings") ||
			strings.Contains(sent, "/second") {
			t.Errorf("%q reached the service: %q", u, sent)
		}
		if strings.Contains(out, "101 Switching") {
			t.Errorf("%q was granted: %q", u, out)
		}
		// Had the connection become a pipe, the second request would not be ours.
		if strings.HasPrefix(out, "HTTP/1.1 200") && !strings.Contains(out, "HTTP/1.1 404") {
			t.Errorf("%q: the second request was not routed: %q", u, out)
		}
	}
	for _, head := range []string{"POST / HTTP/1.1\r\nContent-Length: 2\r\n", "HEAD / HTTP/1.1\r\n"} {
		rec.reset()
		b.raw(head + "Host: " + r.Host + "\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nab" +
			"GET / HTTP/1.1\r\nHost: no." + domain + "\r\nConnection: close\r\n\r\n")
		if sent := rec.bytes(); strings.Contains(sent, "websocket") {
			t.Errorf("%q: %q", head, sent)
		}
	}
}

// A service that switches protocols unasked must not own the connection of a
// client, which may be a proxy with many people behind it.
func TestProxy_ServiceCannotSwitchProtocolsUnasked(t *testing.T) {
	for _, answer := range []string{
		"HTTP/1.1 101 Switching Protocols\r\n\r\n",
		"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n",
		"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
	} {
		b := newBed(t)
		r := b.at("cart", "web", serveAnswer(t, answer))
		b.set(r)
		res, _ := b.get(r.Host)
		if res.StatusCode != http.StatusBadGateway {
			t.Errorf("%q: %d, want 502", answer, res.StatusCode)
		}
	}
}

// serveAnswer listens, sends every connection the same bytes once a request has come, and closes
// it.
func serveAnswer(t *testing.T, answer string) string {
	t.Helper()
	return serveConns(t, func(c net.Conn) {
		if _, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
			_, _ = io.WriteString(c, answer)
		}
	})
}

// What a client sends right behind its request is the socket's, and reaches the service.
func TestProxy_SocketBytesBehindTheRequest(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.set(b.up("cart", "web", func(w http.ResponseWriter, _ *http.Request) {
		c, both, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()
		_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n"+
			"Upgrade: websocket\r\n\r\n")
		got := make([]byte, 5)
		_, _ = io.ReadFull(both, got)
		_, _ = c.Write(got)
	}))
	c, in := b.post("GET / HTTP/1.1\r\nHost: " + victim + "\r\nConnection: Upgrade\r\n" +
		"Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: " +
		"dGhlIHNhbXBsZSBub25jZQ==\r\n\r\nearly")
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	res, err := http.ReadResponse(in, nil)
	if err != nil || res.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("%+v, %v", res, err)
	}
	got := make([]byte, 5)
	if _, err := io.ReadFull(in, got); err != nil || string(got) != "early" {
		t.Errorf("the service got %q, %v", got, err)
	}
}
