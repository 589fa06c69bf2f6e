package review

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres/pgtest"
)

// hubEvent is an event of GitHub at a second of 2026.
func hubEvent(action string, number int, sha string, second int) string {
	state := map[bool]string{true: "closed", false: "open"}[action == "closed"]
	body := fmt.Sprintf(hubForm, action, state, own)
	at := time.Date(2026, 1, 2, 10, 0, second, 0, time.UTC).Format(time.RFC3339)
	return strings.NewReplacer(`"number":12`, fmt.Sprintf(`"number":%d`, number), "abc1234def", sha,
		"2026-01-02T10:00:01Z", at).Replace(body)
}

// drawLife draws what can happen to a pull request, in its order.
func drawLife(t *rapid.T, number int) (events []string, open bool, commit string) {
	commit, open = "a0", true
	events = []string{hubEvent("opened", number, commit, 1)}
	for i := range rapid.IntRange(0, 4).Draw(t, "more events") {
		action := "reopened"
		if open {
			action = rapid.SampledFrom([]string{"synchronize", "closed"}).Draw(t, "action")
		}
		if action == "synchronize" {
			commit = fmt.Sprintf("a%d", rapid.IntRange(0, 2).Draw(t, "commit"))
		}
		open = action != "closed"
		events = append(events, hubEvent(action, number, commit, i+2))
	}
	return events, open, commit
}

// Hosts deliver in any order, and some things twice. What counts is the order in which
// they happened.
func TestReceive_AnyOrderOfDeliveriesEndsTheSame(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	rule := w.putRule("hub", controlplane.ReviewGitHub)
	number := 0
	rapid.Check(t, func(rt *rapid.T) {
		number++
		events, open, commit := drawLife(rt, number)
		deliveries := append(slices.Clone(events), rapid.SliceOfN(rapid.SampledFrom(events), 0, 1).
			Draw(rt, "twice")...)
		var said []string
		for _, body := range rapid.Permutation(deliveries).Draw(rt, "order") {
			said = append(said, w.deliverEvent(rule, body))
		}
		for _, r := range w.listReviews(rule) {
			wantsOpen := r.Want == controlplane.GoalPresent
			if r.Number == number && (wantsOpen != open || open && r.Commit != commit) {
				rt.Fatalf("open is %v at %s, want %v at %s: %q", wantsOpen, r.Commit, open, commit, said)
			}
		}
	})
}

// The same delivery is taken once: with its id, without one, and after the state changed.
func TestReceive_ReplaysChangeNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, source := range []controlplane.ReviewSource{controlplane.ReviewGitHub,
		controlplane.ReviewGitea, controlplane.ReviewGitLab, controlplane.ReviewGeneric} {
		rule := w.putRule(string(source), source)
		body := fmt.Sprintf(hubForm, "opened", "open", own)
		closed := fmt.Sprintf(hubForm, "closed", "closed", own)
		switch source {
		case controlplane.ReviewGitLab:
			body = fmt.Sprintf(labForm, "open", "opened", 7)
			closed = fmt.Sprintf(labForm, "close", "closed", 7)
		case controlplane.ReviewGeneric:
			body = fmt.Sprintf(genericForm, "opened", 12)
			closed = fmt.Sprintf(genericForm, "closed", 12)
		}
		send := func(body, id string) string {
			t.Helper()
			h := signHeaders(source, ruleSecret, body, time.Now().Truncate(time.Minute))
			for _, name := range []string{"X-GitHub-Delivery", "X-Gitea-Delivery", "X-Gitlab-Event-UUID"} {
				h.Set(name, id)
			}
			said, err := w.Receive(t.Context(), system, rule.Name, h, []byte(body))
			w.failOnError(err)
			return said
		}
		for i, c := range []struct{ body, id, want string }{
			{body, "1", taken}, {body, "1", "seen before"}, {body, "", "seen before"},
			{closed, "2", taken}, {body, "1", "seen before"}, {body, "", "seen before"},
			{closed, "2", "seen before"},
		} {
			if got := send(c.body, c.id); got != c.want {
				t.Errorf("%s, delivery %d: %q, want %q", source, i, got, c.want)
			}
		}
	}
}

