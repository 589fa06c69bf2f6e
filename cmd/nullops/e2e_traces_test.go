package main_test

import (
	"bytes"
	"compress/gzip"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/nullops/nullops/controlplane/apiclient"
)

// spanCollector is a collector of OpenTelemetry traces: it takes OTLP over HTTP.
type spanCollector struct {
	*httptest.Server
	mu    sync.Mutex
	spans []*tracepb.Span
	// raw is everything that was sent, as it was sent.
	raw bytes.Buffer
}

func newSpanCollector(t *testing.T) *spanCollector {
	t.Helper()
	c := &spanCollector{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := io.Reader(r.Body)
		if r.Header.Get("Content-Encoding") == "gzip" {
			unzipped, err := gzip.NewReader(r.Body)
			if err != nil {
				t.Error(err)
				return
			}
			body = unzipped
		}
		sent, err := io.ReadAll(body)
		var request collector.ExportTraceServiceRequest
		if err != nil || r.URL.Path != "/v1/traces" || proto.Unmarshal(sent, &request) != nil {
			t.Errorf("%s: %v", r.URL.Path, err)
			return
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.raw.Write(sent)
		for _, resource := range request.ResourceSpans {
			for _, scope := range resource.ScopeSpans {
				c.spans = append(c.spans, scope.Spans...)
			}
		}
		w.Header().Set("Content-Type", "application/x-protobuf")
	}))
	t.Cleanup(c.Close)
	return c
}

// ofTrace are the spans of a trace by their ids.
func (c *spanCollector) ofTrace(trace string) map[string]*tracepb.Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := map[string]*tracepb.Span{}
	for _, s := range c.spans {
		if hex.EncodeToString(s.TraceId) == trace {
			all[string(s.SpanId)] = s
		}
	}
	return all
}

// missingSpans says which names no span of a trace has.
func missingSpans(spans map[string]*tracepb.Span, names ...string) (missing []string) {
	for _, name := range names {
		found := false
		for _, s := range spans {
			found = found || strings.Contains(s.Name, name)
		}
		if !found {
			missing = append(missing, name)
		}
	}
	return missing
}

// traced follows one trace from a person's request to the first response that a visitor gets, on
// the real wire format of OpenTelemetry. No span holds a secret.
func traced(t *testing.T, w *world) {
	const secret = "canary-trace-5c1d90"
	spans := newSpanCollector(t)
	p := startProduct(t, w)
	p.vault = []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + spans.URL}
	p.controlPlane.stop(t)
	p.startControlPlane(t)
	p.ingress.stop(t)
	p.startIngress(t)
	p.applyShop(t)
	p.defineHostile(t)
	n := p.addNode(t, "worker", "qa")
	n.env = p.vault
	n.start(t)
	n.await(t, apiclient.NodeStatusOnline)
	p.admin.put(t, "/projects/traced", object{"resources": object{"memory_mib": 512}}, nil)
	p.admin.put(t, "/projects/traced/secrets/PASSWORD", object{"value": secret}, nil)
	web := webStep("web", "look")
	web["service"].(object)["env"].(object)["PASSWORD"] = "${{ secrets.PASSWORD }}"
	p.savePipeline(t, "traced", hostileStep("look", nil, object{"mode": "probe"}), web)
	bell := p.watchAlarms(t, "deployment.ready")
	d := p.admin.deployReady(t, "traced", "traced", nil)
	if a := p.visit(t, serviceURL(t, d, "web")+"/healthz"); a.status != http.StatusOK {
		t.Fatalf("the page: %d %s", a.status, a.body)
	}

	var run apiclient.Run
	p.admin.get(t, "/deployments/"+d.Id+"/runs/1", &run)
	trace := textOf(run.TraceId)
	if len(trace) != 32 {
		t.Fatalf("the run's trace is %q", trace)
	}
	// promise: O-01
	within(t, time.Minute, "the trace is whole", func() string {
		return strings.Join(missingSpans(spans.ofTrace(trace), "createDeployment", "create deployment",
			"sql InsertRun", "run", "wait for room", "agent takes goal", "step look", "step web",
			"pull", "ready", "agent pull", "agent run", "agent start", "agent probe",
			"/containers/create", "first response through the ingress"), ", ")
	})
	checkTree(t, spans.ofTrace(trace))
	bell.rings(t, "deployment.ready", d.Id, func() {})
	// The receiver's own spans are in the same trace.
	if told, _ := bell.find("deployment.ready", d.Id); !strings.HasPrefix(
		told.header.Get("Traceparent"), "00-"+trace+"-") {
		t.Errorf("the webhook's Traceparent is %q", told.header.Get("Traceparent"))
	}
	look := run.Steps[slices.IndexFunc(run.Steps, func(s apiclient.Step) bool {
		return s.Key == "look"
	})]
	if said := fmt.Sprint(*look.Outputs); !strings.Contains(said, "TRACEPARENT=00-"+trace+"-") {
		t.Errorf("the plugin does not know its trace: %s", said)
	}
	spans.mu.Lock()
	defer spans.mu.Unlock()
	if bytes.Contains(spans.raw.Bytes(), []byte(secret)) {
		t.Error("a span holds the secret")
	}
}

// checkTree wants each span to have its parent in the trace, but the request that began it.
func checkTree(t *testing.T, all map[string]*tracepb.Span) {
	t.Helper()
	var roots []string
	for _, s := range all {
		if all[string(s.ParentSpanId)] == nil {
			roots = append(roots, s.Name)
		}
	}
	if len(roots) != 1 || roots[0] != "createDeployment" {
		t.Errorf("spans without a parent in their trace: %q, of %d", roots, len(all))
	}
}
