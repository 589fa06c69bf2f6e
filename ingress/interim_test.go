package ingress_test

import (
	"bufio"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"strings"
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
	res, err := client(t).Do(r)
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
