package api_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/api"
	"github.com/nullops/nullops/controlplane/lifecycle"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/pipeline"
)

// read decodes what a path answers to an admin.
func (w *world) read(path string, into any) answer {
	w.t.Helper()
	a := w.call("GET", "/api/v1"+path, w.token("root"), nil)
	if a.status == http.StatusOK {
		w.expectSaved(nil, json.Unmarshal(a.body, into))
	}
	return a
}

// leaveTests stores test results of a step, without a change of the deployment.
func (w *world) leaveTests(d controlplane.Deployment, step pipeline.StepKey) {
	w.t.Helper()
	ctx, tests := w.t.Context(), failedTests()
	w.expectSaved(nil, w.store.InTx(ctx, func(tx *postgres.Tx) error {
		_, err := tx.Steps().Move(ctx, controlplane.StepRow{Run: d.RunID, Key: step,
			Status: pipeline.StepPending, Tests: &tests.TestSummary}, time.Now())
		if err != nil {
			return err
		}
		return tx.TestReports().Put(ctx, d.RunID, step, *tests)
	}))
}

func failedTests() *controlplane.TestReport {
	return controlplane.NewTestReport(
		controlplane.TestSummary{Tests: 120, Failed: 4, Skipped: 2, Seconds: 41.5, Marked: true},
		[]controlplane.TestFailure{
			{Suite: "cart", Name: "pays by card", Message: "expected 10, got 11.9"},
			{Suite: "login"}, {Name: "c"}, {Name: "d"}}, true)
}

// The results of a step are shown with the run, the deployment, the list and the capsule; what
// failed is read by itself. They are still there after the deployment is gone.
func TestTestReports_AreShownEverywhere(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	d := w.deploy("tested")
	done := stepReport(pipeline.StepDone, "4 of 120 tests failed")
	done.Tests = failedTests()
	w.expectSaved(nil, w.applyReports(w.reportInOrder(d,
		lifecycle.Report{Status: controlplane.Applying},
		stepReport(pipeline.StepRunning, ""), done, lifecycle.Report{Status: controlplane.Ready})...))
	expect := func(where string, s *api.TestSummary) {
		t.Helper()
		if s == nil || s.Tests != 120 || s.Failed != 4 || s.Skipped != 2 || s.Seconds != 41.5 ||
			!s.Marked || s.Names == nil || strings.Join(*s.Names, ",") != "pays by card,login,c" {
			t.Errorf("%s: %+v", where, s)
		}
	}
	for _, gone := range []bool{false, true} {
		if gone {
			w.call("DELETE", "/api/v1/deployments/"+string(d.ID), w.token("root"), nil)
			d.Generation++
			w.expectSaved(nil, w.applyReports(w.reportInOrder(d, stepReport(pipeline.StepUndone, ""),
				lifecycle.Report{Status: controlplane.Removed})...))
		}
		at := "/deployments/" + string(d.ID)
		var shown api.Deployment
		w.read(at, &shown)
		expect("deployment", shown.Tests)
		var run api.Run
		w.read(at+"/runs/1", &run)
		expect("step", run.Steps[0].Tests)
		var list api.DeploymentList
		w.read("/deployments?removed=true", &list)
		expect("list", list.Items[0].Tests)
		var report api.TestReport
		w.read(at+"/runs/1/steps/api/tests", &report)
		expect("report", &report.Summary)
		first := api.TestFailure{Suite: "cart", Name: "pays by card", Message: "expected 10, got 11.9"}
		if len(report.Failures) != 4 || report.Failures[0] != first || !report.Truncated {
			t.Errorf("the report is %+v", report)
		}
		var capsule api.Capsule
		w.read(at+"/capsule", &capsule)
		if r := capsule.Steps[0].Tests; r == nil || len(r.Failures) != 4 || r.Failures[0] != first {
			t.Errorf("the capsule has %+v", r)
		}
	}
}

// A step without results has none to read, and a job that ran again has those of the last time.
func TestTestReports_AreThoseOfTheLastTime(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	d := w.deploy("tested")
	at := "/deployments/" + string(d.ID) + "/runs/1/steps/api/tests"
	w.expectSaved(nil, w.applyReports(w.reportInOrder(d,
		lifecycle.Report{Status: controlplane.Applying},
		stepReport(pipeline.StepRunning, ""))...))
	if a := w.read(at, nil); a.status != http.StatusNotFound {
		t.Errorf("before: %d %s", a.status, a.body)
	}
	for _, tests := range []*controlplane.TestReport{failedTests(),
		controlplane.NewTestReport(controlplane.TestSummary{Tests: 3}, nil, false)} {
		done := stepReport(pipeline.StepDone, "")
		done.Tests = tests
		w.expectSaved(nil, w.applyReports(w.reportInOrder(d, done)...))
	}
	var report api.TestReport
	w.read(at, &report)
	if report.Summary.Tests != 3 || report.Summary.Failed != 0 || report.Failures == nil ||
		len(report.Failures) != 0 || report.Truncated {
		t.Errorf("after: %+v", report)
	}
}

// The comment on a pull request has the results, and names from outside stay names in it.
func TestTestReports_AreInTheComment(t *testing.T) {
	t.Parallel()
	w := newWorldWith(t, onThisMachine)
	w.shop()
	h := newCodeHost(t)
	w.makeRule("shop", "github", h.URL, object{"repository": "acme/shop", "branch": "feature/*",
		"tag": "{short}"})
	w.github("shop", pullRequest("opened", "feature/cart", "abc1234def", "acme/shop"))
	d := w.awaitDeployment("shop-12", isQueued)
	done := stepReport(pipeline.StepDone, "")
	done.Tests = controlplane.NewTestReport(controlplane.TestSummary{Tests: 2, Failed: 1, Seconds: 3,
		Marked: true}, []controlplane.TestFailure{{Name: "@ada `x` <img src=y>"}}, false)
	for _, r := range []lifecycle.Report{{Status: controlplane.Applying}, done,
		{Status: controlplane.Ready}} {
		w.report(d, r)
	}
	call := h.wait(t, "POST /repos/acme/shop/issues/12/comments", "Tests: ")
	_, text, _ := strings.Cut(call, "{")
	var comment struct{ Body string }
	w.expectSaved(nil, json.Unmarshal([]byte("{"+text), &comment))
	if want := "\nTests: 1 of 2 failed, in 3.0 s.\n- ``@ada `x` <img src=y>``\n"; !strings.HasSuffix(
		comment.Body, want) {
		t.Errorf("the comment is %q", comment.Body)
	}
	h.wait(t, "POST /repos/acme/shop/statuses/abc1234def",
		`"description":"shop-12: ready 1 of 2 failed`)
}
