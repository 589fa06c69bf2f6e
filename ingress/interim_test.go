package ingress_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nullops/nullops/ingress"
)

// A service that is silent for too long is not a dead connection: its request must not be sent a
// second time, not even on a reused connection.
func TestProxy_SendsASilentRequestOnce(t *testing.T) {
	t.Parallel()
	b := newBed(t, func(c *ingress.Config) { c.AnswerPatience = 300 * time.Millisecond })
	var silent atomic.Int32
	b.set(b.up("cart", "web", func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/silent" {
			silent.Add(1)
			<-r.Context().Done()
		}
	}))
	b.get(victim)
	for _, method := range []string{"GET", "POST"} {
		silent.Store(0)
		out := b.raw(method + " /silent HTTP/1.1\r\nHost: " + victim +
			"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
		if n := silent.Load(); n != 1 || !strings.HasPrefix(out, "HTTP/1.1 502 ") {
			t.Errorf("%s: the service had %d requests, the visitor read %.60q", method, n, out)
		}
	}
}

// However many 1xx answers come before the real one, it arrives, and early
// hints are passed on with their links alone.
func TestProxy_PassesEarlyHints(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.set(b.up("cart", "web", func(w http.ResponseWriter, _ *http.Request) {
		for range 7 {
			w.Header().Set("Link", "</style.css>; rel=preload")
			w.Header().Set("X-Early", "yes")
			w.WriteHeader(http.StatusEarlyHints)
		}
		w.Header().Del("X-Early")
		w.Header().Del("Link")
		_, _ = io.WriteString(w, "done")
	}))
	var hints []string
	trace := &httptrace.ClientTrace{
		Got1xxResponse: func(code int, h textproto.MIMEHeader) error {
			if code == http.StatusEarlyHints && h.Get("X-Early") == "" {
				hints = append(hints, h.Get("Link"))
			}
			return nil
		}}
	r, err := http.NewRequestWithContext(httptrace.WithClientTrace(t.Context(), trace), "GET",
		"http://"+b.addr+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Host = victim
	res, err := newClient(t).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, _ := bufio.NewReader(res.Body).ReadString(0)
	if res.StatusCode != 200 || body != "done" || res.Header.Get("Link") != "" || len(hints) < 5 ||
		hints[0] != "</style.css>; rel=preload" {
		t.Errorf("%s %q with %v, after the hints %q", res.Status, body, res.Header, hints)
	}
}

// What a service says in a 1xx response has no effect on the response that follows, nor on the
// connection, and what is narrowed there does not pass here.
func TestProxy_InterimResponses(t *testing.T) {
	t.Parallel()
	// The service says that it closes, or the next POST might go onto a connection that is closing,
	// and a POST is not sent again.
	const final = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 6\r\n\r\n<html>"
	const expect, continued = "Expect: 100-continue\r\n", "HTTP/1.1 100 Continue\r\n\r\n"
	for _, c := range []struct{ said, header, passed string }{
		{"103 Early Hints\r\nLink: </a>\r\nSet-Cookie: a=b\r\nAlt-Svc: h3", "",
			"103 Early Hints\r\nLink: </a>\r\n\r\n"},
		{"102 Processing\r\nClear-Site-Data: \"*\"\r\nSet-Cookie: a=b\r\nX-Left: 5", "",
			"102 Processing\r\nX-Left: 5\r\n\r\n"},
		{"100 Continue\r\nX-Left: 5", "", ""},
		{"100 Continue\r\nX-Left: 5", expect, "100 Continue\r\n\r\n"},
	} {
		b := newBed(t)
		b.set(b.at("cart", "web", serveConns(t, func(conn net.Conn) {
			r, err := http.ReadRequest(bufio.NewReader(conn))
			if err == nil {
				_, _ = io.WriteString(conn, "HTTP/1.1 "+c.said+"\r\n\r\n")
				_, _ = io.Copy(io.Discard, r.Body)
				_, _ = io.WriteString(conn, final)
			}
		})))
		for _, in := range []string{
			"GET / HTTP/1.1\r\nConnection: close\r\n!\r\n",
			"POST / HTTP/1.1\r\nConnection: close\r\nContent-Length: 1\r\n!\r\nx",
			// With both lengths the connection ends, whatever the service says.
			"POST / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n!\r\n1\r\nx\r\n0\r\n\r\n",
			"GET / HTTP/1.0\r\n!\r\n", "POST / HTTP/1.0\r\nContent-Length: 1\r\n!\r\nx",
		} {
			old := strings.Contains(in, "HTTP/1.0")
			if old && c.header != "" {
				continue // there is no such question in HTTP/1.0
			}
			out := b.raw(strings.Replace(in, "!", "Host: "+victim+"\r\n"+c.header, 1))
			// net/http says 100 itself if it reads the body before the service has said it.
			out = strings.Replace(out, continued+continued, continued, 1)
			want := "HTTP/1.1 " + c.passed + "HTTP/1.1 200 OK\r\n"
			if c.passed == "" {
				want = "HTTP/1.1 200 OK\r\n"
			}
			if old {
				want = "HTTP/1.0 200 OK\r\n"
			}
			if !strings.HasPrefix(out, want) || strings.Contains(out, "Content-Type") ||
				!strings.HasSuffix(out, "\r\n\r\n<html>") ||
				!old && !strings.Contains(out, "\r\nConnection: close\r\n") {
				t.Errorf("%q with %q: %q, want %q", in, c.said, out, want)
			}
		}
	}
}

// A GET that a service took and left without an answer is not sent again, and one that ends the
// connection at once only once, on a new connection.
func TestProxy_SendsAGetThatKillsTwiceAtMost(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]int32{"/late": 1, "/now": 2} {
		b := newBed(t)
		var killed atomic.Int32
		var open sync.WaitGroup
		open.Add(4)
		b.set(b.up("cart", "web", func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/" {
				open.Done()
				open.Wait() // so that there are four connections
				return
			}
			killed.Add(1)
			if r.URL.Path == "/late" {
				time.Sleep(1100 * time.Millisecond)
			}
			panic(http.ErrAbortHandler)
		}))
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() { b.get(victim) })
		}
		all.Wait()
		res, _ := b.ask("GET", victim, path, nil)
		if res.StatusCode != http.StatusBadGateway || killed.Load() != want {
			t.Errorf("%s: %d after it was sent %d times, want %d", path, res.StatusCode, killed.Load(), want)
		}
	}
}

// A key that makes a request safe to repeat is the client's to use, not ours.
func TestProxy_IdempotencyKeyRepeatsNothing(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	var asked atomic.Int32
	b.set(b.up("cart", "web", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Idempotency-Key") == "k" {
			asked.Add(1)
			panic(http.ErrAbortHandler)
		}
	}))
	b.ask("POST", victim, "/", nil)
	res, _ := b.ask("POST", victim, "/", http.Header{"Idempotency-Key": {"k"}})
	if res.StatusCode != http.StatusBadGateway || asked.Load() != 1 {
		t.Errorf("%d after %d times", res.StatusCode, asked.Load())
	}
}
