package api_test

import (
	"net/http"
	"testing"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/api"
	"github.com/nullops/nullops/controlplane/lifecycle"
	"github.com/nullops/nullops/pipeline"
)

// What a run and its step came to is told apart from what became of them afterwards.
func TestRuns_KeepTheirResults(t *testing.T) {
	w := newWorld(t)
	w.shop()
	root := w.token("root")
	began := []lifecycle.Report{{Status: controlplane.Applying},
		stepReport(pipeline.StepPulling, ""), stepReport(pipeline.StepRunning, "")}
	undone := []lifecycle.Report{stepReport(pipeline.StepUndoing, ""),
		stepReport(pipeline.StepUndone, "")}
	say := func(d controlplane.Deployment, all ...lifecycle.Report) {
		w.expectSaved(nil, w.applyReports(w.reportInOrder(d, all...)...))
	}

	good := w.deploy("good")
	say(good, began...)
	w.expectRun(root, good, api.Run{Status: "applying"}, api.Step{Status: "running"})
	say(good, stepReport(pipeline.StepDone, ""), lifecycle.Report{Status: controlplane.Ready})
	w.expectRun(root, good, api.Run{Status: "ready", Result: new(api.RunResultReady)},
		api.Step{Status: "done", Result: new(api.StepResultDone)})
	// promise: U-02
	w.expect(http.StatusAccepted, "DELETE", "/deployments/"+string(good.ID), root, nil, nil)
	gone, err := w.lifecycle.Get(t.Context(), system, good.ID)
	w.expectSaved(nil, err)
	say(gone, undone[0])
	w.expectRun(root, good, api.Run{Status: "removing", Result: new(api.RunResultReady)},
		api.Step{Status: "undoing", Result: new(api.StepResultDone),
			Cleanup: new(api.StepCleanupUndoing)})
	say(gone, undone[1], lifecycle.Report{Status: controlplane.Removed})
	w.expectRun(root, good, api.Run{Status: "removed", Result: new(api.RunResultReady)},
		api.Step{Status: "undone", Result: new(api.StepResultDone),
			Cleanup: new(api.StepCleanupUndone)})

	bad := w.deploy("bad")
	say(bad, began...)
	say(bad, lifecycle.Report{Step: &controlplane.StepRow{Key: "api",
		Status: pipeline.StepFailed}, Code: "exit", Message: "it ended"},
		lifecycle.Report{Status: controlplane.Undoing})
	say(bad, undone...)
	say(bad, lifecycle.Report{Status: controlplane.Failed})
	w.expectRun(root, bad, api.Run{Status: "failed", Result: new(api.RunResultFailed)},
		api.Step{Status: "undone", Result: new(api.StepResultFailed),
			Cleanup: new(api.StepCleanupUndone)})

	// Its undo failed; what it did had been good.
	stuck := w.deploy("stuck")
	say(stuck, began...)
	say(stuck, stepReport(pipeline.StepDone, ""), lifecycle.Report{Status: controlplane.Undoing},
		undone[0], lifecycle.Report{Step: &controlplane.StepRow{Key: "api",
			Status: pipeline.StepFailed}, Code: "undo_failed", Message: "it says no"})
	w.expectRun(root, stuck, api.Run{Status: "undoing", Result: new(api.RunResultFailed)},
		api.Step{Status: "failed", Result: new(api.StepResultDone),
			Cleanup: new(api.StepCleanupFailed)})

	// It was undone before it came to anything.
	cut := w.deploy("cut")
	say(cut, began...)
	say(cut, undone...)
	w.expectRun(root, cut, api.Run{Status: "applying"},
		api.Step{Status: "undone", Cleanup: new(api.StepCleanupUndone)})
}

// Deployment, list, run and record say the same, and what can be tried.
func TestFailure_IsTheSameEverywhere(t *testing.T) {
	w := newWorld(t)
	w.shop()
	root := w.token("root")
	d := w.deploy("bad")
	w.expectSaved(nil, w.applyReports(w.reportInOrder(d,
		lifecycle.Report{Status: controlplane.Applying},
		lifecycle.Report{Step: &controlplane.StepRow{Key: "api", Status: pipeline.StepFailed},
			Code: "exit_code", Message: "the job ended with exit code 3; its log says: no disk"},
		lifecycle.Report{Status: controlplane.Undoing},
		lifecycle.Report{Status: controlplane.Failed})...))
	path := "/deployments/" + string(d.ID)
	var shown api.Deployment
	var list api.DeploymentList
	var run api.Run
	var record api.Capsule
	for path, into := range map[string]any{path: &shown, "/deployments": &list,
		path + "/runs/1": &run, path + "/capsule": &record} {
		w.expect(http.StatusOK, "GET", path, root, nil, into)
	}
	want := "Step api failed: the job ended with exit code 3; its log says: no disk."
	for where, f := range map[string]*api.Failure{"page": shown.Failure,
		"list": list.Items[0].Failure, "run": run.Failure, "record": record.Failure} {
		// promise: U-01
		if f == nil || valueOf(f.Sentence) != want || valueOf(f.Remedy) == "" {
			t.Errorf("%s: %+v", where, f)
		}
	}
	// The lines come apart from the failure. Another step's and those of the undo do not count.
	w.write(d, "api", 1, "error: an attempt before")
	w.write(d, "api", 1<<20+1, "the job ended with exit code 3")
	w.write(d, "api", 1<<20+2, `{"level":"error","msg":"no","err":"disk"}`)
	w.write(d, "api", 1<<20+3, "bye")
	w.write(d, "api", 8<<20+1, "error: it was deleted before")
	w.expect(http.StatusOK, "GET", path+"/runs/1", root, nil, &run)
	if valueOf(run.Failure.Line) != 1<<20+2 || shown.Failure.Line != nil {
		t.Errorf("it is line %d that says why, and %v", valueOf(run.Failure.Line), shown.Failure.Line)
	}
	if valueOf(shown.Detail) != want {
		t.Errorf("the detail is %q", valueOf(shown.Detail))
	}
}

// expectRun compares statuses, results and clean-up of a run and its only step.
func (w *world) expectRun(token string, d controlplane.Deployment, run api.Run, step api.Step) {
	w.t.Helper()
	var got api.Run
	w.expect(http.StatusOK, "GET", "/deployments/"+string(d.ID)+"/runs/1", token, nil, &got)
	if got.Status != run.Status || !equalValues(got.Result, run.Result) {
		w.t.Errorf("%s: the run is %s with result %v, not %s with %v", d.Name, got.Status,
			valueOf(got.Result), run.Status, valueOf(run.Result))
	}
	is := got.Steps[0]
	if is.Status != step.Status || !equalValues(is.Result, step.Result) ||
		!equalValues(is.Cleanup, step.Cleanup) {
		w.t.Errorf("%s: the step is %s with result %q and clean-up %q, not %s with %q and %q",
			d.Name, is.Status, valueOf(is.Result), valueOf(is.Cleanup),
			step.Status, valueOf(step.Result), valueOf(step.Cleanup))
	}
	if (is.UndoneAt != nil) != (is.Status == "undone") {
		w.t.Errorf("%s: the step is %s, undone at %v", d.Name, is.Status, is.UndoneAt)
	}
}

func equalValues[T comparable](a, b *T) bool { return valueOf(a) == valueOf(b) }

func valueOf[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}
