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
		"/a|b?x=%2F|&y", "/a%2Fb?", "/a|%2F?", "/{%2F}", "/a%7Eb~|", "//a%2Fb|c", "///a%2fb^c?%2F|",
		"//|", "//a|b?", "//host%2F|:80/x", "//http://a%2F|b",
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

// Over HTTP/2 it does too, for every kind of request.
func TestProxy_KeepsTheRequestTargetOverHTTP2(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	say := func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.RequestURI) }
	web, grpc := b.up("cart", "web", say), b.at("cart", "api", serveGRPC(t, say))
	client := b.secureClient(web, grpc)
	for _, target := range []string{
		"/a%2Fb|c", "/a%2Fb/\xc3\xbc", "//a%2Fb|c", "///a%2fb^c?%2F|", "//|", "//x/%2F|", "//a%2Fb",
	} {
		for _, c := range []struct{ method, host, kind string }{
			{"GET", web.Host, ""}, {"POST", web.Host, "text/plain"}, {"POST", grpc.Host, "application/grpc"},
		} {
			req, err := http.NewRequestWithContext(t.Context(), c.method, "https://"+c.host, nil)
			if err != nil {
				t.Fatal(err)
			}
			if c.method == "POST" {
				req.Body, req.ContentLength = io.NopCloser(strings.NewReader("x")), 1
			}
			req.Header.Set("Content-Type", c.kind)
			// net/http's client takes the host away again and sends the rest as it is.
			req.URL.Opaque = "//" + c.host + target
			res, err := client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(res.Body)
			if err != nil || res.ProtoMajor != 2 || string(body) != target {
				t.Errorf("%s %q (%s) reaches the service as %q, %v", c.method, target, c.kind, body, err)
			}
			_ = res.Body.Close()
		}
	}
}

// A service's Content-Type is passed on, and none is added if it is missing: a guess would override
// its nosniff.
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
		`"prefetchCache", "prerenderCache","cookies"`: `"prefetchCache", "prerenderCache"`,
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

// Other headers that would bind hosts beyond the service's own are narrowed to it.
func TestProxy_NarrowsHeadersThatReachFurther(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.set(b.up("cart", "web", func(w http.ResponseWriter, r *http.Request) {
		w.Header()[http.CanonicalHeaderKey(r.Header.Get("X-Name"))] =
			strings.Split(r.Header.Get("X-Value"), "!")
	}))
	const hsts, nel, group = "Strict-Transport-Security", "Nel", "Report-To"
	for _, c := range []struct{ name, value, want string }{
		{hsts, "max-age=63072000; includeSubDomains; preload", "max-age=63072000"},
		{hsts, "INCLUDESUBDOMAINS ;Max-Age=\"5\"", "Max-Age=\"5\""},
		{hsts, "max-age=0", "max-age=0"},
		{hsts, "includeSubDomains", ""},
		{hsts, "max-age=1!max-age=2; includeSubDomains", "max-age=1"},
		{nel, `{"report_to":"a","max_age":1,"include_subdomains":true}`, `{"max_age":1,"report_to":"a"}`},
		{nel, `{"max_age":1}, {"include_subdomains":true,"max_age":2}`, `{"max_age":1}, {"max_age":2}`},
		{nel, `{"include\u005fsubdomains":true,"max_age":2}`, `{"max_age":2}`},
		{nel, `{"max_age":1`, ""},
		{group, `{"group":"a","include_subdomains":true}!{"group":"b"}`, `{"group":"a"}, {"group":"b"}`},
		{"Public-Key-Pins", `pin-sha256="x"; max-age=5; includeSubDomains`, ""},
		{"Sec-Session-Registration", `(ES256);path="/s";challenge="c"`, ""},
		{"Secure-Session-Registration", `(ES256);path="/s";challenge="c"`, ""},
		{"Expect-Ct", `enforce, max-age=5`, ""},
		{"Set-Cookie2", `a=b; Domain="lab.example"`, ""},
		{"Nullops-Page", "gate", ""},
		{"Nullops-State", "ready", ""},
		{"Public-Key-Pins-Report-Only", `pin-sha256="x"`, ""},
		{"Alt-Svc", `h3=":443"`, ""},
	} {
		for _, method := range []string{"GET", "POST"} {
			res, _ := b.ask(method, victim, "/", http.Header{"X-Name": {c.name}, "X-Value": {c.value}})
			if have := strings.Join(res.Header[c.name], "|"); have != c.want {
				t.Errorf("%s: %s: %s reaches the visitor as %s", method, c.name, c.value, have)
			}
		}
	}
}