// An update that comes late does not bring back what was closed, with and without a number: only
// an opening does.
func TestReceive_LateUpdateOpensNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	rule := w.putRule("generic", controlplane.ReviewGeneric)
	for i, number := range []int{12, 0} {
		branch := fmt.Sprintf("feature/%d", i)
		send := func(action, commit string) string {
			return w.deliverEvent(rule, fmt.Sprintf(`{"action":%q,"repository":"acme/shop","number":%d,`+
				`"branch":%q,"commit":%q}`, action, number, branch, commit))
		}
		for _, c := range []struct{ action, commit, want string }{
			{"closed", "a0", "nothing to remove"}, {"updated", "a1", alreadyClosed},
			{"opened", "a2", taken}, {"updated", "a3", taken}, {"closed", "a3", taken},
			{"updated", "a4", alreadyClosed}, {"reopened", "a5", taken},
		} {
			if got := send(c.action, c.commit); got != c.want {
				t.Errorf("number %d, %s %s: %q, want %q", number, c.action, c.commit, got, c.want)
			}
		}
	}
}

// The close of a fork's pull request is not remembered: nothing of a fork ever gets a deployment.
func TestReceive_RemembersNothingOfForks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	rule := w.putRule("hub", controlplane.ReviewGitHub)
	body := fmt.Sprintf(hubForm, "closed", "closed", fork)
	if got := w.deliverEvent(rule, body); got != "nothing to remove" || len(w.listReviews(rule)) > 0 {
		t.Errorf("%q, stored %+v", got, w.listReviews(rule))
	}
}

// A sender learns nothing of a rule before its signature holds.
func TestServeHTTP_AnswersStrangersAlike(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	rule := w.putRule("hub", controlplane.ReviewGitHub)
	w.putRule("resting", controlplane.ReviewGitHub, func(p *RulePut) { p.Rule.Active = false })
	ask := func(method, path, key, body string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, path, strings.NewReader(body))
		r.Header = signHeaders(rule.Source, key, body, time.Now())
		out := httptest.NewRecorder()
		w.ServeHTTP(out, r)
		return out
	}
	body := hubEvent("opened", 12, "a1", 1)
	want := ask("POST", "/hooks/hub", "another secret of a stranger", body)
	for _, path := range []string{"/hooks/nothing", "/hooks/resting", "/hooks/", "/hooks/../hub",
		"/hooks/HUB"} {
		got := ask("POST", path, ruleSecret, body)
		if got.Code != http.StatusUnauthorized || got.Body.String() != want.Body.String() {
			t.Errorf("%s: %d %s", path, got.Code, got.Body)
		}
	}
	for _, c := range []struct {
		method, body string
		want         int
	}{
		{"GET", body, 405}, {"POST", strings.Repeat(" ", maxEvent+1), 413}, {"POST", "[]", 400},
		{"POST", body, 202},
	} {
		if got := ask(c.method, "/hooks/hub", ruleSecret, c.body); got.Code != c.want ||
			strings.Contains(got.Body.String(), ruleSecret) {
			t.Errorf("%s of %d bytes: %d %s", c.method, len(c.body), got.Code, got.Body)
		}
	}
	if all := w.listReviews(rule); len(all) != 1 || all[0].Deployment != "hub-12" {
		t.Errorf("stored %+v", all)
	}
}

// A rule is for its repository and its branches, however the repository is called today.
func TestReceive_FollowsTheRepositoryNotItsName(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	rule := w.putRule("hub", controlplane.ReviewGitHub, func(p *RulePut) {
		p.Rule.Repository, p.Rule.Branch = "Acme/Shop", "feature/*"
	})
	renamed := func(body string) string { return strings.ReplaceAll(body, "acme/shop", "acme/store") }
	other := func(body string) string { return strings.ReplaceAll(body, `"id":7`, `"id":9`) }
	for i, c := range []struct{ body, want string }{
		{hubEvent("opened", 12, "a1", 1), taken},
		{strings.ReplaceAll(hubEvent("opened", 13, "a1", 1), "acme/shop", "acme/other"),
			"another repository"},
		{strings.ReplaceAll(hubEvent("opened", 14, "a1", 1), "feature/cart", "fix"), "another branch"},
		{renamed(hubEvent("synchronize", 12, "a2", 2)), taken},
		{other(hubEvent("opened", 12, "b1", 3)), taken},
		{renamed(hubEvent("closed", 12, "a2", 4)), taken},
	} {
		if got := w.deliverEvent(rule, c.body); got != c.want {
			t.Errorf("event %d: %q, want %q", i, got, c.want)
		}
	}
	all := w.listReviews(rule)
	names := map[string]controlplane.Goal{}
	for _, r := range all {
		names[r.RepositoryID+" "+r.Commit] = r.Want
	}
	if len(all) != 2 || names["7 a2"] != controlplane.GoalGone || names["9 b1"] !=
		controlplane.GoalPresent || all[0].Deployment == all[1].Deployment ||
		all[0].Key == all[1].Key {
		t.Errorf("stored %+v", all)
	}
}

