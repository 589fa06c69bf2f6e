package tracing_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/nullops/nullops/internal/testpart"
	"github.com/nullops/nullops/internal/tracing"
)

// start begins tracing towards a collector, and ends it with the test.
func start(t *testing.T, collector string, more ...string) *tracing.Tracing {
	t.Helper()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector)
	for i := 0; i+1 < len(more); i += 2 {
		t.Setenv(more[i], more[i+1])
	}
	traces, err := tracing.Start(t.Context(), "test", "1.0", slog.New(slog.DiscardHandler))
	if err != nil || traces == nil {
		t.Fatalf("tracing is not on: %v", err)
	}
	return traces
}

func stop(t *testing.T, traces *tracing.Tracing) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 20*time.Second)
	defer cancel()
	traces.Stop(ctx)
}

// received is a collector that keeps what it gets.
type received struct {
	mu    sync.Mutex
	spans []*tracepb.Span
}

// ServeHTTP takes OTLP over HTTP.
func (c *received) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var request collector.ExportTraceServiceRequest
	if err != nil || proto.Unmarshal(body, &request) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, resource := range request.ResourceSpans {
		for _, scope := range resource.ScopeSpans {
			c.spans = append(c.spans, scope.Spans...)
		}
	}
}

// The spans of a run have parents in it, whichever process writes them, and whoever is told a
// step's traceparent is below the step.
func TestRuns_HaveOneTree(t *testing.T) {
	c := &received{}
	server := httptest.NewServer(c)
	defer server.Close()
	traces := start(t, server.URL)
	ctx, end := tracing.Span(t.Context(), "request")
	parent, now := tracing.Traceparent(ctx), time.Now()
	end(nil)
	_, end = tracing.Span(tracing.WithStep(t.Context(), parent, "run-1", "web"), "agent pull")
	end(io.EOF)
	tracing.RecordRunSpan(tracing.RunSpan{Parent: parent, Run: "run-1", Name: "run",
		From: now.Add(-time.Hour), To: now})
	tracing.RecordRunSpan(tracing.RunSpan{Parent: parent, Run: "run-1", Name: "step web",
		Parts: []string{"web"}, From: now.Add(-time.Minute), To: now, Failed: "oom"})
	stop(t, traces)
	if got := traces.Counts(); got.Sent != 4 || got.Dropped != 0 {
		t.Errorf("counts %+v", got)
	}
	names, parents := map[string]string{}, map[string]string{}
	for _, s := range c.spans {
		names[string(s.SpanId)] = s.Name
		if fmt.Sprintf("%x", s.TraceId) != tracing.TraceIDOf(parent) {
			t.Errorf("%s is in another trace", s.Name)
		}
	}
	for _, s := range c.spans {
		parents[s.Name] = names[string(s.ParentSpanId)]
	}
	for name, want := range map[string]string{"request": "", "run": "request", "step web": "run",
		"agent pull": "step web"} {
		if got, ok := parents[name]; !ok || got != want {
			t.Errorf("%s is below %q, want %q", name, got, want)
		}
	}
}

// A collector that refuses, hangs or is away slows nothing down: spans are dropped and counted,
// and memory is bounded.
func TestCollector_DownSlowOrRefusing(t *testing.T) {
	testpart.Rotate(t)
	hang := make(chan struct{})
	slow := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-hang:
		case <-r.Context().Done():
		}
	}))
	defer slow.Close()
	defer close(hang)
	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusForbidden)
	}))
	defer refusing.Close()
	for name, url := range map[string]string{"slow": slow.URL, "refusing": refusing.URL,
		"away": "http://127.0.0.1:1"} {
		traces := start(t, url)
		const spans = 10_000
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		began := time.Now()
		for range spans {
			_, end := tracing.Span(t.Context(), "work", "deployment_id", strings.Repeat("x", 10_000))
			end(nil)
		}
		took := time.Since(began)
		runtime.GC()
		runtime.ReadMemStats(&after)
		if took > 5*time.Second {
			t.Errorf("%s: %d spans took %s", name, spans, took)
		}
		if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 24<<20 {
			t.Errorf("%s: %d MiB are held", name, grown>>20)
		}
		stop(t, traces)
		if c := traces.Counts(); c.Sent != 0 || c.Dropped < spans-5000 {
			t.Errorf("%s: counts %+v", name, c)
		}
	}
}

// A stranger's traceparent continues a trace or is ignored, and never decides that it is sampled.
func TestHandler_HostileTraceparent(t *testing.T) {
	c := &received{}
	server := httptest.NewServer(c)
	defer server.Close()
	traces := start(t, server.URL, "OTEL_TRACES_SAMPLER", "parentbased_traceidratio",
		"OTEL_TRACES_SAMPLER_ARG", "0.000001")
	var sampled atomic.Int64
	handler := traces.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if tracing.TraceID(r.Context()) != "" {
			sampled.Add(1)
		}
	}), func(*http.Request) bool { return true })
	for _, header := range []string{"", "00", strings.Repeat("f", 100_000),
		"ff-00000000000000000000000000000001-0000000000000001-01",
		"00-00000000000000000000000000000000-0000000000000000-01",
		"00-FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF-0000000000000001-01",
		"00-ffffffffffffffffffffffffffffffff-0000000000000001-01",
		"00-ffffffffffffffffffffffffffffffff-0000000000000001-01\r\nx: y"} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		r.Header["Traceparent"] = []string{header}
		r.Header["Tracestate"] = []string{strings.Repeat("a=b,", 10_000)}
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		if w.Code != http.StatusOK {
			t.Errorf("%.80s: %d", header, w.Code)
		}
	}
	stop(t, traces)
	if n := sampled.Load(); n != 0 || len(c.spans) != 0 {
		t.Errorf("%d requests are sampled, %d spans sent", n, len(c.spans))
	}
}

