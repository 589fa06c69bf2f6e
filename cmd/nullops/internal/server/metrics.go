package server

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"golang.org/x/sync/errgroup"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/fleet"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/pipeline"
)

// metrics are what Prometheus reads, on a port of their own.
type metrics struct {
	registry *prometheus.Registry
	requests *prometheus.HistogramVec
	answers  *prometheus.CounterVec
	steps    *prometheus.HistogramVec
	// connections are those of the ingress to services.
	connections *prometheus.CounterVec
}

func newMetrics() *metrics {
	m := &metrics{
		registry: newProcessRegistry(),
		requests: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "nullops_api_request_seconds", Help: "Time of API calls.",
			Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 5},
		}, []string{"operation", "code"}),
		answers: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "nullops_ingress_answers_total", Help: "Answers of the ingress by status.",
		}, []string{"code"}),
		connections: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "nullops_ingress_connections_total",
			Help: "Connections of the ingress to services, by way: local or tunnel.",
		}, []string{"way"}),
		steps: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "nullops_step_seconds",
			Help: "Time of steps by kind and by how they ended, as far as this process stored it.",
			// Pulls of large images and slow migrations take minutes.
			Buckets: []float64{.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 900},
		}, []string{"kind", "status"}),
	}
	m.registry.MustRegister(m.requests, m.answers, m.connections, m.steps)
	return m
}

// newProcessRegistry has what Go and the kernel know about this process.
func newProcessRegistry() *prometheus.Registry {
	r := prometheus.NewRegistry()
	r.MustRegister(collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return r
}

func (m *metrics) apiRequest(operation string, code int, took time.Duration) {
	m.requests.WithLabelValues(operation, strconv.Itoa(code)).Observe(took.Seconds())
}

// stepEnded counts a step that ran. A skipped one took no time, and an undone one was
// counted when it was done.
func (m *metrics) stepEnded(s controlplane.StepRow) {
	counts := s.Status == pipeline.StepDone || s.Status == pipeline.StepFailed
	if counts && s.StartedAt != nil && s.EndedAt != nil {
		m.steps.WithLabelValues(string(s.Kind), string(s.Status)).Observe(
			s.EndedAt.Sub(*s.StartedAt).Seconds())
	}
}

func (m *metrics) ingressAnswer(code int) {
	m.answers.WithLabelValues(strconv.Itoa(code)).Inc()
}

func (m *metrics) ingressConnection(local bool) {
	way := "tunnel"
	if local {
		way = "local"
	}
	m.connections.WithLabelValues(way).Inc()
}

// watchPool shows what the database pool does.
func (m *metrics) watchPool(store *postgres.Store) {
	gauge := func(name, help string, read func(postgres.PoolStats) float64) {
		m.registry.MustRegister(prometheus.NewGaugeFunc(
			prometheus.GaugeOpts{Name: name, Help: help},
			func() float64 { return read(store.Stats()) }))
	}
	gauge("nullops_database_connections_in_use", "Pool connections in use.",
		func(s postgres.PoolStats) float64 { return float64(s.InUse) })
	gauge("nullops_database_connections_waited", "Acquisitions that had to wait.",
		func(s postgres.PoolStats) float64 { return float64(s.Waited) })
}

// watchLinks shows how many nodes this process commands, of all that are online.
func (m *metrics) watchLinks(machines *fleet.Fleet) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "nullops_node_links", Help: "Nodes that this control plane speaks with.",
	}, func() float64 { return float64(machines.CountSessions()) }))
}

// serve answers /metrics, /healthz and /readyz; without a listener they are off.
func (m *metrics) serve(ctx context.Context, l net.Listener, health http.Handler,
	log *slog.Logger) error {
	if l == nil {
		return nil
	}
	return serveMetrics(ctx, l, m.registry, health, log)
}

// runWithMetrics runs a process that has no numbers of its own, as an agent, and serves those of Go
// and the kernel meanwhile; an empty address is off.
func runWithMetrics(ctx context.Context, address string, log *slog.Logger,
	run func(context.Context) error) error {
	if address == "" {
		return run(ctx)
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return fmt.Errorf("setting metrics.listen: %w; choose a free address", err)
	}
	group, ctx := errgroup.WithContext(ctx)
	running, stop := context.WithCancel(ctx)
	group.Go(func() error {
		return serveMetrics(running, l, newProcessRegistry(), http.NotFoundHandler(), log)
	})
	group.Go(func() error {
		defer stop()
		return run(ctx)
	})
	return group.Wait()
}

func serveMetrics(ctx context.Context, l net.Listener, registry *prometheus.Registry,
	others http.Handler, log *slog.Logger) error {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	mux.Handle("/", others)
	log.InfoContext(ctx, "metrics", "address", l.Addr().String())
	return serveHTTP(ctx, newProbeServer(mux), l)
}

// newProbeServer is for programs that look at this one, now and then. A connection that such a
// program forgets is closed.
func newProbeServer(handler http.Handler) *http.Server {
	return &http.Server{Handler: handler, ReadHeaderTimeout: 5 * time.Second,
		IdleTimeout: 75 * time.Second}
}
