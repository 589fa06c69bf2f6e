package ingress_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// answerRequests listens, reads requests, and lets f answer each; f says whether the
// connection stays open. It counts what came.
func answerRequests(t *testing.T, f func(c net.Conn, n int32) bool) (string, *atomic.Int32) {
	t.Helper()
	n := new(atomic.Int32)
	return serveConns(t, func(c net.Conn) {
		in := bufio.NewReader(c)
		for {
			r, err := http.ReadRequest(in)
			if err != nil {
				return
			}
			if _, err := io.Copy(io.Discard, r.Body); err != nil {
				return
			}
			if !f(c, n.Add(1)) {
				return
			}
		}
	}), n
}

// A service that closes idle connections must not cause errors: each request that finds a dead
// connection is sent again, on another.
func TestProxy_DeadIdleConnectionsAreNotSeen(t *testing.T) {
	b := newBed(t)
	addr, _ := answerRequests(t, func(c net.Conn, n int32) bool {
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
		return n%2 == 1
	})
	r := b.at("cart", "web", addr)
	b.set(r)
	for i := range 50 {
		method := [...]string{http.MethodGet, http.MethodHead, http.MethodOptions}[i%3]
		if res, _ := b.ask(method, r.Host, "/", nil); res.StatusCode != 200 {
			t.Fatalf("%s %d: %d", method, i, res.StatusCode)
		}
	}
}

// An answer that began is never asked for again.
func TestProxy_AsksOnceWhenTheAnswerBegan(t *testing.T) {
	for name, answer := range map[string]string{
		"half a head": "HTTP/1.1 200 OK\r\nX: y", "garbage": "\x00\x01\x02\r\n\r\n",
		"interim": strings.Repeat("HTTP/1.1 103 Early Hints\r\n\r\n", 50),
		"status":  "HTTP/1.1 099 What\r\n\r\n",
		"endless": "HTTP/1.1 200 OK\r\n" + strings.Repeat("X: y\r\n", 90_000),
		"switch":  "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n",
		"lengths": "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nabc",
	} {
		b := newBed(t)
		addr, n := answerRequests(t, func(c net.Conn, n int32) bool {
			if n == 1 {
				_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
				return true
			}
			_, _ = io.WriteString(c, answer)
			return false
		})
		r := b.at("cart", "web", addr)
		b.set(r)
		b.get(r.Host)
		if res, _ := b.get(r.Host); res.StatusCode != 502 || n.Load() != 2 {
			t.Errorf("%s: %d after %d requests in all, want 502 after 2", name, res.StatusCode, n.Load())
		}
	}
}

// Whatever way a service says where its answer ends, it arrives whole, and the
// next one is not mixed up with it.
func TestProxy_EveryFraming(t *testing.T) {
	for name, c := range map[string]struct {
		answer, body string
		stays        bool
	}{
		"length": {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", "hello", true},
		"chunked": {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" +
			"5\r\nhello\r\n0\r\n\r\n", "hello", true},
		"close": {"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello", "hello", false},
		"1.0":   {"HTTP/1.0 200 OK\r\n\r\nhello", "hello", false},
		"empty": {"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "", true},
		"hints": {"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\n" +
			"Content-Length: 5\r\n\r\nhello", "hello", true},
		"too much": {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n" +
			"helloHTTP/1.1 500 No\r\n\r\n", "hello", true},
		"no body": {"HTTP/1.1 204 No Content\r\n\r\n", "", true},
	} {
		b := newBed(t)
		addr, n := answerRequests(t, func(conn net.Conn, _ int32) bool {
			_, _ = io.WriteString(conn, c.answer)
			return c.stays
		})
		r := b.at("cart", "web", addr)
		b.set(r)
		for range 3 {
			res, body := b.get(r.Host)
			if body != c.body || res.StatusCode/100 != 2 {
				t.Errorf("%s: %d %q", name, res.StatusCode, body)
			}
		}
		if n.Load() != 3 {
			t.Errorf("%s: %d requests for 3", name, n.Load())
		}
	}
}

// A service that sends a body after all must not spoil the next answer.
func TestProxy_BodyAfterHead(t *testing.T) {
	b := newBed(t)
	addr, _ := answerRequests(t, func(c net.Conn, _ int32) bool {
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n")
		_, _ = io.WriteString(c, "hello")
		return true
	})
	r := b.at("cart", "web", addr)
	b.set(r)
	for range 10 {
		res, body := b.ask(http.MethodHead, r.Host, "/", nil)
		if res.StatusCode != 200 || body != "" || res.ContentLength != 5 {
			t.Fatalf("HEAD: %d %q %d", res.StatusCode, body, res.ContentLength)
		}
		if res, body := b.get(r.Host); res.StatusCode != 200 || body != "hello" {
			t.Fatalf("GET: %d %q", res.StatusCode, body)
		}
	}
}

func TestProxy_TrailersAndHopHeadersOfAnswers(t *testing.T) {
	b := newBed(t)
	addr, _ := answerRequests(t, func(c net.Conn, _ int32) bool {
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nTrailer: Sum, Clear-Site-Data\r\n"+
			"Transfer-Encoding: chunked\r\n"+
			"Connection: keep-alive, X-Hop\r\nX-Hop: 1\r\nKeep-Alive: timeout=5\r\nX-End: 2\r\n"+
			"Alt-Svc: h3=\":443\"\r\nProxy-Authenticate: Basic\r\n\r\n"+
			"5\r\nhello\r\n0\r\nSum: 42\r\nClear-Site-Data: \"*\"\r\n"+
			"Set-Cookie: a=b; Domain="+domain+"\r\nAlt-Svc: h3\r\n\r\n")
		return true
	})
	r := b.at("cart", "web", addr)
	b.set(r)
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		res, body := b.ask(method, r.Host, "/", nil)
		if body != "hello" || res.Trailer.Get("Sum") != "42" || res.Header.Get("X-End") != "2" {
			t.Errorf("%s: %q %v %v", method, body, res.Trailer, res.Header)
		}
		if len(res.Trailer) != 1 {
			t.Errorf("%s: trailers that reach further passed: %v", method, res.Trailer)
		}
		for _, hop := range []string{"X-Hop", "Keep-Alive", "Alt-Svc", "Proxy-Authenticate"} {
			if res.Header.Get(hop) != "" {
				t.Errorf("%s: %s passed", method, hop)
			}
		}
	}
}

