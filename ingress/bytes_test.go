package ingress_test

import (
	"bufio"
	"io"
	"net/http"
	"strings"
	"testing"
)

// The request target reaches the service byte for byte, also when it holds a
// byte that should have been escaped beside one that is. GET takes the short
// way through the ingress, POST the other one.
func TestProxy_KeepsTheRequestTarget(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	got := make(chan string, 1)
	b.set(b.up("cart", "web", func(_ http.ResponseWriter, r *http.Request) { got <- r.RequestURI }))
	for _, target := range []string{
		"/a%2Fb|c", "/a%2fb^c", `/a%2Fb"c`, "/a%2Fb/\xc3\xbc", "/%2e%2e/a|b", "/a/../b|%2F", "/a%00|",
		"/a|b?x=%2F|&y", "/a%2Fb?", "/a|%2F?", "/{%2F}", "/a%7Eb~|",
	} {
		for _, method := range []string{"GET", "POST"} {
			b.raw(method + " " + target + " HTTP/1.1\r\nHost: " + victim +
				"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
			select {
			case sent := <-got:
				if sent != target {
					t.Errorf("%s %q reaches the service as %q", method, target, sent)
				}
			default:
				t.Errorf("%s %q does not reach the service", method, target)
			}
		}
	}
}

// What a service says of its answer's type is passed on, and where it says
// nothing, nothing is added: a guess would override its nosniff.
func TestProxy_InventsNoContentType(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.set(b.up("cart", "web", func(w http.ResponseWriter, r *http.Request) {
		w.Header()["Content-Type"] = nil
		if kind := r.Header.Get("X-Kind"); kind != "" {
			w.Header().Set("Content-Type", kind)
		}
		w.Header().Set("X-Content-Type-Options", "nosniff")
		_, _ = io.WriteString(w, "<html><script>alert(1)</script>")
	}))
	for _, method := range []string{"GET", "POST"} {
		for _, kind := range []string{"", "text/csv"} {
			out := b.raw(method + " / HTTP/1.1\r\nHost: " + victim + "\r\nX-Kind: " + kind +
				"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
			res, err := http.ReadResponse(bufio.NewReader(strings.NewReader(out)), nil)
			if err != nil {
				t.Fatal(err)
			}
			if have := strings.Join(res.Header["Content-Type"], "|"); have != kind {
				t.Errorf("%s: the service says %q, the visitor reads %q", method, kind, have)
			}
		}
	}
}

// Clear-Site-Data clears cookies for the whole domain, other deployments' too,
// so only what is bound to the origin passes.
func TestProxy_ClearsNoSiteDataOfOthers(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.set(b.up("cart", "web", func(w http.ResponseWriter, r *http.Request) {
		w.Header()["Clear-Site-Data"] = strings.Split(r.Header.Get("X-Clear"), ";")
	}))
	for clear, want := range map[string]string{
		`"cookies"`: "", `"cache", "cookies", "storage"`: `"cache", "storage"`,
		`"cookies";"cache"`: `"cache"`, `"Cookies" , "STORAGE"`: `"STORAGE"`, `"unknown"`: "",
		`"*"`: `"cache", "storage", "executionContexts", "clientHints"`,
	} {
		for _, method := range []string{"GET", "POST"} {
			out := b.raw(method + " / HTTP/1.1\r\nHost: " + victim + "\r\nX-Clear: " + clear +
				"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
			res, err := http.ReadResponse(bufio.NewReader(strings.NewReader(out)), nil)
			if err != nil {
				t.Fatal(err)
			}
			if have := strings.Join(res.Header["Clear-Site-Data"], "|"); have != want {
				t.Errorf("%s: %s reaches the visitor as %s, want %s", method, clear, have, want)
			}
		}
	}
}
