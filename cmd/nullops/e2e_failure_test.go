package main_test

import (
	"encoding/json"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nullops/nullops/controlplane/apiclient"
	"github.com/nullops/nullops/internal/testpart"
)

// ledger is an outside log: each execution of a plugin that has an effect posts
// a line, whatever the agent believes happened.
type ledger struct {
	URL   string
	mu    sync.Mutex
	lines []string
}

// newLedger listens where containers reach this machine.
func newLedger(t *testing.T) *ledger {
	t.Helper()
	l, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	book := &ledger{URL: "http://" + machineAddress(t) + ":" + portOf(l.Addr().String())}
	server := &http.Server{Handler: book, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close() })
	return book
}

// machineAddress is one of this machine that is not loopback.
func machineAddress(t *testing.T) string {
	t.Helper()
	all, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range all {
		ip, ok := a.(*net.IPNet)
		// Bridges of networks come and go; they begin with 10.2 in these tests.
		if ok && ip.IP.To4() != nil && ip.IP.IsGlobalUnicast() &&
			!strings.HasPrefix(ip.IP.String(), "10.2") {
			return ip.IP.String()
		}
	}
	t.Fatal("this machine has no address but loopback; containers need one to reach it")
	return ""
}

// ServeHTTP takes one line: "deployment action text".
func (l *ledger) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	var line struct{ Deployment, Action, Text string }
	if err != nil || json.Unmarshal(body, &line) != nil {
		return
	}
	l.mu.Lock()
	l.lines = append(l.lines, line.Deployment+" "+line.Action+" "+line.Text)
	l.mu.Unlock()
}

// of lists "action text" of one deployment, in order.
func (l *ledger) of(deployment string) (lines []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, line := range l.lines {
		if rest, ok := strings.CutPrefix(line, deployment+" "); ok {
			lines = append(lines, rest)
		}
	}
	return lines
}

// await waits for an effect.
func (l *ledger) await(t *testing.T, deployment, line string) {
	t.Helper()
	eventually(t, deployment+": "+line, func() string {
		if lines := l.of(deployment); !slices.Contains(lines, line) {
			return "only " + strings.Join(lines, ", ")
		}
		return ""
	})
}

// ledgerStep returns a step that writes to the ledger when created and when deleted.
func (l *ledger) ledgerStep(key, mode string, needs []string, more object) object {
	parameters := object{"mode": mode, "delete_mode": "ledger", "ledger": l.URL, "text": key}
	maps.Copy(parameters, more)
	return hostileStep(key, needs, parameters)
}

// failingService deploys a version that crashes on start, and a migration that fails.
func failingService(t *testing.T, w *world) {
	p, book := w.product(), newLedger(t)
	n := p.node("alpha")
	p.define(t, "crash", book.ledgerStep("first", "ledger", nil, nil),
		book.ledgerStep("second", "ledger", []string{"first"}, nil), webStep("web", "second"),
		book.ledgerStep("never", "ledger", []string{"web"}, nil))
	d := p.admin.deploy(t, "crash", "crash", map[string]string{"web": "fix-checkout-0badf00"})
	url := serviceURL(t, d, "web")
	d = p.admin.await(t, d.Id, apiclient.DeploymentStatusFailed)
	if d.Failure == nil || textOf(d.Failure.Step) != "web" ||
		!strings.Contains(d.Failure.Message, "exit code 1") {
		t.Errorf("failure %+v does not say that web ended with exit code 1", d.Failure)
	}
	// promise: U-01
	cause := "Step web failed: the service ended with exit code 1; its log says: "
	if said := textOf(d.Failure.Sentence); !strings.HasPrefix(said, cause) ||
		!strings.Contains(said, "vouchers") || textOf(d.Detail) != said {
		t.Errorf("the page says %q and %q", said, textOf(d.Detail))
	}
	// promise: N-093, N-094
	want := []string{"create first", "create second", "delete second", "delete first"}
	if got := book.of("crash"); !slices.Equal(got, want) {
		t.Errorf("ledger %v, wanted %v", got, want)
	}
	run := p.admin.run(t, d)
	// promise: N-048
	if s := findStep(t, run, "never"); s.StartedAt != nil || s.Status == apiclient.StepStatusDone {
		t.Errorf("the step after the failed one is %+v", s)
	}
	if s := findStep(t, run, "second"); s.Status != apiclient.StepStatusUndone {
		t.Errorf("a step that was undone is %s", s.Status)
	}
	// promise: U-02
	if s := findStep(t, run, "web"); s.Result == nil || *s.Result != apiclient.StepResultFailed ||
		s.Cleanup == nil || *s.Cleanup != apiclient.StepCleanupUndone {
		t.Errorf("the step that failed and was undone is %+v", s)
	}
	if s := findStep(t, run, "second"); s.Lines != 2 {
		t.Errorf("%d lines of one create and one delete", s.Lines)
	}
	n.nothingLeft(t, d.Id) // promise: N-095, N-154
	if log := strings.Join(p.admin.stepLog(t, d, "web"), "\n"); !strings.Contains(log, "vouchers") {
		t.Errorf("the step's log does not have the service's last words: %q; %+v",
			log, d.Failure)
	}
	eventually(t, "the page says that it failed", func() string {
		a := p.visit(t, url+"/")
		if a.status != http.StatusServiceUnavailable || !strings.Contains(a.body, "exit code 1") {
			return a.String()
		}
		return ""
	})
	// promise: N-096
	reader := p.member(t, "crash-reader", object{"project": "crash", "level": "read"})
	if theirs := reader.deployment(t, d.Id); theirs.Failure == nil || *theirs.Failure.Step != "web" ||
		theirs.Failure.Message != d.Failure.Message || textOf(theirs.Detail) != textOf(d.Detail) {
		t.Errorf("a user sees %+v, an admin %+v", theirs.Failure, d.Failure)
	}
	p.admin.remove(t, d.Id)
	jobs(t, p, n, book)
}