// A download is passed as it comes, and takes no memory.
func TestProxy_LargeDownloadTakesNoMemory(t *testing.T) {
	for _, length := range []string{fmt.Sprint(flatSize), ""} {
		b := newBed(t)
		b.set(b.up("cart", "web", func(w http.ResponseWriter, _ *http.Request) {
			if length != "" {
				w.Header().Set("Content-Length", length)
			}
			_, _ = io.CopyN(w, zeros{}, flatSize)
		}))
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+b.addr, nil)
		req.Host = victim
		c := newClient(t)
		took := measureAllocated(func() {
			res, err := c.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			if n, err := io.Copy(io.Discard, res.Body); err != nil || n != flatSize {
				t.Errorf("%d bytes, %v", n, err)
			}
		})
		if took > flatSize/16 {
			t.Errorf("%d bytes allocated for %d", took, flatSize)
		}
	}
}

// Over TLS a client may speak HTTP/2; the service gets HTTP/1.1 and a header that says https.
func TestProxy_HTTP2(t *testing.T) {
	b := newBed(t)
	rec := newRecorder(t)
	b.set(b.at("cart", "web", rec.addr))
	s := httptest.NewUnstartedServer(b.proxy)
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(s.Close)
	for i, method := range []string{http.MethodGet, http.MethodPost} {
		req, _ := http.NewRequestWithContext(t.Context(), method, s.URL+"/a?b=c", nil)
		req.Host = victim
		res, err := s.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if n, broken := rec.count(); res.ProtoMajor != 2 || res.StatusCode != 200 || n != i+1 ||
			broken != 0 {
			t.Fatalf("%s: %v, %d requests out, %d broken", method, res, n, broken)
		}
		in := rec.requests[i]
		if in.Proto != "HTTP/1.1" || in.Host != victim || in.RequestURI != "/a?b=c" ||
			in.Header.Get("X-Forwarded-Proto") != "https" {
			t.Errorf("%s: %s %s %s %v", method, in.Proto, in.Host, in.RequestURI, in.Header)
		}
	}
}

// A body of a single byte, whose length is not announced, is passed on.
func TestProxy_PassesASingleByte(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.set(b.up("cart", "web", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("a"))
		_ = http.NewResponseController(w).Flush()
	}))
	if res, body := b.get(victim); res.StatusCode != http.StatusOK || body != "a" {
		t.Errorf("%d %q", res.StatusCode, body)
	}
}

// What a service has written of a response without a length reaches the visitor before the service
// writes more, whatever its type.
func TestProxy_UnfinishedAnswersAreNotHeldBack(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"text/plain", "text/event-stream"} {
		b, read := newBed(t), make(chan struct{})
		b.set(b.up("cart", "web", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", kind)
			_, _ = w.Write([]byte("first"))
			_ = http.NewResponseController(w).Flush()
			select {
			case <-read:
				_, _ = w.Write([]byte(" second"))
			case <-r.Context().Done():
			}
		}))
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		req, _ := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+b.addr+"/", nil)
		req.Host = victim
		res, err := newClient(t).Do(req)
		if err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
		begin := make([]byte, len("first"))
		if _, err := io.ReadFull(res.Body, begin); err != nil || string(begin) != "first" {
			t.Errorf("%s: the beginning is %q, %v", kind, begin, err)
		}
		close(read)
		if rest, err := io.ReadAll(res.Body); err != nil || string(rest) != " second" {
			t.Errorf("%s: the rest is %q, %v", kind, rest, err)
		}
		_ = res.Body.Close()
		cancel()
	}
}
