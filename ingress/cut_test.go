package ingress_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/nullops/nullops/ingress"
)

// What came of a response before it was cut short reaches the client, and does
// not look whole.
func TestProxy_CutResponseShowsItsBeginning(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.set(b.at("cart", "web", serveConns(t, func(c net.Conn) {
		r, err := http.ReadRequest(bufio.NewReader(c))
		if err != nil {
			return
		}
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nX-Seen: yes\r\nContent-Length: 100\r\n\r\n"+
			strings.TrimPrefix(r.URL.Path, "/"))
	})))
	for _, method := range []string{"GET", "POST"} {
		for _, sent := range []string{"", "ab"} {
			for _, beginning := range []string{"", "hello"} {
				in := "\r\nContent-Length: " + strconv.Itoa(len(sent)) + "\r\n\r\n" + sent
				out := b.raw(method + " /" + beginning + " HTTP/1.1\r\nHost: " + victim + in)
				res, err := http.ReadResponse(bufio.NewReader(strings.NewReader(out)), nil)
				if err != nil {
					t.Errorf("%s of %q, %q: %q", method, sent, beginning, out)
					continue
				}
				body, err := io.ReadAll(res.Body)
				if res.Header.Get("X-Seen") != "yes" || string(body) != beginning ||
					!errors.Is(err, io.ErrUnexpectedEOF) {
					t.Errorf("%s of %q: %q %v, want %q", method, sent, body, err, beginning)
				}
			}
		}
	}
}

// Programs compare the names of WebSocket headers byte by byte.
func TestProxy_SpellsSocketHeaders(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	heads := make(chan string, 1)
	b.set(b.at("cart", "web", serveConns(t, func(c net.Conn) {
		var head strings.Builder
		for in := bufio.NewReader(c); !strings.HasSuffix(head.String(), "\r\n\r\n"); {
			line, err := in.ReadString('\n')
			if err != nil {
				return
			}
			head.WriteString(line)
		}
		heads <- head.String()
		_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"+
			"Connection: Upgrade\r\nSec-WebSocket-Accept: x\r\n\r\n")
	})))
	out := b.raw("GET / HTTP/1.1\r\nHost: " + victim + "\r\nUpgrade: websocket\r\n" +
		"Connection: Upgrade\r\nsec-websocket-key: eA==\r\nSec-WebSocket-Version: 13\r\n\r\n")
	if head := <-heads; !strings.Contains(head, "\r\nSec-WebSocket-Key: eA==\r\n") ||
		!strings.Contains(head, "\r\nSec-WebSocket-Version: 13\r\n") {
		t.Errorf("the service reads %q", head)
	}
	if !strings.Contains(out, "\r\nSec-WebSocket-Accept: x\r\n") {
		t.Errorf("the client reads %q", out)
	}
}

// So they do with other headers that net/http spells in its own way.
func TestProxy_SpellsHeadersAsSpecified(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.set(b.at("cart", "web", serveConns(t, func(c net.Conn) {
		var head strings.Builder
		for in := bufio.NewReader(c); !strings.HasSuffix(head.String(), "\r\n\r\n"); {
			line, err := in.ReadString('\n')
			if err != nil {
				return
			}
			head.WriteString(line)
		}
		_, _ = io.WriteString(c, "HTTP/1.1 401 No\r\nWWW-Authenticate: Basic\r\nETag: \"a\"\r\n"+
			"Content-Length: "+strconv.Itoa(head.Len())+"\r\n\r\n"+head.String())
	})))
	for _, method := range []string{"GET", "POST"} {
		out := b.raw(method + " / HTTP/1.1\r\nHost: " + victim + "\r\nSOAPAction: \"x\"\r\nDNT: 1\r\n" +
			"Content-Length: 0\r\nConnection: close\r\n\r\n")
		for _, line := range []string{"WWW-Authenticate: Basic", "ETag: \"a\"", "SOAPAction: \"x\"",
			"DNT: 1"} {
			if !strings.Contains(out, "\r\n"+line+"\r\n") {
				t.Errorf("%s: %q is not in %q", method, line, out)
			}
		}
	}
}

