package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nullops/nullops/agent/failpoint"
	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/fleet"
	"github.com/nullops/nullops/controlplane/lifecycle"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/ingress"
)

// routeTick is how soon a lost wake-up is made up for.
const routeTick = 2 * time.Second

// routeSource follows the database for the ingress: the table is read again at
// every wake-up and on a tick.
type routeSource struct {
	lifecycle *lifecycle.Lifecycle
	listener  *postgres.Listener
	// home is the UI's address, for the status pages' links.
	home string
	log  *slog.Logger
	// fail is for tests only.
	fail failpoint.Hook
	// read, if not nil, is set once a table was handed over.
	read *atomic.Bool
}

var _ ingress.Source = (*routeSource)(nil)

// Watch implements ingress.Source. A table that cannot be read is an error and
// never an empty table.
func (s *routeSource) Watch(ctx context.Context, apply func(*ingress.Table)) error {
	wake := s.listener.Subscribe("", controlplane.TopicDeployment, controlplane.TopicNode)
	defer wake.Close()
	ticker := time.NewTicker(routeTick)
	defer ticker.Stop()
	var told []ingress.Route
	for version := uint64(1); ; version++ {
		routes, err := s.lifecycle.Routes(ctx, access.System("ingress"))
		if err != nil {
			return fmt.Errorf("read routes: %w", err)
		}
		if err := s.tell(version, s.routes(routes), &told, apply); err != nil {
			return err
		}
		if s.read != nil {
			s.read.Store(true)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-wake.Wake:
		case <-ticker.C:
		}
	}
}

// tell hands the table over. The failpoints are places of tables that differ.
func (s *routeSource) tell(version uint64, routes []ingress.Route, told *[]ingress.Route,
	apply func(*ingress.Table)) error {
	changed := s.fail != nil && len(routes)+len(*told) > 0 && !reflect.DeepEqual(routes, *told)
	if changed {
		if err := s.fail.Hit("routes.read"); err != nil {
			return err
		}
	}
	apply(ingress.NewTable(version, routes))
	*told = routes
	if changed {
		return s.fail.Hit("routes.published")
	}
	return nil
}

func (s *routeSource) routes(all []controlplane.Route) []ingress.Route {
	out := make([]ingress.Route, len(all))
	for i, r := range all {
		out[i] = ingress.Route{
			Host: r.Host, DeploymentID: string(r.Deployment), Deployment: r.Name,
			Environment: r.Environment, Project: r.Project, Service: string(r.Step), Port: r.Port,
			NodeID: string(r.Node), State: ingress.State(r.Status), Detail: r.Detail,
			Since: r.ChangedAt, Permalink: s.home + "/d/" + string(r.Deployment),
			Target: wire.Target{Deployment: string(r.Deployment), Service: string(r.Step),
				Port: r.Port}.String(),
		}
		if r.NodeStatus != controlplane.NodeOnline && needsNode(r.Status) {
			out[i].State, out[i].Since, out[i].Detail = ingress.StateOffline, r.NodeSince, ""
		}
	}
	return out
}

// needsNode reports whether what people see depends on the node being there.
func needsNode(s controlplane.DeploymentStatus) bool {
	return s == controlplane.Ready || s == controlplane.Applying || s == controlplane.Queued
}

// tunnels opens a stream to a route's service through its node's agent.
func tunnels(d *fleet.Dialer) func(context.Context, ingress.Route) (net.Conn, error) {
	return func(ctx context.Context, r ingress.Route) (net.Conn, error) {
		target, err := wire.ParseTarget(r.Target)
		if err != nil {
			return nil, err
		}
		return d.Tunnel(ctx, controlplane.NodeID(r.NodeID), target)
	}
}

// serveIngress answers for deployments until ctx ends.
func serveIngress(ctx context.Context, l net.Listener, source ingress.Source,
	dial func(context.Context, ingress.Route) (net.Conn, error), s Settings, m *metrics,
	log *slog.Logger) error {
	proxy, err := ingress.New(ingress.Config{Dial: dial, Home: s.HTTP.URL, Log: log,
		OnVisit: func(string) {}, OnAnswer: m.ingressAnswer})
	if err != nil {
		return err
	}
	defer proxy.Close()
	var watching sync.WaitGroup
	defer watching.Wait()
	watcher := ingress.NewWatcher(source, proxy.SetTable, s.Ingress.State, log)
	watching.Go(func() {
		if err := watcher.Run(ctx); err != nil && ctx.Err() == nil {
			log.ErrorContext(ctx, "routes are no longer followed", "error", err)
		}
	})
	return serveHTTP(ctx, ingress.NewServer(proxy, log), l)
}
