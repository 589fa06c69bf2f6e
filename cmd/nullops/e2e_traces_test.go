package main_test

import (
	"bytes"
	"compress/gzip"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
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
	metrics := freeAddress(t)
	p.controlPlane.stop(t)
	p.startControlPlane(t, "NULLOPS_METRICS_LISTEN="+metrics)
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
	p.savePipeline(t, "traced", hostileStep("look", nil, object{"mode": "probe"}), web, headersStep())
	bell := p.watchAlarms(t, "deployment.ready")
	// A pipeline of somebody's CI began the trace.
	const click, clicked = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
	d := p.deployTraced(t, "00-"+click+"-"+clicked+"-01")
	if a := p.visit(t, serviceURL(t, d, "web")+"/healthz"); a.status != http.StatusOK {
		t.Fatalf("the page: %d %s", a.status, a.body)
	}

	var run apiclient.Run
	p.admin.get(t, "/deployments/"+d.Id+"/runs/1", &run)
	trace := textOf(run.TraceId)
	// promise: O-01
	if trace != click {
		t.Fatalf("the run's trace is %q, and not that of the command", trace)
	}
	// promise: O-01
	within(t, time.Minute, "the trace is whole", func() string {
		return strings.Join(missingSpans(spans.ofTrace(trace), "createDeployment", "create deployment",
			"sql InsertRun", "run", "wait for room", "agent takes goal", "step look", "step web",
			"pull", "ready", "agent pull", "agent run", "agent start", "agent probe",
			"/containers/create", "first response through the ingress"), ", ")
	})
	checkTree(t, spans.ofTrace(trace), clicked)
	p.reachesService(t, spans, serviceURL(t, d, "api"))
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
	// What was counted names the trace as an exemplar.
	counted := scrapeOpenMetrics(t, metrics)
	if !strings.Contains(counted, `trace_id="`+trace+`"`) {
		t.Errorf("no metric has the trace as its exemplar:\n%s", counted)
	}
	spans.mu.Lock()
	defer spans.mu.Unlock()
	for what, text := range map[string]string{"a span": spans.raw.String(), "a metric": counted} {
		if strings.Contains(text, secret) {
			t.Errorf("%s holds the secret", what)
		}
	}
}

// scrapeOpenMetrics reads the metrics of a process as Prometheus does.
func scrapeOpenMetrics(t *testing.T, address string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet,
		"http://"+address+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept", "application/openmetrics-text; version=1.0.0")
	return sendRequest(t, http.DefaultClient, r).body
}

// headersStep is a service that says which headers reach it.
func headersStep() object {
	return object{"key": "api", "needs": []string{"look"}, "service": object{"name": "shop-api",
		"env": object{"DATABASE_URL": "postgres://nobody:1/none",
			"API_TOKEN": "${{ secrets.PASSWORD }}"},
		"ports":     []object{{"name": "http", "port": 8080, "expose": true}},
		"resources": object{"cpu": 0.2, "memory_mib": 64},
		"ready":     object{"tcp": object{"port": 8080}}}}
}

// deployTraced deploys with a command that is part of a trace.
func (p *product) deployTraced(t *testing.T, parent string) apiclient.Deployment {
	t.Helper()
	said, errs, code := runCommand(t, p.w.binary, []string{"NULLOPS_CLI_URL=" + p.url,
		"NULLOPS_CLI_TOKEN=" + p.admin.token, "TRACEPARENT=" + parent}, "",
		"deploy", "traced", "--env", "qa", "--name", "traced", "--json")
	var d apiclient.Deployment
	if code != 0 || json.Unmarshal([]byte(said), &d) != nil {
		t.Fatalf("deploy: %d %s%s", code, said, errs)
	}
	return p.admin.await(t, d.Id, apiclient.DeploymentStatusReady)
}

// reachesService asks a service as a visitor: what it learns of the trace is the ingress's span,
// of a new trace, or of the one that the visitor is part of.
func (p *product) reachesService(t *testing.T, spans *spanCollector, url string) {
	t.Helper()
	const visitor = "5ca1ab1e5ca1ab1e5ca1ab1e5ca1ab1e"
	seen := regexp.MustCompile(`00-([0-9a-f]{32})-([0-9a-f]{16})-01`)
	for what, header := range map[string][]string{"a visitor": nil,
		"a traced visitor": {"Traceparent", "00-" + visitor + "-00f067aa0ba902b7-01"}} {
		a := p.visit(t, url+"/headers", header...)
		got := seen.FindStringSubmatch(a.body)
		if got == nil || header != nil && got[1] != visitor {
			t.Errorf("what reaches the service of %s: %s", what, a)
			continue
		}
		// promise: O-01
		within(t, time.Minute, "the span of "+what+" arrives", func() string {
			for id, s := range spans.ofTrace(got[1]) {
				if hex.EncodeToString([]byte(id)) == got[2] && s.Name == "ingress api" {
					return ""
				}
			}
			return "the service's parent is no span"
		})
	}
}

// checkTree wants each span to have its parent in the trace, but requests of the command that began
// it.
func checkTree(t *testing.T, all map[string]*tracepb.Span, command string) {
	t.Helper()
	created := false
	for _, s := range all {
		if all[string(s.ParentSpanId)] != nil {
			continue
		}
		if hex.EncodeToString(s.ParentSpanId) != command {
			t.Errorf("the span %q has no parent in its trace, of %d", s.Name, len(all))
		}
		created = created || s.Name == "createDeployment"
	}
	if !created {
		t.Error("the command did not create the deployment")
	}
}
