package server

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/fleet"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/controlplane/postgres/pgtest"
	"github.com/nullops/nullops/internal/instrument"
	"github.com/nullops/nullops/internal/tracing"
	"github.com/nullops/nullops/migrations"
)

// Each number of the database has its gauge, and the registry of metrics takes them all.
func TestStateMetrics_ShowsWhatWasCounted(t *testing.T) {
	t.Parallel()
	all := newMetrics()
	m := newMetricsOfState(nil, all)
	m.read = time.Now()
	m.counts = postgres.Counts{Waiting: 2, Degraded: 3,
		Runs:  map[controlplane.DeploymentStatus]int64{controlplane.Ready: 5},
		Nodes: map[controlplane.NodeStatus]int64{controlplane.NodeOnline: 7}}
	found, err := all.Registry().Gather()
	if err != nil {
		t.Fatal(err)
	}
	sums := map[string]float64{}
	for _, family := range found {
		for _, one := range family.GetMetric() {
			sums[family.GetName()] += one.GetGauge().GetValue()
		}
	}
	for name, want := range map[string]float64{"nullops_runs": 5, "nullops_nodes": 7,
		"nullops_queue_length": 2, "nullops_deployments_degraded": 3} {
		// promise: G-10
		if sums[name] != want {
			t.Errorf("%s is %v, want %v", name, sums[name], want)
		}
	}
}

// scrape reads the metrics as Prometheus does.
func scrape(t *testing.T, m *metrics, accept string) string {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, "/metrics", http.NoBody)
	r.Header.Set("Accept", accept)
	w := httptest.NewRecorder()
	promhttp.HandlerFor(m.Registry(), promhttp.HandlerOpts{EnableOpenMetrics: true}).
		ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		t.Fatalf("metrics answered %d: %s", w.Code, w.Body)
	}
	return w.Body.String()
}

// manyRows are ten thousand deployments on two hundred nodes, with a queue and a history.
const manyRows = `
INSERT INTO environments (id, name, domain) VALUES
	('00000000-0000-4000-8000-000000000010', 'qa', 'localhost');
INSERT INTO projects (id, name, cpu, memory_mib) VALUES
	('00000000-0000-4000-8000-000000000020', 'shop', 2, 1024);
INSERT INTO pipeline_versions (project_id, version, pipeline, digest, created_by)
VALUES ('00000000-0000-4000-8000-000000000020', 1, '{"steps": []}', 'sha256:1', 'root');
INSERT INTO nodes (id, name, environment_id, address, status, thumbprint, inventory, vitals)
SELECT gen_random_uuid(), 'node-' || n, '00000000-0000-4000-8000-000000000010',
	'node-' || n || ':5000', 'online', lpad(n::text, 64, 'b'),
	'{"cpu": 8, "memory": 1024, "disk": 4096, "checks": [{"id": "guard", "severity": "warning"}]}',
	jsonb_build_object('at', now(), 'cpu', 2, 'memory_used', 512, 'disk_free', 2048)
FROM generate_series(1, 200) n;
INSERT INTO deployments (id, name, project_id, environment_id, node_id, node_name, created_by,
	status, ready_at, cpu, memory_mib, last_event, last_line)
SELECT gen_random_uuid(), 'd-' || n, '00000000-0000-4000-8000-000000000020',
	'00000000-0000-4000-8000-000000000010', (SELECT id FROM nodes WHERE name = 'node-1'),
	'node-1', 'root', 'ready', now(), 1, 1, 0, 0 FROM generate_series(1, 10000) n;
INSERT INTO runs (id, deployment_id, number, project_id, pipeline_version, pipeline, key_sealed,
	status, started_by) SELECT gen_random_uuid(), id, 1, project_id, 1, '{"steps": []}',
	'\x01026b31af', 'ready', 'root' FROM deployments;
INSERT INTO queue (run_id, deployment_id, scope)
SELECT r.id, r.deployment_id, d.environment_id FROM runs r JOIN deployments d
	ON d.id = r.deployment_id;
ANALYZE`

// A scrape of ten thousand deployments takes a second and ten megabytes at most, names no
// deployment, and leaves out no metric that is declared.
func TestStateMetrics_ScrapesTenThousandDeployments(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t, migrations.FS)
	pgtest.Exec(t, url, manyRows)
	store := pgtest.Open(t, url)
	m := newMetrics()
	m.watchPool(store)
	m.watchState(store)
	m.watchOutput(Settings{})
	m.watchListener(postgres.NewListener(store, slog.New(slog.DiscardHandler)))
	m.watchLinks(fleet.New(fleet.Config{}))
	m.watchRoutes()
	if missing := m.Unwatched(); len(missing) > 0 {
		t.Errorf("declared, and read nowhere: %v", missing)
	}
	// The quickest of some: other tests take the processors from a single one.
	text, took := "", time.Hour
	for range 10 {
		began := time.Now()
		text = scrape(t, m, "text/plain")
		if took = min(took, time.Since(began)); took <= time.Second {
			break
		}
	}
	if took > time.Second || len(text) > 10<<20 {
		t.Errorf("a scrape takes %s and %d bytes", took, len(text))
	}
	for _, want := range []string{`nullops_deployments{status="ready"} 10000`,
		`nullops_node_cpu_used_cores{environment="qa",node="node-200"} 2`,
		`nullops_node_checks{environment="qa",node="node-1",severity="warning"} 1`,
		"nullops_queue_length 10000", `nullops_nodes{status="online"} 200`,
		"nullops_database_listening 0", "nullops_audit_entries_total 0"} {
		if !strings.Contains(text, "\n"+want+"\n") {
			t.Errorf("%s is missing", want)
		}
	}
	if strings.Contains(text, "d-77") {
		t.Error("a deployment's name is a label")
	}
	checkNames(t, m)
}