// badEnd is a way of a plugin to fail, and what people see.
type badEnd struct {
	mode string
	more object
	// limit is the step's timeout, 0 for the default.
	limit int
	code  string
	says  string
}

func badEnds() []badEnd {
	return []badEnd{
		// The limit holds for delete too, which a busy machine needs time for.
		{"ignore-sigterm", nil, 5, "timeout", "did not end within 5 seconds"},
		{"hang", nil, 5, "timeout", "did not end within 5 seconds"},
		{"say-no", nil, 0, "plugin_failed", "the test plugin says no"},
		{"exit", object{"code": 7}, 0, "exit_code", "exit code 7"},
		{"bad-json", nil, 0, "invalid_output", "JSON"},
		{"text", nil, 0, "invalid_output", "JSON"},
		{"two-documents", nil, 0, "two_documents", ""},
		{"nothing", nil, 0, "no_output", "nothing"},
		{"flood-stdout", nil, 0, "stdout_too_large", "stdout"},
		{"memory", nil, 0, "oom", "memory"},
	}
}

// failingPlugins runs every way of a plugin to fail: each has its own words, is
// rolled back with the delete of the step before, and leaves nothing.
func failingPlugins(t *testing.T, w *world) {
	testpart.Rotate(t)
	p, book := w.product(), newLedger(t)
	n := p.node("alpha")
	running := map[string]apiclient.Deployment{}
	for _, bad := range badEnds() {
		name := "bad-" + bad.mode
		parameters := object{"mode": bad.mode}
		maps.Copy(parameters, bad.more)
		worse := hostileStep("worse", []string{"good"}, parameters)
		if bad.limit > 0 {
			worse["plugin"].(object)["timeout_seconds"] = bad.limit
		}
		p.define(t, name, book.ledgerStep("good", "ledger", nil, nil), worse)
		running[bad.mode] = p.admin.deploy(t, name, name, nil)
	}
	for _, bad := range badEnds() {
		d := p.admin.await(t, running[bad.mode].Id, apiclient.DeploymentStatusFailed)
		s := findStep(t, p.admin.run(t, d), "worse")
		// promise: N-061, N-065
		if textOf(s.Code) != bad.code || !strings.Contains(textOf(s.Message), bad.says) {
			t.Errorf("%s: %s %q, wanted %s with %q", bad.mode, textOf(s.Code), textOf(s.Message),
				bad.code, bad.says)
		}
		if d.Failure == nil || d.Failure.Code != bad.code || textOf(d.Failure.Step) != "worse" {
			t.Errorf("%s: failure %+v", bad.mode, d.Failure)
		}
		if s.Outputs != nil && len(*s.Outputs) > 0 {
			t.Errorf("%s: a failed step has outputs %v", bad.mode, *s.Outputs)
		}
		if got := book.of(d.Name); !slices.Equal(got, []string{"create good", "delete good"}) {
			t.Errorf("%s: ledger %v", bad.mode, got)
		}
		n.nothingLeft(t, d.Id)
		if bad.mode == "exit" {
			// promise: N-064
			if s.ExitCode == nil || *s.ExitCode != 7 ||
				!slices.Contains(p.admin.stepLog(t, d, "worse"), "leaving with 7") {
				t.Errorf("exit code %v, log %q", s.ExitCode, p.admin.stepLog(t, d, "worse"))
			}
			continue
		}
		p.admin.remove(t, d.Id)
	}
	retryFailed(t, p, running["exit"].Id)
	undoFails(t, p, n, book)
}

