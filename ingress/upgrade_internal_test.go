package ingress

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"
)

// hijacked is an answer whose connection can be taken over.
type hijacked struct {
	*httptest.ResponseRecorder
	conn net.Conn
}

// Hijack implements http.Hijacker.
func (h hijacked) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return h.conn, bufio.NewReadWriter(bufio.NewReader(h.conn), bufio.NewWriter(h.conn)), nil
}

// WebSockets that stay open keep no other request waiting for one of their connections.
func TestProxy_WebSocketsDelayNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, err := New(Config{Dial: func(context.Context, Route) (net.Conn, error) {
			near, far := net.Pipe()
			go answerOrSwitch(far)
			return near, nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		p.SetTable(NewTable(1, []Route{{Host: "web.cart.example", DeploymentID: "cart",
			Service: "web", NodeID: "n", Target: "cart/web/80", Port: 80, State: StateReady}}))
		ask := func(w http.ResponseWriter, headers http.Header) {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
			r.Host, r.Header = "web.cart.example", headers
			p.ServeHTTP(w, r)
		}
		for range 2 * eagerConns {
			visitor, conn := net.Pipe()
			defer func() { _ = visitor.Close() }()
			go func() { _, _ = io.Copy(io.Discard, visitor) }()
			ask(hijacked{httptest.NewRecorder(), conn}, http.Header{"Connection": {"Upgrade"},
				"Upgrade": {"websocket"}, "Sec-Websocket-Key": {"eA=="}, "Sec-Websocket-Version": {"13"}})
		}
		began, plain := time.Now(), httptest.NewRecorder()
		ask(plain, http.Header{})
		if took := time.Since(began); plain.Code != http.StatusOK || took >= dialGrace {
			t.Errorf("beside WebSockets, a page is answered with %d after %v", plain.Code, took)
		}
	})
}

// answerOrSwitch answers one request, or holds a WebSocket until the other end closes it.
func answerOrSwitch(c net.Conn) {
	in := bufio.NewReader(c)
	r, err := http.ReadRequest(in)
	switch {
	case err != nil:
	case r.Header.Get("Upgrade") == "":
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
	default:
		_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"+
			"Connection: Upgrade\r\n\r\n")
		_, _ = io.Copy(io.Discard, in)
	}
}