// Rules share environments, and spellings are shortened: no two reviews have one
// deployment, even if their events come at once.
func TestReceive_NoTwoReviewsHaveOneDeployment(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	rule := w.putRule("gen", controlplane.ReviewGeneric)
	second := w.putRule("gen-1", controlplane.ReviewGeneric)
	var running sync.WaitGroup
	send := func(rule controlplane.ReviewRule, number int, branch string) {
		body := fmt.Sprintf(`{"action":"opened","repository":"acme/shop","number":%d,"branch":%q}`,
			number, branch)
		running.Go(func() {
			said, err := w.Receive(t.Context(), system, rule.Name,
				signHeaders(rule.Source, ruleSecret, body, time.Now()), []byte(body))
			if said != taken || err != nil {
				t.Errorf("%s: %q %v", body, said, err)
			}
		})
	}
	for _, branch := range []string{"feature/a", "feature-a", "Feature_A", "feature.a", "1-2", "2",
		strings.Repeat("long", 20), strings.Repeat("long", 21)} {
		send(rule, 0, branch)
	}
	send(rule, 2, "x")
	send(second, 2, "x")
	running.Wait()
	all := append(w.listReviews(rule), w.listReviews(second)...)
	names := map[string]bool{}
	for _, r := range all {
		names[r.Deployment] = true
		if err := controlplane.ValidName("name", r.Deployment); err != nil {
			t.Error(err)
		}
	}
	if len(all) != 10 || len(names) != 10 {
		t.Errorf("%d reviews have the deployments %v", len(all), names)
	}
}

// Images of one tag that are pushed to several repositories are one review.
func TestReceive_PushesOfATagAreOneReview(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	rule := w.putRule("push", controlplane.ReviewRegistry, func(p *RulePut) { p.Rule.Tag = "{tag}" })
	push := `{"events":[{"id":%q,"action":"push","target":{"repository":%q,
		"tag":%q,"digest":"sha256:%s"}}]}`
	for _, c := range []struct{ id, repository, tag, digest, want string }{
		{"1", "shop/api", "1.0", "a", taken}, {"2", "shop/web", "1.0", "b", taken},
		{"2", "shop/web", "1.0", "b", "seen before"}, {"3", "shop/api", "1-0", "c", taken},
	} {
		got := w.deliverEvent(rule, fmt.Sprintf(push, c.id, c.repository, c.tag, c.digest))
		if got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
	if all := w.listReviews(rule); len(all) != 2 || all[0].Deployment == all[1].Deployment {
		t.Errorf("stored %+v", all)
	}
}

// Two control planes never work on one review, a claim ends, and what is given up rests.
func TestClaimReviews_GivesEachReviewToOne(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	rule := w.putRule("hub", controlplane.ReviewGitHub)
	for number := 1; number <= 20; number++ {
		w.deliverEvent(rule, hubEvent("opened", number, "a1", 1))
	}
	var mu sync.Mutex
	times := map[controlplane.ReviewID]int{}
	var running sync.WaitGroup
	for range 4 {
		running.Go(func() {
			for _, r := range w.claim() {
				mu.Lock()
				times[r.ID]++
				mu.Unlock()
			}
		})
	}
	running.Wait()
	for id, n := range times {
		if n != 1 {
			t.Errorf("%s is claimed %d times", id, n)
		}
	}
	if len(times) != 20 || len(w.claim()) != 0 {
		t.Errorf("%d reviews are claimed", len(times))
	}
	exec := func(sql string) { pgtest.Exec(t, w.url, sql) }
	// The second is a claim from before the clock was set back.
	for _, end := range []string{"-1 second", "3 hours"} {
		exec("UPDATE reviews SET claimed_until = now() + interval '" + end + "'")
		if n := len(w.claim()); n != 20 {
			t.Errorf("after the claims ended (%s), %d are claimed", end, n)
		}
	}
	exec(`UPDATE reviews SET claimed_until = NULL, state = 'failed', told = generation,
		give_up_at = now() - interval '1 second' WHERE number <= 15`)
	if n := len(w.claim()); n != 0 {
		t.Errorf("%d reviews are claimed that are given up", n)
	}
	w.deliverEvent(rule, hubEvent("synchronize", 1, "a2", 2))
	if all := w.claim(); len(all) != 1 || all[0].Number != 1 {
		t.Errorf("after a new commit %+v are claimed", all)
	}
}
