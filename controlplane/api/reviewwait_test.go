package api_test

import (
	"strings"
	"testing"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/api"
	"github.com/nullops/nullops/controlplane/catalog"
	"github.com/nullops/nullops/controlplane/lifecycle"
	"github.com/nullops/nullops/controlplane/postgres/pgtest"
	"github.com/nullops/nullops/internal/testpart"
	"github.com/nullops/nullops/pipeline"
)

// settle reports that a deployment is ready.
func (w *world) settle(d controlplane.Deployment) {
	w.t.Helper()
	w.report(d, lifecycle.Report{Status: controlplane.Applying})
	w.report(d, lifecycle.Report{Status: controlplane.Ready})
}

// endTime lets the time of a rule's reviews be up.
func (w *world) endTime(rule string) {
	w.t.Helper()
	pgtest.Exec(w.t, w.database, `UPDATE reviews SET give_up_at = now() - interval '1 hour'
		WHERE rule_id = (SELECT id FROM review_rules WHERE name = $1)`, rule)
}

// Without room, or without a turn on the node, a review ends at its limit, and the code host gets
// the reason. A late deployment is reported when it is ready.
func TestReview_WithoutRoomEndsAndIsTold(t *testing.T) {
	testpart.Rotate(t)
	t.Parallel()
	w := newWorldWith(t, onThisMachine)
	w.shop()
	h := newCodeHost(t)
	w.expectSaved(w.catalog.PutEnvironment(t.Context(), system, catalog.EnvironmentPut{Name: "full",
		Domain: "localhost"}))
	w.makeRule("none", "github", h.URL, object{"environment": "full"})
	w.github("none", pullRequest("opened", "fix", "abc1111", "acme/shop"))
	r := w.awaitReview("none", func(r api.Review) bool { return r.Detail != nil && *r.Detail != "" })
	if r.State != api.ReviewStateWaiting || !strings.Contains(*r.Detail, "node") {
		t.Errorf("without a node: %s %s", r.State, *r.Detail)
	}
	w.endTime("none")
	h.wait(t, "POST /repos/acme/shop/statuses/abc1111", `"state":"failure"`)
	h.wait(t, "POST /repos/acme/shop/issues/12/comments", "no nodes")
	w.awaitReview("none", func(r api.Review) bool { return r.State == api.ReviewStateFailed })

	w.makeRule("late", "github", h.URL)
	w.github("late", pullRequest("opened", "fix", "abc2222", "acme/shop"))
	d := w.awaitDeployment("late-12", isQueued)
	w.endTime("late")
	pgtest.Exec(t, w.database, `UPDATE deployments SET created_at = now() - interval '2 hours'
		WHERE id = $1`, string(d.ID))
	h.wait(t, "POST /repos/acme/shop/statuses/abc2222", `"state":"failure"`)
	h.wait(t, "POST /repos/acme/shop/issues/12/comments", "not ready in time")
	w.awaitReview("late", func(r api.Review) bool { return r.State == api.ReviewStateFailed })
	w.settle(d)
	h.wait(t, "POST /repos/acme/shop/statuses/abc2222", `"state":"success"`)
	w.awaitReview("late", func(r api.Review) bool { return r.State == api.ReviewStateReady })
}

// A review whose image never came has failed, although the deployment of the
// commit before is ready.
func TestReview_GivenUpIsNotReady(t *testing.T) {
	t.Parallel()
	w := newWorldWith(t, onThisMachine)
	w.shop()
	h := newCodeHost(t)
	w.makeRule("gu", "github", h.URL, object{"tag": "gu-{short}"})
	w.github("gu", pullRequest("opened", "fix", "abc1111", "acme/shop"))
	w.settle(w.awaitDeployment("gu-12", isQueued))
	h.wait(t, "POST /repos/acme/shop/statuses/abc1111", `"state":"success"`)
	missing.Store("gu-abc2222", true)
	w.github("gu", pullRequest("synchronize", "fix", "abc2222", "acme/shop"))
	w.endTime("gu")
	h.wait(t, "POST /repos/acme/shop/statuses/abc2222", `"state":"failure"`)
	r := w.awaitReview("gu", func(r api.Review) bool { return r.Detail != nil && *r.Detail != "" })
	if r.State != api.ReviewStateFailed || !strings.Contains(*r.Detail, "gu-abc2222") {
		t.Errorf("given up: %s %s", r.State, *r.Detail)
	}
}

// The commit's status follows a deployment that becomes degraded, and one that works again, with
// one update each; a service that works and fails by turns changes nothing more.
func TestReview_FollowsADegradedDeployment(t *testing.T) {
	testpart.Rotate(t)
	t.Parallel()
	w := newWorldWith(t, onThisMachine)
	w.shop()
	h := newCodeHost(t)
	w.makeRule("dg", "github", h.URL, object{"tag": "dg-{short}"})
	w.github("dg", pullRequest("opened", "fix", "abc1111", "acme/shop"))
	d := w.awaitDeployment("dg-12", isQueued)
	w.settle(d)
	const statuses = "POST /repos/acme/shop/statuses/abc1111"
	h.wait(t, statuses, `"state":"success"`)
	w.reportHealth(d, pipeline.HealthUnhealthy, "it answers 500", 3)
	said := h.wait(t, statuses, `"state":"failure"`)
	if !strings.Contains(said, "service api is unhealthy: it answers 500") {
		t.Errorf("the reason is not told: %s", said)
	}
	h.wait(t, "PATCH /repos/acme/shop/issues/comments/4711", "is degraded")
	for n := range 2 {
		w.reportHealth(d, pipeline.HealthHealthy, "", 3+n)
		time.Sleep(250 * time.Millisecond) // longer than a look
		w.reportHealth(d, pipeline.HealthUnhealthy, "it answers 500", 4+n)
	}
	w.reportHealth(d, pipeline.HealthHealthy, "", 6)
	w.awaitReview("dg", func(r api.Review) bool { return r.State == api.ReviewStateReady })
	h.mu.Lock()
	defer h.mu.Unlock()
	var told []string
	for _, c := range h.calls {
		if strings.HasPrefix(c, statuses) {
			_, state, _ := strings.Cut(c, `"state":"`)
			state, _, _ = strings.Cut(state, `"`)
			told = append(told, state)
		}
	}
	if want := "success failure success"; strings.Join(told, " ") != want {
		t.Errorf("the statuses are %v, want %s", told, want)
	}
}
