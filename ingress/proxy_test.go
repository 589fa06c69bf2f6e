package ingress_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nullops/nullops/ingress"
	"github.com/nullops/nullops/internal/idleconn"
)

const domain = "qa.lab.example"

// bed is a listening ingress with its upstreams. The dialer finds an upstream by the route's
// target, as the agent's tunnel does.
type bed struct {
	t     *testing.T
	proxy *ingress.Proxy
	addr  string

	mu    sync.Mutex
	ups   map[string]string // target → address
	dials map[string]int
}

func newBed(t *testing.T, configure ...func(*ingress.Config)) *bed {
	t.Helper()
	b := &bed{t: t, ups: map[string]string{}, dials: map[string]int{}}
	config := ingress.Config{Dial: b.dial}
	for _, c := range configure {
		c(&config)
	}
	p, err := ingress.New(config)
	if err != nil {
		t.Fatal(err)
	}
	b.proxy = p
	b.addr = serveLoopback(t, ingress.NewServer(p, quietLogger()))
	return b
}

// serveLoopback listens on loopback.
func serveLoopback(t *testing.T, s *ingress.Server) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var done sync.WaitGroup
	done.Go(func() { _ = s.Serve(l) })
	t.Cleanup(func() {
		_ = s.Close()
		done.Wait()
	})
	return l.Addr().String()
}

func (b *bed) dial(ctx context.Context, r ingress.Route) (net.Conn, error) {
	b.mu.Lock()
	addr, ok := b.ups[r.Target]
	b.mu.Unlock()
	if !ok {
		return nil, fmt.Errorf("no gate for %s", r.Target)
	}
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err == nil {
		b.mu.Lock()
		b.dials[r.Target]++
		b.mu.Unlock()
		conn = idleconn.WrapConn(conn) // as every connection of the product's
	}
	return conn, err
}

func (b *bed) countDials(target string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.dials[target]
}

// up starts an upstream for a deployment's service and returns its route.
func (b *bed) up(deployment, service string, h http.HandlerFunc) ingress.Route {
	b.t.Helper()
	s := httptest.NewServer(h)
	b.t.Cleanup(s.Close)
	return b.at(deployment, service, s.Listener.Addr().String())
}

func (b *bed) at(deployment, service, addr string) ingress.Route {
	r := newRoute(deployment, service)
	b.mu.Lock()
	b.ups[r.Target] = addr
	b.mu.Unlock()
	return r
}

func (b *bed) set(routes ...ingress.Route) {
	b.t.Helper()
	t := ingress.NewTable(b.proxy.Table().Version()+1, routes)
	if rejected := t.RejectedRoutes(); len(rejected) > 0 {
		b.t.Fatalf("rejected: %v", rejected)
	}
	b.proxy.SetTable(t)
}

func newRoute(deployment, service string) ingress.Route {
	return ingress.Route{
		Host:         service + "." + deployment + ".env." + domain,
		DeploymentID: "id-" + deployment, Deployment: deployment, Environment: "env",
		Project: "shop", Service: service, Port: 8080,
		Target: "id-" + deployment + "/" + service + "/8080",
		NodeID: "node-1", State: ingress.StateReady,
		Since: time.Date(2026, 11, 21, 14, 2, 0, 0, time.UTC),
	}
}

// ask sends one request for a host and reads the whole answer.
func (b *bed) ask(method, host, path string, header http.Header) (*http.Response, string) {
	b.t.Helper()
	req, err := http.NewRequestWithContext(b.t.Context(), method, "http://"+b.addr+path, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	req.Host = host
	maps.Copy(req.Header, header)
	res, err := newClient(b.t).Do(req)
	if err != nil {
		b.t.Fatalf("%s %s%s: %v", method, host, path, err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		b.t.Fatalf("%s %s%s: %v", method, host, path, err)
	}
	return res, string(body)
}

func (b *bed) get(host string) (*http.Response, string) {
	b.t.Helper()
	return b.ask(http.MethodGet, host, "/", nil)
}

func newClient(t *testing.T) *http.Client {
	tr := &http.Transport{DisableCompression: true}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}
}

// raw sends bytes as they are and reads until the server closes.
func (b *bed) raw(bytes string) string {
	b.t.Helper()
	return sendRaw(b.t, b.addr, bytes)
}

func sendRaw(t *testing.T, addr, bytes string) string {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	// The server may refuse and close before it has read everything.
	_, _ = io.WriteString(conn, bytes)
	out, _ := io.ReadAll(conn)
	return string(out)
}

func sayText(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) }
}

