package server

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/fleet"
	"github.com/nullops/nullops/controlplane/gate"
	"github.com/nullops/nullops/controlplane/lifecycle"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/ingress"
	"github.com/nullops/nullops/internal/failpoint"
)

const (
	// routeTick is how soon a lost wake-up is made up for.
	routeTick = 2 * time.Second
	// routeRest is that while wake-ups arrive, and routeShare the least number of times
	// that a reading took: reading fifty thousand routes every other second would be most
	// of what an ingress does, and what people wait for.
	routeRest  = 10 * time.Second
	routeShare = 100
	// startPatience bounds how long connections wait for the first table.
	startPatience = 3 * time.Second
)

// routeSource follows the database for the ingress: at every wake-up what it is about is
// read again, and everything now and then.
type routeSource struct {
	lifecycle *lifecycle.Lifecycle
	gate      *gate.Gate
	listener  *postgres.Listener
	// home is the UI's address, for the status pages' links.
	home string
	log  *slog.Logger
	// builds is set if responses name what was built.
	builds bool
	// fail is for tests only.
	fail failpoint.Hook
	// read, if not nil, is set once a table was handed over.
	read *atomic.Bool
	// known, if not nil, is called whenever the table is known to be right.
	known func()
}

var _ ingress.Source = (*routeSource)(nil)

// Watch implements ingress.Source. A table that cannot be read is an error and
// never an empty table.
func (s *routeSource) Watch(ctx context.Context, apply func(*ingress.Table)) error {
	wake := s.listener.Subscribe("", controlplane.TopicDeployment, controlplane.TopicNode,
		controlplane.TopicCatalog)
	defer wake.Close()
	ticker := time.NewTicker(routeTick)
	defer ticker.Stop()
	book := &routeCache{lifecycle: s.lifecycle,
		deployments: s.listener.SubscribeKeys(controlplane.TopicDeployment),
		nodes:       s.listener.SubscribeKeys(controlplane.TopicNode)}
	defer book.deployments.Close()
	defer book.nodes.Close()
	var (
		last  publishedTable
		again time.Time
	)
	for version := uint64(1); ; version++ {
		began := time.Now()
		everything := !s.listener.IsListening() || !began.Before(again)
		if err := s.publishChanges(ctx, version, book, everything, &last, apply); err != nil {
			return err
		}
		if s.read != nil {
			s.read.Store(true)
		}
		if s.known != nil {
			s.known()
		}
		if everything {
			again = time.Now().Add(max(routeRest, routeShare*time.Since(began)))
		}
		if err := s.waitForChange(ctx, wake.Wake, ticker.C, again); err != nil {
			return err
		}
	}
}

// publishChanges reads what may have changed, and publishes a new table if something did.
func (s *routeSource) publishChanges(ctx context.Context, version uint64, book *routeCache,
	everything bool, last *publishedTable, apply func(*ingress.Table)) error {
	changed, err := book.refresh(ctx, everything)
	if err != nil {
		return fmt.Errorf("read routes: %w", err)
	}
	front, err := s.gate.IngressConfig(ctx, access.System("ingress"))
	if err != nil {
		return fmt.Errorf("read gates: %w", err)
	}
	if s.builds {
		if front.Builds, err = s.lifecycle.BuildHeaders(ctx, ingressTask); err != nil {
			return fmt.Errorf("read what deployments run: %w", err)
		}
	}
	if !changed && version > 1 && reflect.DeepEqual(front, last.front) {
		return nil
	}
	next := publishedTable{
		s.toRoutes(book.all, front),
		addFormerZones(toZones(front.Zones), book.all),
		front,
	}
	return s.publishTable(version, next, last, apply)
}

// waitForChange waits until something has changed, or everything has to be read again.
func (s *routeSource) waitForChange(
	ctx context.Context, wake <-chan struct{}, tick <-chan time.Time, again time.Time,
) error {
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-wake:
			return nil
		case <-tick:
			if !s.listener.IsListening() || !time.Now().Before(again) {
				return nil
			}
		}
	}
}

// publishedTable is what the last table was made from.
type publishedTable struct {
	routes []ingress.Route
	zones  []ingress.Zone
	front  controlplane.IngressConfig
}

