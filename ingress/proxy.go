package ingress

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
)

// Config is what a Proxy is made of.
type Config struct {
	// Dial opens a raw stream to the route's service and port, by whatever
	// way leads there. It ends when ctx does (5 s at most); the connection
	// must outlive ctx. It is called for ready routes only, from many
	// goroutines at once. A LoopbackError is explained to visitors. Required.
	Dial func(ctx context.Context, route Route) (net.Conn, error)

	// OnVisit is called when a deployment is used, at most once a minute each. A request waits
	// for it, so it must not block.
	OnVisit func(deploymentID string)

	// OnPresence is called when somebody is at a deployment, at most every ten seconds for each of
	// them. It must not block. If nil, nobody's presence is remembered.
	OnPresence func(Presence)

	// OnAnswer is called with the status of each response, of upstreams and of our own pages, and
	// the name of the environment, empty for an unknown host. It must not block.
	OnAnswer func(environment string, status int)

	// OnServed is called with how long a request took that was passed to a service. It must not
	// block.
	OnServed func(environment string, took time.Duration)

	// Trace begins the trace of a request to a service, and returns the request that is passed
	// on. The returned function, unless nil, is called with the status of the service's response,
	// or 0 if it sent none. If nil, nothing is traced.
	Trace func(r *http.Request, route *Route) (*http.Request, func(status int))

	// Home is the address of the UI, shown at the foot of pages, and where
	// people sign in. Optional.
	Home string

	// Proxies are networks of trusted proxies, whose X-Forwarded-For and X-Forwarded-Proto tell
	// about visitors. Of everyone else these headers are removed.
	Proxies []netip.Prefix

	// Gate checks passes. If nil, all requests that require a pass are refused.
	Gate Gatekeeper

	// Secure returns scheme, host and port of a host's HTTPS address. If nil, there is no HTTPS
	// and no redirect to it.
	Secure func(host string) string

	// Challenge returns the answer to an ACME HTTP-01 challenge for a host; ok is false for an
	// unknown token. If nil, no challenges are answered.
	Challenge func(ctx context.Context, host, token string) (answer string, ok bool, err error)

	// About says what a host's deployment runs, for /.nullops/. If nil, there is no such page.
	About func(ctx context.Context, route Route) (About, error)

	// Unreserved reports whether a service has the paths below /.nullops/ for itself, all but
	// those that the gate needs. If nil, no service has.
	Unreserved func(route Route) bool

	// BodyPatience is how long a client may send nothing of a body that it
	// began. The default is a minute.
	BodyPatience time.Duration

	// AnswerPatience is how long a service may take to begin its answer. The
	// default is five minutes.
	AnswerPatience time.Duration

	// Log gets what an operator should see. The default logs nothing.
	Log *slog.Logger

	// Now is the clock of pages and visits. The default is time.Now.
	Now func() time.Time
}

// LoopbackError is for a service that refuses connections because it listens on
// loopback addresses only. Listens names them for people.
type LoopbackError struct {
	Listens string
	Err     error
}

func (e *LoopbackError) Error() string { return e.Err.Error() }

// Unwrap returns the whole refusal.
func (e *LoopbackError) Unwrap() error { return e.Err }

func (c Config) withDefaults() Config {
	if c.OnVisit == nil {
		c.OnVisit = func(string) {}
	}
	if c.OnAnswer == nil {
		c.OnAnswer = func(string, int) {}
	}
	if c.OnServed == nil {
		c.OnServed = func(string, time.Duration) {}
	}
	if c.AnswerPatience == 0 {
		c.AnswerPatience = answerTimeout
	}
	if c.BodyPatience == 0 {
		c.BodyPatience = bodyPatience
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return c
}

// Proxy is the http.Handler of the ingress. Serve it with NewServer.
type Proxy struct {
	config  Config
	table   atomic.Pointer[Table]
	buffers buffers
	visits  visitReports
	// presence is nil if nobody wants to know.
	presence *presenceReports
	pages    *pages
	passes   *passCache

	// mu guards the making and the retiring of upstreams, so that none is
	// made for a route that the newest table no longer has.
	mu        sync.Mutex
	upstreams sync.Map // upstreamKey → *upstream
}

// New makes a proxy that knows no host yet: until SetTable is called, it answers
// each request with 503.
func New(config Config) (*Proxy, error) {
	if config.Dial == nil {
		return nil, errors.New("ingress: Config.Dial is missing: give it the agent's tunnel")
	}
	config = config.withDefaults()
	pages, err := newPages(config.Home, config.Now)
	if err != nil {
		return nil, err
	}
	p := &Proxy{config: config, pages: pages, passes: newPasses(config.Gate, config.Now)}
	p.visits.tell, p.presence = config.OnVisit, newPresenceReports(config.OnPresence)
	p.table.Store(provisionalTable(0, nil))
	return p, nil
}

// Table is the table in use.
func (p *Proxy) Table() *Table { return p.table.Load() }

// SetTable replaces the routing table atomically. Running requests are not affected.
// Connections to targets that the new table does not have, or has on another node, are
// closed once they are idle, and are never reused.
func (p *Proxy) SetTable(t *Table) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.table.Store(t)
	if t.gated {
		p.endUnauthorized()
	}
	ready := make(map[upstreamKey]bool, len(t.routes))
	for _, r := range t.routes {
		if r.State == StateReady {
			ready[keyOf(r)] = true
		}
	}
	used := make(map[string]bool)
	p.upstreams.Range(func(k, v any) bool {
		if ready[k.(upstreamKey)] {
			used[k.(upstreamKey).deployment] = true
			return true
		}
		p.upstreams.Delete(k)
		v.(*upstream).retireIdle()
		return true
	})
	p.visits.forgetUnused(used, p.config.Now())
	p.presence.forgetUnused(used)
}