// undoFails rolls back a plugin whose delete refuses: people see what was left, can try again, and
// an admin can give up; the Docker objects are removed anyway.
//
// fault: F52
func undoFails(t *testing.T, p *product, n *node, book *ledger) {
	t.Helper()
	p.define(t, "sticky", book.ledgerStep("first", "ledger", nil, nil),
		hostileStep("glue", []string{"first"}, object{"delete_mode": "say-no"}),
		hostileStep("worse", []string{"glue"}, object{"mode": "say-no"}))
	d := p.admin.deploy(t, "sticky", "sticky", nil)
	d = p.admin.await(t, d.Id, apiclient.DeploymentStatusStuck)
	p.awaitAlerts(t, true, map[string]string{"deployment.stuck": "sticky"}) // promise: O-02
	if d.Left == nil || !strings.Contains(strings.Join(*d.Left, " "), "glue") {
		t.Errorf("what is left of it: %v", d.Left)
	}
	if got := book.of("sticky"); !slices.Equal(got, []string{"create first", "delete first"}) {
		t.Errorf("ledger %v: one failed undo must not stop the others", got)
	}
	eventually(t, "nothing of it is in Docker", func() string {
		return strings.Join(n.leftOf(t, d.Id), " ")
	})
	before := d.Revision
	p.admin.want(t, http.StatusAccepted, http.MethodDelete, "/deployments/"+d.Id, nil, nil)
	eventually(t, "trying again ends stuck again", func() string {
		now := p.admin.deployment(t, d.Id)
		if now.Status != apiclient.DeploymentStatusStuck || now.Revision == before {
			return string(now.Status)
		}
		return ""
	})
	p.admin.want(t, http.StatusOK, http.MethodPost, "/deployments/"+d.Id+"/forget", nil, nil)
	if now := p.admin.deployment(t, d.Id); now.Status != apiclient.DeploymentStatusForgotten ||
		now.Left == nil || len(*now.Left) == 0 {
		t.Errorf("forgotten, it is %s and leaves %v", now.Status, now.Left)
	}
	p.awaitAlerts(t, false, map[string]string{"deployment.stuck": "sticky"}) // promise: O-02
}

// retryFailed repairs a project's pipeline and tries its failed deployment again.
func retryFailed(t *testing.T, p *product, id string) {
	t.Helper()
	before := p.admin.deployment(t, id)
	saved := p.savePipeline(t, before.Project, hostileStep("good", nil, object{}),
		webStep("web", "good"))
	if saved.Version != before.PipelineVersion+1 {
		t.Errorf("the repaired pipeline is version %d after %d", saved.Version,
			before.PipelineVersion)
	}
	// promise: N-051
	if now := p.admin.deployment(t, id); now.PipelineVersion != before.PipelineVersion {
		t.Errorf("a save moved a deployment to version %d", now.PipelineVersion)
	}
	var d apiclient.Deployment
	p.admin.want(t, http.StatusAccepted, http.MethodPost, "/deployments/"+id+"/retry", nil, &d)
	// promise: N-097
	if d.Run != before.Run+1 || d.PipelineVersion != saved.Version || d.Id != id {
		t.Errorf("retry made run %d with version %d", d.Run, d.PipelineVersion)
	}
	d = p.admin.await(t, id, apiclient.DeploymentStatusReady)
	p.admin.expectProblem(t, http.StatusConflict, http.MethodPost, "/deployments/"+id+"/retry", nil,
		"Only a failed deployment")
	first := p.admin.runNumber(t, id, before.Run)
	// promise: G-14
	if first.Status != apiclient.DeploymentStatusFailed || first.PipelineVersion != saved.Version-1 {
		t.Errorf("the history of the first run changed: %+v", first)
	}
	url := serviceURL(t, d, "web")
	if want := "http://web." + d.Name + ".qa.localhost:" + portOf(p.ingressAddr); url != want {
		t.Errorf("URL %s, wanted %s", url, want)
	}
	eventually(t, "it answers after the retry", func() string {
		if a := p.visit(t, url+"/healthz"); a.status != http.StatusOK {
			return a.String()
		}
		return ""
	})
	p.admin.remove(t, id)
}