// publishTable publishes a table. Failpoints are hit only if the table differs.
func (s *routeSource) publishTable(version uint64, next publishedTable, last *publishedTable,
	apply func(*ingress.Table)) error {
	changed := s.fail != nil && len(next.routes)+len(last.routes) > 0 &&
		!reflect.DeepEqual(next.routes, last.routes)
	if changed {
		if err := s.fail.Hit("routes.read"); err != nil {
			return err
		}
	}
	apply(ingress.NewTable(version, next.routes).WithZones(next.zones))
	*last = next
	if changed {
		return s.fail.Hit("routes.published")
	}
	return nil
}

func (s *routeSource) toRoutes(
	all []controlplane.Route, front controlplane.IngressConfig,
) []ingress.Route {
	out := make([]ingress.Route, len(all))
	for i, r := range all {
		out[i] = ingress.Route{
			Host: r.Host, DeploymentID: string(r.Deployment), Deployment: r.Name,
			Environment: r.Environment, Project: r.Project, Service: string(r.Step), Port: r.Port,
			NodeID: string(r.Node), State: ingress.State(r.Status), Detail: r.Detail,
			Since: r.ChangedAt, By: front.Removers[r.Deployment],
			Build: front.Builds[r.Deployment], KnownAs: r.KnownAs, Formers: formersOf(r),
			Permalink: s.home + "/d/" + string(r.Deployment),
			Gate:      gateOf(front.Gates[r.Deployment]), Steps: stepsOf(front.Steps[r.Deployment]),
			Target: wire.Target{Deployment: string(r.Deployment), Service: string(r.Step),
				Port: r.Port}.String(),
		}
		if waitsForNode(r) {
			out[i].State, out[i].Since, out[i].Detail = ingress.StateOffline, r.NodeSince, ""
		}
	}
	return out
}

// formersOf returns where visitors may stay who were at a host before its deployment had it.
func formersOf(r controlplane.Route) []ingress.Former {
	if r.Formers == "" {
		return nil
	}
	var all []controlplane.FormerRoute
	if json.Unmarshal([]byte(r.Formers), &all) != nil {
		return nil // everybody goes to the newest one
	}
	formers := make([]ingress.Former, len(all))
	for i, f := range all {
		formers[i] = ingress.Former{DeploymentID: string(f.Deployment), Host: f.Host, Until: f.Until}
	}
	return formers
}

// waitsForNode reports whether a deployment cannot be reached because its node is not
// online. A queued deployment without a node waits for room instead. An agent of another
// release takes no orders, but opens tunnels to what is ready.
func waitsForNode(r controlplane.Route) bool {
	if r.Node == "" || r.NodeStatus == controlplane.NodeOnline ||
		r.NodeStatus == controlplane.NodeIncompatible && r.Status == controlplane.Ready {
		return false
	}
	switch r.Status {
	case controlplane.Ready, controlplane.Applying, controlplane.Queued:
		return true
	default:
		return false
	}
}

// newTunnelOpener opens a stream to a route's service with the help of its node's agent.
func newTunnelOpener(
	d *fleet.LocalDialer, opened func(local bool),
) func(context.Context, ingress.Route) (net.Conn, error) {
	return func(ctx context.Context, r ingress.Route) (net.Conn, error) {
		target, err := wire.ParseTarget(r.Target)
		if err != nil {
			return nil, err
		}
		conn, local, err := d.OpenTunnel(ctx, controlplane.NodeID(r.NodeID), target)
		if err == nil {
			opened(local)
		}
		return conn, explainedTunnel(err)
	}
}

// explainedTunnel says an agent's no in the words of the ingress.
func explainedTunnel(err error) error {
	no, ok := errors.AsType[*wire.TunnelError](err)
	if !ok || len(no.Listens) == 0 {
		return err
	}
	return &ingress.LoopbackError{Listens: no.Listens.String(), Err: err}
}