// Close drops every idle connection. Running requests are the server's to end.
func (p *Proxy) Close() { p.SetTable(provisionalTable(0, nil)) }

// ServeHTTP implements http.Handler.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r = p.believeProxy(r)
	if r.ContentLength != 0 && !isGRPCCall(r) {
		var u *upload
		u, r = p.boundBody(w, r)
		defer u.limitDrain()
		w = u
	}
	if status := refusalStatus(r); status != 0 {
		p.refuseRequest(w, r, status)
		return
	}
	at := p.resolveTarget(r)
	if !p.authorizeRequest(w, r, &at) {
		return
	}
	switch u := p.resolveUpstream(&at); {
	case u != nil:
		p.forwardTo(u, w, r, &at)
	case p.table.Load().provisional:
		// What is there may be newer than the table.
		p.answerPage(w, r, p.pages.loadingPage())
	case at.route != nil:
		page := p.pages.pageFor(at.route, at.pass)
		page.Versions = p.readVersions(r.Context(), at.route)
		p.answerPage(w, r, page)
	default:
		p.answerPage(w, r, p.pages.unknownHostPage())
	}
}

func (p *Proxy) forwardTo(u *upstream, w http.ResponseWriter, r *http.Request, at *requestTarget) {
	if at.gate == GateOpen || at.pass != nil {
		// A preflight without a pass does not count as a use of the deployment.
		now := p.config.Now()
		p.visits.recordVisit(u.route.DeploymentID, u.visit, now)
		p.presence.recordVisitor(u.route.DeploymentID, u.present, at.pass, r, now)
	}
	if at.route.Build != "" {
		w.Header().Set("Nullops-Build", at.route.Build)
	}
	p.rememberVisitor(w, r, at)
	prepareRequest(w, r)
	if wantsUpgrade(r) {
		p.serveSocket(u, w, r, at)
		return
	}
	r, leave := p.trackPass(r, at)
	defer leave()
	began := p.config.Now()
	if p.config.Trace != nil {
		if traced, end := p.config.Trace(r, &u.route); end != nil {
			answer := &tracedAnswer{}
			defer func() { end(answer.status) }()
			r = traced.WithContext(context.WithValue(traced.Context(), tracedAnswer{}, answer))
		}
	}
	u.serve(w, r)
	p.config.OnServed(u.route.Environment, p.config.Now().Sub(began))
}

// tracedAnswer takes the status of a traced request's response, once it is known.
type tracedAnswer struct{ status int }

func (p *Proxy) refuseRequest(w http.ResponseWriter, r *http.Request, status int) {
	if status == http.StatusRequestHeaderFieldsTooLarge {
		p.expireCookies(w, r)
	}
	// It is uncertain where the request ended, so nothing else is read from this connection.
	w.Header().Set("Connection", "close")
	p.answerPage(w, r, p.pages.refusalPage(status))
}

// countAnswer counts an answer that is not a service's.
func (p *Proxy) countAnswer(r *http.Request, status int) {
	at := p.resolveTarget(r)
	p.config.OnAnswer(at.environment(), status)
}

func (p *Proxy) answerPage(w http.ResponseWriter, r *http.Request, page *page) {
	p.countAnswer(r, page.Status)
	if u := uploadOf(w); u != nil {
		u.discardArrived()
	}
	err := page.write(w, r)
	if page.Request != "" || err != nil {
		p.config.Log.Log(r.Context(), page.logLevel(r), "page instead of a service",
			"page", page.Kind, "host", page.Host,
			"status", page.Status, "request_id", page.Request, "error", err)
	}
}

// logLevel is Info for server errors, so that the log explains a page that a person asks
// about. A page that refreshes itself every few seconds logs its first request only.
func (p *page) logLevel(r *http.Request) slog.Level {
	if p.Status >= http.StatusInternalServerError && r.Header.Get(lookHeader) == "" {
		return slog.LevelInfo
	}
	return slog.LevelDebug
}

// resolveUpstream finds a ready route's connections.
func (p *Proxy) resolveUpstream(at *requestTarget) *upstream {
	if at.route == nil || at.route.State != StateReady {
		return nil
	}
	if u, ok := p.upstreams.Load(keyOf(at.route)); ok {
		return u.(*upstream)
	}
	return p.createUpstream(at)
}

// createUpstream looks the route up again: under the lock the table cannot change, so no
// upstream is created that the newest table does not have. A pass for an earlier deployment
// of the host does not open a later one.
func (p *Proxy) createUpstream(at *requestTarget) *upstream {
	p.mu.Lock()
	defer p.mu.Unlock()
	table := p.table.Load()
	route := table.routes[at.hostOfRoute()]
	if at.successor != nil && (route == nil || route.State != StateReady ||
		route.DeploymentID != at.route.DeploymentID) {
		route = at.endStay(table)
	}
	if !at.mayReach(route) {
		route = nil
	}
	at.route = route
	if route == nil || route.State != StateReady {
		return nil
	}
	key := keyOf(route)
	if u, ok := p.upstreams.Load(key); ok {
		return u.(*upstream) // another request was faster
	}
	u := p.newUpstream(*route)
	p.upstreams.Store(key, u)
	return u
}

// mayReach checks access to a route again. A preflight request may reach running services,
// but no page.
func (at *requestTarget) mayReach(route *Route) bool {
	if route == nil || route.Gate == GateOpen {
		return true
	}
	if at.pass != nil {
		now := requestTarget{route: route, successor: at.successor, gate: route.Gate}
		return now.isOpenedBy(at.pass)
	}
	return at.preflight && route.State == StateReady
}
