package api_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/api"
	"github.com/nullops/nullops/controlplane/postgres/pgtest"
)

// overdue makes a run's deadline have passed, and whatever else it waits for is
// an hour old.
func (w *world) overdue(id string) {
	w.t.Helper()
	pgtest.Exec(w.t, w.database, `UPDATE queue SET deadline = deadline - interval '1 hour',
		queued_at = queued_at - interval '1 hour', started_at = started_at - interval '1 hour'
		WHERE deployment_id = $1`, id)
}

// underWay makes a deployment that its node works at.
func (w *world) underWay(root, name string, more map[string]any) string {
	w.t.Helper()
	a := w.create(root, name, more)
	if a.status != http.StatusCreated {
		w.t.Fatalf("%s: %d %s", name, a.status, a.body)
	}
	w.becomes(root, a.field("id"), controlplane.Applying)
	return a.field("id")
}

// A run that is not ready by the deadline it was given is undone, says why, and
// can be retried with another one. Nothing ends what has no deadline, or is
// ready; and nothing ends while the database's clock is not to be trusted.
func TestOverdue_EndsWhatIsNotReady(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	root := w.token("root")
	soon := map[string]any{"deadline_seconds": 1800}
	late, done := w.underWay(root, "late", soon), w.underWay(root, "done", soon)
	calm := w.underWay(root, "calm", nil)
	w.becomes(root, done, controlplane.Ready)
	w.admit()
	if got := w.showDeployment(root, late); got.Status != "applying" {
		t.Fatalf("before its deadline it is %s", got.Status)
	}
	for _, id := range []string{late, done, calm} {
		w.overdue(id)
	}
	w.expectSaved(nil, w.lifecycle.AdmitQueuedRuns(context.WithoutCancel(t.Context()), system, false))
	if got := w.showDeployment(root, late); got.Status != "applying" {
		t.Fatalf("after the clock was set it is %s", got.Status)
	}
	w.admit()
	w.becomes(root, late, controlplane.Removing, controlplane.Removed)
	got := w.showDeployment(root, late)
	// promise: B-15
	if got.Status != "failed" || got.Failure == nil || got.Failure.Code != "deadline" ||
		!strings.HasPrefix(got.Failure.Message, "it was not ready by its deadline, 20") ||
		!strings.Contains(got.Failure.Message, "30 minutes after it was asked for") {
		t.Errorf("past its deadline: %s %+v", got.Status, got.Failure)
	}
	if got := w.showDeployment(root, done); got.Status != "ready" {
		t.Errorf("what was ready in time is %s", got.Status)
	}
	// promise: N-100
	if got := w.showDeployment(root, calm); got.Status != "applying" {
		t.Errorf("what has no deadline is %s after an hour", got.Status)
	}
	w.retriedWith(root, late, nil, 1800*time.Second)
	w.becomes(root, late, controlplane.Applying, controlplane.Undoing, controlplane.Failed)
	w.retriedWith(root, late, map[string]any{"deadline_seconds": 60}, time.Minute)
	w.becomes(root, late, controlplane.Applying, controlplane.Undoing, controlplane.Failed)
	w.retriedWith(root, late, map[string]any{"deadline_seconds": 0}, 0)
}

// retriedWith tries again, and looks how long the run has; zero is for ever.
func (w *world) retriedWith(root, id string, body any, want time.Duration) {
	w.t.Helper()
	a := w.call("POST", "/api/v1/deployments/"+id+"/retry", root, body)
	if a.status != http.StatusAccepted {
		w.t.Fatalf("retry: %d %s", a.status, a.body)
	}
	var runs api.RunList
	w.got("/api/v1/deployments/"+id+"/runs", root, &runs)
	q := runs.Items[0].Queue
	if want == 0 && q.Deadline != nil ||
		want > 0 && (q.Deadline == nil || !q.Deadline.Equal(q.QueuedAt.Add(want))) {
		w.t.Errorf("retried with %v, it has until %v", body, q.Deadline)
	}
}

// What is being undone for its deadline can still be canceled: it then leaves
// nothing to retry.
func TestOverdue_CanBeCanceled(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	root := w.token("root")
	id := w.underWay(root, "late", map[string]any{"deadline_seconds": 1800})
	w.overdue(id)
	w.admit()
	got := w.showDeployment(root, id)
	if got.Status != "undoing" || got.Failure == nil || got.Detail == nil ||
		!strings.Contains(*got.Detail, "not ready by its deadline") {
		t.Fatalf("past its deadline: %s %v %+v", got.Status, got.Detail, got.Failure)
	}
	for range 2 {
		if a := w.call("DELETE", "/api/v1/deployments/"+id, root, nil); a.status != 202 ||
			a.field("status") != "undoing" {
			t.Fatalf("canceled: %d %s", a.status, a.body)
		}
	}
	w.becomes(root, id, controlplane.Removing, controlplane.Removed)
	if got := w.showDeployment(root, id); got.Status != "canceled" {
		t.Errorf("canceled while it was undone for its deadline, it is %s", got.Status)
	}
}