// serveIngress answers for deployments until ctx ends.
func (b *serverBase) serveIngress(ctx context.Context) error {
	s, log := b.settings, b.logOf("ingress")
	proxies, err := parseProxies("ingress.proxies", s.Ingress.Proxies)
	if err != nil {
		return err
	}
	plain, secure, err := b.openListeners()
	if err != nil {
		return err
	}
	limits := ingress.NewLimits(mostConnections(), log)
	limits.TrustProxies(proxies)
	if plain = limits.Listen(plain); secure != nil {
		secure = limits.Listen(secure)
	}
	pass := newGatekeeperClient(b.gate, b.lifecycle)
	about := &aboutSource{lifecycle: b.lifecycle}
	dialer := fleet.NewLocalDialer(b.dialer, s.Ingress.Sockets, log)
	var traces *ingressTraces
	var traceRequest func(*http.Request, *ingress.Route) (*http.Request, func(int))
	if s.tracing != nil {
		traces = newIngressTraces(b.store)
		traceRequest = traces.begin
	}
	proxy, err := ingress.New(
		ingress.Config{Trace: traceRequest, Dial: newTunnelOpener(dialer, b.metrics.ingressConnection),
			Home: s.HTTP.URL, Log: log, Gate: pass, Secure: s.Ingress.secureAddress(),
			OnVisit: pass.recordVisit, OnPresence: pass.recordPresence, OnAnswer: b.metrics.ingressAnswer,
			OnServed:  b.metrics.ingressServed,
			Challenge: b.answerChallenge, Proxies: proxies,
			About: about.read, Unreserved: s.Ingress.unreserved()},
	)
	if err != nil {
		return errors.Join(err, plain.Close())
	}
	defer proxy.Close()
	b.log.InfoContext(ctx, "ingress", "url", s.Ingress.URL, "https", s.Ingress.Secure)
	ctx, stop := context.WithCancel(ctx)
	var beside sync.WaitGroup
	defer beside.Wait()
	defer stop()
	f := &ingressFeed{certificates: b.newCertificateSource(), listener: b.listener, log: log,
		read: make(chan struct{})}
	read := make(chan struct{})
	b.metrics.watchRoutes()
	beside.Go(func() { b.followRoutes(ctx, proxy, read) })
	beside.Go(func() { _ = b.tellAlive(ctx, controlplane.RoleIngress) })
	beside.Go(func() { pass.storeUses(ctx, log) })
	if traces != nil {
		beside.Go(func() { traces.run(ctx) })
	}
	beside.Go(func() { f.recheckPasses(ctx, proxy) })
	beside.Go(func() { b.awaitReplacement(ctx, limits) })
	if secure == nil {
		awaitStart(ctx, read)
		return b.serveDoors(ctx, proxy, nil, plain, nil)
	}
	f.shown = &ingress.Certificates{Issues: func(h string) bool { return proxy.Table().InZone(h) }}
	beside.Go(func() { f.watchCertificates(ctx) })
	awaitStart(ctx, read, f.read)
	return b.serveDoors(ctx, proxy, f.shown, plain, secure)
}

// serveDoors answers on the plain port and, if there is one, on that of HTTPS.
func (b *serverBase) serveDoors(
	ctx context.Context,
	proxy *ingress.Proxy,
	shown *ingress.Certificates,
	plain, secure net.Listener,
) error {
	if err := b.tellReady(); err != nil {
		return err
	}
	handler := b.untilReplaced(proxy)
	group, ctx := errgroup.WithContext(ctx)
	log := b.logOf("ingress")
	group.Go(func() error { return serveHTTP(ctx, ingress.NewServer(handler, log), plain) })
	if secure != nil {
		group.Go(func() error {
			server := ingress.NewServer(handler, log)
			server.TLSConfig = shown.TLS()
			return serveHTTP(ctx, server, tls.NewListener(secure, server.TLSConfig))
		})
	}
	return group.Wait()
}

// awaitStart waits until routes and certificates were read, so that a restart loses
// no request: meanwhile new connections wait in the queues of the listeners. When
// that takes too long, the ingress serves what it knows.
func awaitStart(ctx context.Context, parts ...<-chan struct{}) {
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	for _, part := range parts {
		select {
		case <-part:
		case <-ctx.Done():
			return
		}
	}
}

// followRoutes hands the proxy each new table, and closes read at the first of the
// database.
func (b *serverBase) followRoutes(ctx context.Context, proxy *ingress.Proxy, read chan<- struct{}) {
	source := &routeSource{lifecycle: b.lifecycle, gate: b.gate, listener: b.listener,
		home: b.settings.HTTP.URL, log: b.logOf("ingress"), fail: b.fail, read: b.routed,
		builds: b.settings.Ingress.Build, known: b.metrics.routesRead}
	first := sync.OnceFunc(func() { close(read) })
	apply := func(t *ingress.Table) {
		proxy.SetTable(t)
		if !t.IsProvisional() {
			first()
		}
	}
	watcher := ingress.NewWatcher(source, apply, b.settings.Ingress.State,
		b.logOf("ingress"))
	if err := watcher.Run(ctx); err != nil && ctx.Err() == nil {
		b.log.ErrorContext(ctx, "routes are no longer followed", "error", err)
	}
}
