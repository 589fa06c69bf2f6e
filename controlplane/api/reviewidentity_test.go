package api_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/api"
	"github.com/nullops/nullops/internal/testpart"
)

// sendGenericEvent posts our own form, signed now.
func (w *world) sendGenericEvent(rule, body string) string {
	w.t.Helper()
	now := strconv.FormatInt(time.Now().Unix(), 10)
	a := w.event(rule, body, map[string]string{"X-Nullops-Timestamp": now,
		"X-Nullops-Signature": "v1=" + signReview(now, ".", body)})
	if a.status != http.StatusAccepted {
		w.t.Fatalf("event %s: %d %s", body, a.status, a.body)
	}
	return a.field("result")
}

// sendHubEvent posts as GitHub does, under a delivery id.
func (w *world) sendHubEvent(rule, delivery, body string) string {
	w.t.Helper()
	h := map[string]string{"X-GitHub-Event": "pull_request",
		"X-Hub-Signature-256": "sha256=" + signReview(body)}
	if delivery != "" {
		h["X-GitHub-Delivery"] = delivery
	}
	a := w.event(rule, body, h)
	if a.status != http.StatusAccepted {
		w.t.Fatalf("event %s: %d %s", body, a.status, a.body)
	}
	return a.field("result")
}

// listReviews returns what became of a rule's pull requests.
func (w *world) listReviews(rule string) []api.Review {
	w.t.Helper()
	var view api.RuleView
	a := w.call("GET", "/api/v1/rules/"+rule, w.reader("root"), nil)
	w.expectSaved(nil, json.Unmarshal(a.body, &view))
	return view.Reviews
}

// awaitReview waits until a rule has a review that fits.
func (w *world) awaitReview(rule string, fits func(api.Review) bool) api.Review {
	w.t.Helper()
	for range 300 {
		for _, r := range w.listReviews(rule) {
			if fits(r) {
				return r
			}
		}
		time.Sleep(100 * time.Millisecond)
	}
	w.t.Fatalf("no review of %s came to that: %s", rule, must(json.Marshal(w.listReviews(rule)))(w.t))
	return api.Review{}
}

// Branches and pull requests whose names are spelled alike get deployments of
// their own, and closing one leaves the others alone.
func TestReview_NamesThatAreSpelledAlike(t *testing.T) {
	testpart.Rotate(t)
	t.Parallel()
	w := newWorldWith(t, onThisMachine)
	w.shop()
	n, rule := 0, func(n int) string { return fmt.Sprintf("r%d", n) }
	long := strings.Repeat("long-", 40)
	branch := `{"action":%q,"repository":"acme/shop","branch":%q,"commit":"c1"}`
	pull := `{"action":%q,"repository":%q,"number":12,"branch":"fix","commit":"c1"}`
	cases := map[string]struct{ rules, bodies [2]string }{
		"a slash and an underscore": {[2]string{"%s", "%s"}, [2]string{
			fmt.Sprintf(branch, "opened", "feature/a_b"), fmt.Sprintf(branch, "opened", "feature/a-b")}},
		"capitals": {[2]string{"%s", "%s"}, [2]string{
			fmt.Sprintf(branch, "opened", "Fix"), fmt.Sprintf(branch, "opened", "fix")}},
		"the first 40 characters": {[2]string{"%s", "%s"}, [2]string{
			fmt.Sprintf(branch, "opened", long[:60]+"a"), fmt.Sprintf(branch, "opened", long[:60]+"b")}},
		"the first 128 characters": {[2]string{"%s", "%s"}, [2]string{
			fmt.Sprintf(branch, "opened", long+"a"), fmt.Sprintf(branch, "opened", long+"b")}},
		"no letter at all": {[2]string{"%s", "%s"}, [2]string{
			fmt.Sprintf(branch, "opened", "日本"), fmt.Sprintf(branch, "opened", "本日")}},
		"one number, two repositories": {[2]string{"%s", "%s"}, [2]string{
			fmt.Sprintf(pull, "opened", "acme/shop"), fmt.Sprintf(pull, "opened", "acme/web")}},
		"two long repositories": {[2]string{"%s", "%s"}, [2]string{
			fmt.Sprintf(pull, "opened", long+long+"a"), fmt.Sprintf(pull, "opened", long+long+"b")}},
		"a number and a branch": {[2]string{"%s", "%s"}, [2]string{
			fmt.Sprintf(branch, "opened", "12"), fmt.Sprintf(pull, "opened", "acme/shop")}},
		"two rules": {[2]string{"%s", "%s-1"}, [2]string{
			fmt.Sprintf(branch, "opened", "1-12"), fmt.Sprintf(pull, "opened", "acme/shop")}},
	}
	for _, name := range testpart.Pick(t, slices.Sorted(maps.Keys(cases))) {
		c := cases[name]
		n++
		rules := [2]string{fmt.Sprintf(c.rules[0], rule(n)), fmt.Sprintf(c.rules[1], rule(n))}
		for _, r := range rules {
			w.makeRule(r, "generic", "")
		}
		var made [2]controlplane.Deployment
		for i, body := range c.bodies {
			if said := w.sendGenericEvent(rules[i], body); said != "taken" {
				t.Fatalf("%s: event %d: %s", name, i, said)
			}
			seen := string(made[0].ID)
			r := w.awaitReview(rules[i], func(r api.Review) bool {
				return r.DeploymentId != nil && *r.DeploymentId != seen
			})
			made[i] = w.awaitDeployment(r.Deployment, isQueued)
		}
		if made[0].ID == made[1].ID || made[0].Name == made[1].Name {
			t.Errorf("%s: both are %s", name, made[0].Name)
			continue
		}
		w.sendGenericEvent(rules[1], strings.Replace(c.bodies[1], "opened", "closed", 1))
		w.awaitDeployment(made[1].Name, func(d controlplane.Deployment) bool {
			return isLeaving(d) || d.Status.IsGone()
		})
		if isLeaving(w.is(made[0])) {
			t.Errorf("%s: closing %s removes %s", name, made[1].Name, made[0].Name)
		}
	}
}

// The images of one revision, pushed to two repositories, are one deployment;
// tags that are spelled alike are two.
func TestReview_PushesOfATagShareADeployment(t *testing.T) {
	t.Parallel()
	w := newWorldWith(t, onThisMachine)
	w.shop()
	w.makeRule("push", "registry", "", object{"tag": "{tag}"})
	header := map[string]string{"Authorization": "Bearer " + ruleSecret}
	push := `{"events":[{"action":"push","target":{"digest":"sha256:%s","repository":%q,"tag":%q}}]}`
	for _, body := range []string{fmt.Sprintf(push, "a1", "shop/api", "1.0"),
		fmt.Sprintf(push, "b1", "shop/web", "1.0"), fmt.Sprintf(push, "a2", "shop/api", "1-0")} {
		if a := w.event("push", body, header); a.field("result") != "taken" {
			t.Fatalf("%s: %d %s", body, a.status, a.body)
		}
	}
	names := map[string]string{}
	for _, r := range w.listReviews("push") {
		names[r.Branch+" "+r.Deployment] = r.Key
	}
	if len(names) != 2 || len(w.listReviews("push")) != 2 || names["1.0 push-1-0"] == "" {
		t.Errorf("reviews %v", names)
	}
}