// checkNames has promtool judge the names of all metrics, in the text that Prometheus reads.
func checkNames(t *testing.T, m *metrics) {
	t.Helper()
	for _, one := range instrument.Declared() {
		labels := slices.Repeat([]string{"x"}, len(one.Labels))
		switch {
		case one.Read:
		case one.Kind == instrument.Counter:
			m.Count(one.Name, labels...)
		default:
			m.Observe(t.Context(), one.Name, time.Second, labels...)
		}
	}
	c := exec.CommandContext(t.Context(), "promtool", "check", "metrics")
	c.Stdin = strings.NewReader(scrape(t, m, "text/plain"))
	if said, err := c.CombinedOutput(); err != nil || len(said) > 0 {
		t.Errorf("promtool: %v\n%s", err, said)
	}
}

// Runs that ended since the last look are counted by their outcome and reason, and how long runs
// waited; a code that an agent made up becomes no label of its own.
func TestStateMetrics_CountsWhatEnds(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t, migrations.FS)
	pgtest.Exec(t, url, strings.Replace(strings.Replace(manyRows, "10000", "3", 1), "200", "1", 1))
	m := newMetrics()
	s := newMetricsOfState(pgtest.Open(t, url), m)
	scrape(t, m, "text/plain")
	pgtest.Exec(t, url, `UPDATE runs SET status = 'failed', ended_at = now() - interval '6 s',
		failure_code = CASE WHEN number = 1 THEN 'start' END, failure_message = 'no';
		UPDATE queue SET queued_at = now() - interval '30 s', started_at = now() - interval '6 s',
		left_at = now() - interval '6 s'`)
	s.read, s.ended = time.Time{}, s.ended.Add(-10*time.Second)
	// The counters may be collected before the state is read: the next scrape has them.
	scrape(t, m, "text/plain")
	text := scrape(t, m, "text/plain")
	for _, want := range []string{`nullops_runs_ended_total{outcome="failed",reason="start"} 3`,
		"nullops_queue_wait_seconds_count 3", `nullops_queue_wait_seconds_bucket{le="10"} 0`,
		`nullops_queue_wait_seconds_bucket{le="30"} 3`} {
		if !strings.Contains(text, "\n"+want+"\n") {
			t.Errorf("%s is missing", want)
		}
	}
	if got := s.reasonLabel("<made up>"); got != "other" {
		t.Errorf("a code of an agent becomes %q", got)
	}
	for i := range 2 * mostReasons {
		s.reasonLabel(strings.Repeat("a", 1+i%40) + strings.Repeat("b", i/40))
	}
	if len(s.reasons) > mostReasons {
		t.Errorf("%d codes became labels", len(s.reasons))
	}
}

// A request that was traced leaves the id of its trace with its time.
func TestMetrics_NameTheTrace(t *testing.T) {
	t.Parallel()
	m := newMetrics()
	const id = "abcd0000000000000000000000000001"
	traced := func(flags string) context.Context {
		return tracing.WithParent(t.Context(), "00-"+id+"-0100000000000000-"+flags)
	}
	m.apiRequest(traced("00"), "getMe", 200, time.Millisecond)
	const accept = "application/openmetrics-text;version=1.0.0"
	if text := scrape(t, m, accept); strings.Contains(text, "trace_id") {
		t.Error("a trace that was not kept is named")
	}
	m.apiRequest(traced("01"), "getMe", 200, time.Millisecond)
	if text := scrape(t, m, accept); !strings.Contains(text, `trace_id="`+id+`"`) {
		t.Error("no exemplar names the trace")
	}
}

// What comes from outside is bounded before it becomes a label.
func TestMetrics_BoundLabels(t *testing.T) {
	t.Parallel()
	if a, b, c := partLabel("pull"), partLabel("anything"), statusClass(0); a != "pull" ||
		b != "other" || c != "error" {
		t.Errorf("labels are %q, %q and %q", a, b, c)
	}
	m := newMetrics()
	m.ingressAnswer("qa", 204)
	m.ingressAnswer("qa", 502)
	m.ingressServed("qa", time.Second)
	text := scrape(t, m, "text/plain")
	for _, want := range []string{`nullops_ingress_answers_total{class="5xx",environment="qa"} 1`,
		`nullops_ingress_request_seconds_count{environment="qa"} 1`} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is missing", want)
		}
	}
	if got := m.countAnswers()["qa"]; got.Answers != 2 || got.Errors != 1 {
		t.Errorf("the alert about errors sees %v", got)
	}
}
