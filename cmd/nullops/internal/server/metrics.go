package server

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"golang.org/x/sync/errgroup"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/fleet"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/internal/instrument"
	"github.com/nullops/nullops/internal/tracing"
	"github.com/nullops/nullops/pipeline"
)

// metrics are what Prometheus reads, on a port of their own. They are declared in
// internal/instrument; here they are counted.
type metrics struct {
	*instrument.Set
	// answers counts those of the ingress, by environment.
	answers sync.Map // environment → *answerCount
	// routesKnown is when an ingress last knew that its routes are right; nil without an ingress. It
	// is no number: the age of one would change with the clock.
	routesKnown atomic.Pointer[time.Time]
}

func newMetrics() *metrics {
	m := &metrics{Set: instrument.New(newProcessRegistry(), tracing.TraceID)}
	m.WatchAll(func(r instrument.Reading) { r.Put(instrument.BuildInfo, 1, release) },
		instrument.BuildInfo)
	return m
}

// newProcessRegistry has what Go and the kernel know about this process.
func newProcessRegistry() *prometheus.Registry {
	r := prometheus.NewRegistry()
	r.MustRegister(collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return r
}

func (m *metrics) apiRequest(
	ctx context.Context, operation string, code int, took time.Duration,
) {
	m.Observe(ctx, instrument.APIRequests, took, operation, strconv.Itoa(code))
}

// stepEnded counts a step that ran. A skipped one took no time, and an undone one was
// counted when it was done.
func (m *metrics) stepEnded(s controlplane.StepRow) {
	counts := s.Status == pipeline.StepDone || s.Status == pipeline.StepFailed
	if !counts || s.StartedAt == nil || s.EndedAt == nil {
		return
	}
	ctx := context.Background()
	m.Observe(ctx, instrument.Steps, s.EndedAt.Sub(*s.StartedAt), string(s.Kind), string(s.Status))
	for _, p := range s.Parts {
		m.Observe(ctx, instrument.StepParts, p.To.Sub(p.From), partLabel(p.Kind),
			resultLabel(p.Failed))
	}
}

// partLabel bounds what an agent may make a label of.
func partLabel(kind string) string {
	switch wire.PartKind(kind) {
	case wire.PartPull, wire.PartSandbox, wire.PartStart, wire.PartReady, wire.PartRun,
		wire.PartUndo:
		return kind
	}
	return "other"
}

func resultLabel(failed bool) string {
	if failed {
		return "error"
	}
	return "ok"
}

// answerCount is what an ingress answered in one environment: the counters of Prometheus would
// have to be read back for the alert about errors.
type answerCount struct{ all, errors atomic.Int64 }

func (m *metrics) ingressAnswer(environment string, code int) {
	m.Count(instrument.IngressAnswers, environment, statusClass(code))
	one, ok := m.answers.Load(environment)
	if !ok {
		one, _ = m.answers.LoadOrStore(environment, new(answerCount))
	}
	count := one.(*answerCount)
	count.all.Add(1)
	if code >= http.StatusInternalServerError {
		count.errors.Add(1)
	}
}

// countAnswers returns what was answered so far, by environment.
func (m *metrics) countAnswers() map[string]controlplane.AnswerCount {
	all := map[string]controlplane.AnswerCount{}
	m.answers.Range(func(environment, value any) bool {
		count := value.(*answerCount)
		all[environment.(string)] = controlplane.AnswerCount{Answers: count.all.Load(),
			Errors: count.errors.Load()}
		return true
	})
	return all
}

func (m *metrics) ingressServed(environment string, took time.Duration) {
	m.Observe(context.Background(), instrument.IngressRequests, took, environment)
}

func (m *metrics) ingressConnection(local bool) {
	way := "tunnel"
	if local {
		way = "local"
	}
	m.Count(instrument.IngressDials, way)
}

// routesRead notes that the routes of an ingress are right now.
func (m *metrics) routesRead() {
	now := time.Now()
	m.routesKnown.Store(&now)
}

// routesAge is how long ago that was; zero without an ingress.
func (m *metrics) routesAge() time.Duration {
	at := m.routesKnown.Load()
	if at == nil {
		return 0
	}
	return time.Since(*at)
}

// statusClass is a status without its details, such as 2xx.
func statusClass(code int) string {
	if code < 100 || code > 599 {
		return "error"
	}
	return strconv.Itoa(code/100) + "xx"
}

func (m *metrics) registryCall(ctx context.Context, status int, took time.Duration) {
	m.Observe(ctx, instrument.RegistryCalls, took, statusClass(status))
}

func (m *metrics) notificationSent(
	ctx context.Context, channel string, took time.Duration, err error,
) {
	m.Observe(ctx, instrument.NotificationSends, took, channel, resultLabel(err != nil))
}

func (m *metrics) sshAttempt(ctx context.Context, took time.Duration, failure string) {
	m.Observe(ctx, instrument.SSHAttempts, took, resultLabel(failure != ""))
}

func (m *metrics) jobRan(ctx context.Context, name string, took time.Duration, err error) {
	m.Observe(ctx, instrument.JobRuns, took, name, resultLabel(err != nil))
}

func (m *metrics) keyUsed(operation string, err error) {
	m.Count(instrument.KeyUses, operation, resultLabel(err != nil))
}

func (m *metrics) nodeRefused(class string) { m.Count(instrument.PlacementRefusals, class) }

func (m *metrics) nodeDialed(result string) { m.Count(instrument.LinkDials, result) }

func (m *metrics) sessionEnded(ctx context.Context, lasted time.Duration) {
	m.Observe(ctx, instrument.LinkLasted, lasted)
}

// watchOutput shows what became of this process's log and traces.
func (m *metrics) watchOutput(s Settings) {
	m.Watch(instrument.TraceSpansSent, func() float64 { return float64(s.tracing.Counts().Sent) })
	m.Watch(instrument.TraceSpansDropped, func() float64 {
		return float64(s.tracing.Counts().Dropped)
	})
	m.Watch(instrument.LogLinesDropped, func() float64 {
		if s.logs == nil {
			return 0
		}
		return float64(s.logs.Dropped())
	})
}

// watchPool shows what the database pool does.
func (m *metrics) watchPool(store *postgres.Store) {
	for name, read := range map[string]func(postgres.PoolStats) float64{
		instrument.DatabaseInUse:  func(s postgres.PoolStats) float64 { return float64(s.InUse) },
		instrument.DatabaseIdle:   func(s postgres.PoolStats) float64 { return float64(s.Idle) },
		instrument.DatabaseMax:    func(s postgres.PoolStats) float64 { return float64(s.Max) },
		instrument.DatabaseWaits:  func(s postgres.PoolStats) float64 { return float64(s.Waited) },
		instrument.DatabaseWaited: func(s postgres.PoolStats) float64 { return s.WaitedFor.Seconds() },
	} {
		m.Watch(name, func() float64 { return read(store.Stats()) })
	}
}

// watchListener shows whether the database's notifications are heard.
func (m *metrics) watchListener(l *postgres.Listener) {
	m.Watch(instrument.DatabaseListens, func() float64 {
		if l.IsListening() {
			return 1
		}
		return 0
	})
}

// watchRoutes shows how old the routes of an ingress are. Those that it begins with, from its disk,
// count as old as the process: an ingress that can never read any has to show, too.
func (m *metrics) watchRoutes() {
	m.routesRead()
	m.Watch(instrument.IngressRoutesChecked, func() float64 { return m.routesAge().Seconds() })
}

// watchLinks shows how many nodes this process commands, of all that are online.
func (m *metrics) watchLinks(machines *fleet.Fleet) {
	m.Watch(instrument.Links, func() float64 { return float64(machines.CountSessions()) })
}

// serve answers /metrics, /healthz and /readyz; without a listener they are off.
func (m *metrics) serve(ctx context.Context, l net.Listener, health http.Handler,
	log *slog.Logger) error {
	if l == nil {
		return nil
	}
	return serveMetrics(ctx, l, m.Registry(), health, log)
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
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry,
		// Exemplars are part of OpenMetrics only.
		promhttp.HandlerOpts{EnableOpenMetrics: true}))
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
