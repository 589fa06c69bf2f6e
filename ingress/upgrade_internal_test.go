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

// WebSockets and streams of events that stay open keep no other request waiting for one of their
// connections.
func TestProxy_OpenStreamsDelayNobody(t *testing.T) {
	for name, headers := range map[string]http.Header{
		"WebSockets": {"Connection": {"Upgrade"}, "Upgrade": {"websocket"},
			"Sec-Websocket-Key": {"eA=="}, "Sec-Websocket-Version": {"13"}},
		"events": {"Accept": {"text/event-stream"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { askBesideStreams(t, headers) })
		})
	}
}

func askBesideStreams(t *testing.T, headers http.Header) {
	p, err := New(Config{Dial: func(context.Context, Route) (net.Conn, error) {
		near, far := net.Pipe()
		go answerOrStay(far)
		return near, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	p.SetTable(NewTable(1, []Route{{Host: "web.cart.example", DeploymentID: "cart",
		Service: "web", NodeID: "n", Target: "cart/web/80", Port: 80, State: StateReady}}))
	ask := func(ctx context.Context, w http.ResponseWriter, headers http.Header) {
		defer func() { _ = recover() }() // how a stream ends whose visitor leaves
		r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/", nil)
		r.Host, r.Header = "web.cart.example", headers.Clone()
		p.ServeHTTP(w, r)
	}
	visit, leave := context.WithCancel(t.Context())
	defer leave()
	for range 2 * eagerConns {
		visitor, conn := net.Pipe()
		defer func() { _ = visitor.Close() }()
		go func() { _, _ = io.Copy(io.Discard, visitor) }()
		go ask(visit, hijacked{httptest.NewRecorder(), conn}, headers)
		synctest.Wait()
		time.Sleep(2 * dialGrace) // the streams themselves come one after the other
	}
	began, plain := time.Now(), httptest.NewRecorder()
	ask(t.Context(), plain, http.Header{})
	if took := time.Since(began); plain.Code != http.StatusOK || took >= dialGrace {
		t.Errorf("beside them, a page is answered with %d after %v", plain.Code, took)
	}
}

// answerOrStay answers one request, or holds a stream until the other end closes it.
func answerOrStay(c net.Conn) {
	in := bufio.NewReader(c)
	r, err := http.ReadRequest(in)
	switch {
	case err != nil:
	case r.Header.Get("Accept") != "":
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"+
			"Transfer-Encoding: chunked\r\n\r\n7\r\ndata: 1\r\n")
		_, _ = io.Copy(io.Discard, in)
	case r.Header.Get("Upgrade") == "":
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
	default:
		_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"+
			"Connection: Upgrade\r\n\r\n")
		_, _ = io.Copy(io.Discard, in)
	}
}
