package ingress_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/nullops/nullops/ingress"
)

// targets answers, on connections made out of nothing, with the target each
// was opened for. So an answer tells which connection it came over.
type targets struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

type targetConn struct {
	net.Conn
	target string
}

type targetKey struct{}

func newTargets(t *testing.T) *targets {
	g := &targets{conns: make(chan net.Conn), done: make(chan struct{})}
	s := &http.Server{
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, targetKey{}, c.(targetConn).target)
		},
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, r.Context().Value(targetKey{}).(string))
		}),
	}
	var all sync.WaitGroup
	all.Go(func() { _ = s.Serve(g) })
	t.Cleanup(func() {
		_ = s.Close()
		all.Wait()
	})
	return g
}

func (g *targets) dial(ctx context.Context, r ingress.Route) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case g.conns <- targetConn{far, r.Target}:
		return near, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-g.done:
		return nil, net.ErrClosed
	}
}

func (g *targets) Accept() (net.Conn, error) {
	select {
	case c := <-g.conns:
		return c, nil
	case <-g.done:
		return nil, net.ErrClosed
	}
}

func (g *targets) Close() error   { g.once.Do(func() { close(g.done) }); return nil }
func (g *targets) Addr() net.Addr { return &net.UnixAddr{Name: "memory"} }

// routesOf returns the table number n: some hosts whose deployment is made again with each table,
// some that come and go, and some that always stay.
func routesOf(n int64) []ingress.Route {
	const hosts = 8
	var all []ingress.Route
	for h := range int64(hosts) {
		anew := newRoute(fmt.Sprintf("anew%d", h), "web")
		anew.DeploymentID = fmt.Sprintf("%s-%d", anew.DeploymentID, n)
		anew.Target = fmt.Sprintf("%d", n)
		stays := newRoute(fmt.Sprintf("stays%d", h), "web")
		all = append(all, anew, stays)
		if n%2 == h%2 {
			all = append(all, newRoute(fmt.Sprintf("flaps%d", h), "web"))
		}
	}
	return all
}

// While tables change as fast as they can, no request is answered by another
// host's service, by a deployment that was gone when it was asked, or with an
// error (F57).
//
// fault: F57
func TestProxy_SwapsWithoutAWrongAnswer(t *testing.T) {
	up := newTargets(t)
	b := newBed(t, func(c *ingress.Config) { c.Dial = up.dial })
	var begun, done atomic.Int64 // tables: SetTable called, SetTable returned
	swap := func() {
		n := begun.Add(1)
		b.proxy.SetTable(ingress.NewTable(uint64(n), routesOf(n)))
		done.Store(n)
	}
	swap()
	const clients, requests = 6, 150
	left := atomic.Int64{}
	left.Store(clients)
	var all sync.WaitGroup
	for id := range clients {
		all.Go(func() {
			defer left.Add(-1)
			c := newClient(t)
			for i := range requests {
				h := (id + i) % 8
				kind := [...]string{"anew", "stays", "flaps"}[i%3]
				swapProbe{b: b, client: c, kind: kind, deployment: fmt.Sprintf("%s%d", kind, h),
					begun: &begun, done: &done}.check(t)
			}
		})
	}
	swaps := 0
	for left.Load() > 0 {
		swap()
		swaps++
	}
	all.Wait()
	if swaps < 100 {
		t.Errorf("only %d tables while %d requests ran", swaps, clients*requests)
	}
}

// swapProbe is one request while tables change; begun and done count the tables.
type swapProbe struct {
	b                *bed
	client           *http.Client
	kind, deployment string
	begun, done      *atomic.Int64
}

func (p swapProbe) check(t *testing.T) {
	t.Helper()
	kind, deployment := p.kind, p.deployment
	oldest := p.done.Load()
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+p.b.addr, nil)
	req.Host = "web." + deployment + ".env." + domain
	res, err := p.client.Do(req)
	if err != nil {
		t.Error(err)
		return
	}
	body, err := io.ReadAll(res.Body)
	_ = res.Body.Close()
	newest := p.begun.Load()
	if err != nil {
		t.Error(err)
	}
	// promise: N-184
	switch {
	case kind == "flaps" && res.StatusCode == http.StatusNotFound && newest > 0:
	case res.StatusCode != http.StatusOK:
		t.Errorf("%s: %d between tables %d and %d", deployment, res.StatusCode, oldest, newest)
	case kind == "anew":
		var n int64
		if _, err := fmt.Sscan(string(body), &n); err != nil || n < oldest || n > newest {
			t.Errorf("%s: answered by table %s, asked between %d and %d", deployment, body, oldest,
				newest)
		}
	case string(body) != "id-"+deployment+"/web/8080":
		t.Errorf("%s: answered by %s", deployment, body)
	}
}

// An offline node's routes are withdrawn with the table that says so, and are
// back with the next one; nothing is asked over the connections of before.
func TestProxy_NodeGoesAndReturns(t *testing.T) {
	b := newBed(t)
	here := b.up("cart", "web", sayText("cart"))
	there := b.up("search", "web", sayText("search"))
	there.NodeID = "node-2"
	b.set(here, there)
	b.get(here.Host)
	b.get(there.Host)
	gone := there
	gone.State, gone.Detail = ingress.StateOffline, "node-2 stopped answering at 14:02"
	b.set(here, gone)
	// promise: N-186
	if res, _ := b.get(there.Host); res.StatusCode != 503 || b.countDials(there.Target) != 1 {
		t.Errorf("offline: %d after %d dials", res.StatusCode, b.countDials(there.Target))
	}
	if res, body := b.get(here.Host); res.StatusCode != 200 || body != "cart" ||
		b.countDials(here.Target) != 1 {
		t.Errorf("its neighbour: %d %q, %d dials", res.StatusCode, body, b.countDials(here.Target))
	}
	b.set(here, there)
	// promise: N-187
	if res, body := b.get(there.Host); res.StatusCode != 200 || body != "search" ||
		b.countDials(there.Target) != 2 {
		t.Errorf("back: %d %q after %d dials", res.StatusCode, body, b.countDials(there.Target))
	}
}