// Programs get what they can read while a service starts; people get a page.
func TestPages_ProgramsGetWhatTheyRead(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	waits := newRoute("waits", "web")
	waits.State = ingress.StateApplying
	client := b.secureClient(waits)
	const html, problem = "text/html; charset=utf-8", "application/problem+json"
	for _, c := range []struct {
		header []string
		kind   string
		status string // of gRPC
	}{
		{[]string{"Accept", "text/html,*/*;q=0.8", "Sec-Fetch-Mode", "navigate"}, html, ""},
		{[]string{"Accept", "text/html", "Nullops-Look", "1", "Sec-Fetch-Dest", "empty"}, html, ""},
		{[]string{"Accept", "*/*"}, html, ""},
		{nil, html, ""},
		{[]string{"Accept", "*/*", "Sec-Fetch-Mode", "cors", "Sec-Fetch-Dest", "empty"}, problem, ""},
		{[]string{"Accept", "*/*", "Sec-Fetch-Dest", "empty"}, problem, ""},
		{[]string{"Accept", "text/event-stream"}, problem, ""},
		{[]string{"Accept", "application/json, */*"}, problem, ""},
		{[]string{"Accept", "text/plain"}, problem, ""},
		{[]string{"Accept", "*/*", "Referer", "https://a.example/"}, problem, ""},
		{[]string{"Accept", "*/*", "X-Requested-With", "XMLHttpRequest"}, problem, ""},
		{[]string{"Accept", "*/*", "Authorization", "Bearer x"}, problem, ""},
		{[]string{"Accept", "*/*", "Authorization", "Basic x"}, html, ""},
		{[]string{"Accept", "*/*", "Hx-Request", "true"}, problem, ""},
		{[]string{"Accept", "*/*", "Last-Event-Id", "3"}, problem, ""},
		{[]string{"Accept", "*/*", "Connect-Protocol-Version", "1"}, problem, ""},
		{[]string{"Accept", "*/*", "Content-Type", "application/json; charset=utf-8"}, problem, ""},
		{[]string{"Content-Type", "application/proto"}, problem, ""},
		{[]string{"Accept", "*/*", "Content-Type", "multipart/form-data; boundary=x"}, html, ""},
		{[]string{"Accept", "application/json, text/html;q=0.5"}, problem, ""},
		{[]string{"Accept", "text/html, application/json"}, html, ""},
		{[]string{"Accept", "text/html;q=0.9, application/ld+json;q=0.8", "Referer", "x"}, html, ""},
		{[]string{"Accept", "*/*", "Referer", "x", "Sec-Fetch-Mode", "navigate"}, html, ""},
		{[]string{"Content-Type", "application/grpc"}, "application/grpc", "14"},
		{[]string{"Content-Type", "application/grpc+proto"}, "application/grpc+proto", "14"},
		{[]string{"Content-Type", "application/grpc-web-text"}, "application/grpc-web-text", "14"},
	} {
		method := "GET"
		if c.status != "" || c.header != nil && c.header[len(c.header)-2] == "Content-Type" {
			method = "POST"
		}
		req, err := http.NewRequestWithContext(t.Context(), method, "https://"+waits.Host, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(c.header); i += 2 {
			req.Header.Set(c.header[i], c.header[i+1])
		}
		res, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if err != nil || res.Header.Get("Content-Type") != c.kind ||
			res.Header.Get("Grpc-Status") != c.status {
			t.Errorf("%v: %d %v", c.header, res.StatusCode, res.Header)
		}
		if c.status != "" && (res.StatusCode != 200 || len(body) > 0 ||
			!strings.HasPrefix(res.Header.Get("Grpc-Message"), "web%20is%20starting.%20")) {
			t.Errorf("%v: %d %v %q", c.header, res.StatusCode, res.Header, body)
		}
	}
}

// dyingConn is a connection that the service closes in the instant of a write.
type dyingConn struct {
	net.Conn
	dying *atomic.Bool
	sent  int // bytes that still pass when it dies
}

func (c *dyingConn) Write(p []byte) (int, error) {
	if !c.dying.Swap(false) {
		return c.Conn.Write(p)
	}
	n := 0
	if c.sent > 0 {
		n, _ = c.Conn.Write(p[:c.sent])
	}
	_ = c.Close()
	return n, syscall.EPIPE
}

// A request of which nothing was written was not sent, and is sent again. One of
// which a byte was written may have been done.
func TestProxy_ResendsWhatWasNeverSent(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, body string
		sent, want int
	}{
		{"no body", "", 0, 200}, {"small body", "hello", 0, 200},
		{"large body", strings.Repeat("x", 1<<20), 0, 200}, {"one byte", "hello", 1, 502},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var dying atomic.Bool
			var mu sync.Mutex
			var bodies []string
			var b *bed
			b = newBed(t, func(config *ingress.Config) {
				config.Dial = func(ctx context.Context, r ingress.Route) (net.Conn, error) {
					conn, err := b.dial(ctx, r)
					return &dyingConn{conn, &dying, c.sent}, err
				}
			})
			b.set(b.up("cart", "web", func(_ http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				mu.Lock()
				defer mu.Unlock()
				bodies = append(bodies, string(body))
			}))
			post := func() int {
				res, err := http.DefaultClient.Do(mustRequest(t, b.addr, c.body))
				if err != nil {
					t.Fatal(err)
				}
				_ = res.Body.Close()
				return res.StatusCode
			}
			if got := post(); got != 200 {
				t.Fatal(got)
			}
			dying.Store(true)
			if got := post(); got != c.want || dying.Load() {
				t.Errorf("%d, want %d", got, c.want)
			}
			mu.Lock()
			defer mu.Unlock()
			want := 2
			if c.want != 200 {
				want = 1
			}
			if len(bodies) != want || bodies[len(bodies)-1] != c.body {
				t.Errorf("the service saw %d requests, want %d", len(bodies), want)
			}
		})
	}
}

func mustRequest(t *testing.T, addr, body string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "POST", "http://"+addr, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Host = victim
	return r
}