func TestNew_NeedsADialer(t *testing.T) {
	if _, err := ingress.New(ingress.Config{}); err == nil ||
		!strings.Contains(err.Error(), "Config.Dial") {
		t.Fatalf("err = %v, want one that names Config.Dial", err)
	}
}

func TestProxy_RoutesOnTheHostAlone(t *testing.T) {
	b := newBed(t)
	web := b.up("cart", "web", sayText("cart web"))
	flat := web
	flat.Host = "web--cart--env." + domain
	b.set(web, flat, b.up("cart", "api", sayText("cart api")),
		b.up("search", "web", sayText("search web")))

	for host, want := range map[string]string{
		"web.cart.env." + domain:               "cart web",
		"web--cart--env." + domain:             "cart web",
		"api.cart.env." + domain:               "cart api",
		"web.search.env." + domain:             "search web",
		"WEB.Cart.ENV." + domain:               "cart web",
		"web.cart.env." + domain + ".":         "cart web",
		"web.cart.env." + domain + ":8080":     "cart web",
		"API.CART.ENV." + domain + ".:65535":   "cart api",
		"web--CART--env." + domain + ".:18080": "cart web",
	} {
		res, body := b.get(host)
		// promise: N-180
		if res.StatusCode != 200 || body != want {
			t.Errorf("%s: %d %q, want %q", host, res.StatusCode, body, want)
		}
	}
	for _, host := range []string{
		domain, "cart.env." + domain, "db.cart.env." + domain, "web.cart.env.other.example",
		"x.web.cart.env." + domain, "web.cart.env", "127.0.0.1", "localhost",
	} {
		res, body := b.get(host)
		// promise: N-188
		if res.StatusCode != 404 || strings.Contains(body, "cart web") {
			t.Errorf("%s: %d, want the page of an unknown host", host, res.StatusCode)
		}
	}
}

func TestProxy_PassesTheRequestAsItIs(t *testing.T) {
	b := newBed(t)
	got := make(chan *http.Request, 1)
	r := b.up("cart", "web", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		got <- r
		w.Header().Add("Set-Cookie", "a=1")
		w.Header().Add("Set-Cookie", "b=2")
		w.WriteHeader(http.StatusTeapot)
		_, _ = io.WriteString(w, "short and stout")
	})
	b.set(r)

	const target = "//a/%2f..%2F/b;c/%7Ed?x=1;y=%zz&&z"
	out := b.raw("PUT " + target + " HTTP/1.1\r\nHost: WEB.cart.env." + domain + ":8080\r\n" +
		"Content-Length: 5\r\nX-App: yes\r\nAuthorization: Basic abc\r\nConnection: close\r\n\r\nhello")
	in := <-got
	if in.RequestURI != target {
		t.Errorf("target = %q, want %q", in.RequestURI, target)
	}
	if in.Host != "WEB.cart.env."+domain+":8080" {
		t.Errorf("host = %q, want it preserved", in.Host)
	}
	if body, _ := io.ReadAll(in.Body); string(body) != "hello" || in.ContentLength != 5 {
		t.Errorf("body = %q (%d)", body, in.ContentLength)
	}
	if in.Header.Get("X-App") != "yes" || in.Header.Get("Authorization") != "Basic abc" {
		t.Errorf("header = %v", in.Header)
	}
	if _, sent := in.Header["User-Agent"]; sent {
		t.Errorf("a user agent was made up: %v", in.Header)
	}
	res, err := http.ReadResponse(bufio.NewReader(strings.NewReader(out)), nil)
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(res.Body)
	if res.StatusCode != http.StatusTeapot || string(body) != "short and stout" ||
		len(res.Cookies()) != 2 {
		t.Errorf("answer = %v %q", res, body)
	}
}