// Whoever has found an id that is sampled, and sends it again and again, gets hardly more traces
// than their share: otherwise a stranger could fill the collector, and slow the ingress down.
func TestRequest_StrangersChooseNoIDs(t *testing.T) {
	server := httptest.NewServer(&received{})
	t.Cleanup(server.Close)
	traces := start(t, server.URL, "OTEL_TRACES_SAMPLER", "parentbased_traceidratio",
		"OTEL_TRACES_SAMPLER_ARG", "0.01")
	defer stop(t, traces)
	const all = 50_000
	traced := 0
	for range all {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set("Traceparent", "00-00000000000000000000000000000001-0000000000000001-01")
		if _, end := tracing.Request(r, "ingress"); end != nil {
			traced++
			end(http.StatusOK)
		}
	}
	if traced == 0 || traced > all*3/100 {
		t.Errorf("%d of %d requests are traced", traced, all)
	}
}

// Of requests without a trace, the share that the sampler says is traced, under ids of their own; a
// request that is not has no header. A stranger's mark changes nothing.
func TestRequest_SamplesAShare(t *testing.T) {
	var got received
	server := httptest.NewServer(&got)
	t.Cleanup(server.Close)
	traces := start(t, server.URL, "OTEL_TRACES_SAMPLER", "parentbased_traceidratio",
		"OTEL_TRACES_SAMPLER_ARG", "0.25")
	const all = 2000
	ids := map[string]bool{}
	for range all {
		r, end := tracing.Request(httptest.NewRequest(http.MethodGet, "/", nil), "ingress")
		if (end != nil) != (r.Header.Get("Traceparent") != "") {
			t.Fatalf("sampled is %v, and the service is told %q", end != nil, r.Header)
		}
		if end != nil {
			ids[r.Header.Get("Traceparent")] = true
			end(http.StatusOK)
		}
	}
	if n := len(ids); n < all/5 || n > all*3/10 {
		t.Errorf("%d of %d requests are traced", n, all)
	}
	marked := httptest.NewRequest(http.MethodGet, "/", nil)
	marked.Header.Set("Traceparent", "00-ffffffffffffffffffffffffffffffff-0000000000000001-01")
	if _, end := tracing.Request(marked, "ingress"); end != nil {
		t.Error("a stranger decides that a request is sampled")
	}
	stop(t, traces)
	got.mu.Lock()
	defer got.mu.Unlock()
	if len(got.spans) != len(ids) {
		t.Errorf("%d spans come, want %d", len(got.spans), len(ids))
	}
}

// Without the variables there is no tracing, and a sampler that does not exist is refused.
func TestStart_Settings(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	if traces, err := tracing.Start(t.Context(), "test", "1.0", log); err != nil || traces != nil {
		t.Errorf("without a collector: %v, %v", traces, err)
	}
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
	for name, value := range map[string]string{"OTEL_TRACES_SAMPLER": "sometimes",
		"OTEL_TRACES_SAMPLER_ARG": "2"} {
		t.Setenv("OTEL_TRACES_SAMPLER", "traceidratio")
		t.Setenv(name, value)
		_, err := tracing.Start(t.Context(), "test", "1.0", log)
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s=%s: %v", name, value, err)
		}
		t.Setenv(name, "")
	}
	t.Setenv("OTEL_SDK_DISABLED", "true")
	if traces, err := tracing.Start(t.Context(), "test", "1.0", log); err != nil || traces != nil {
		t.Errorf("disabled: %v, %v", traces, err)
	}
}

// Switched off, tracing costs nothing that could be measured: handlers are passed through as they
// are, and what the library allocates for a span that nobody records is a few words. No request
// through the ingress makes one: it has no function to trace with then.
func TestOff_CostsNothing(t *testing.T) {
	traces, err := tracing.Start(t.Context(), "test", "1.0", slog.New(slog.DiscardHandler))
	if err != nil || traces != nil {
		t.Fatalf("without a collector: %v, %v", traces, err)
	}
	mux := http.NewServeMux()
	// promise: O-04
	if traces.Handler(mux, func(*http.Request) bool { return true }) != http.Handler(mux) {
		t.Error("a handler is wrapped although nothing is traced")
	}
	ctx := t.Context()
	if n := testing.AllocsPerRun(100, func() {
		inner, end := tracing.Span(ctx, "work", "deployment_id", "d1")
		_ = tracing.TraceID(inner)
		end(nil)
	}); n > 3 {
		t.Errorf("a span that is not recorded allocates %.0f times", n)
	}
}
