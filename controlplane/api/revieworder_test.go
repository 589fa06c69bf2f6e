package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/nullops/nullops/controlplane/api"
)

// timedPull is a pull request of GitHub with a number and the host's time.
func timedPull(action string, number int, sha, updated string) string {
	body := pullRequest(action, "feature/x", sha, "acme/shop")
	body = strings.ReplaceAll(body, `"number":12`, fmt.Sprintf(`"number":%d`, number))
	if updated == "" {
		return body
	}
	return strings.Replace(body, `"state":"open"`,
		fmt.Sprintf(`"state":"open","updated_at":"2026-01-02T10:00:%sZ"`, updated), 1)
}

// Events arrive in any order. What happened before a close changes nothing
// after it, and only opening it again makes a new deployment.
func TestReview_EventsOutOfOrder(t *testing.T) {
	t.Parallel()
	w := newWorldWith(t, onThisMachine)
	w.shop()
	w.makeRule("hub", "github", "", object{"tag": "9.9-missing"})
	w.makeRule("gen", "generic", "", object{"tag": "9.9-missing"})
	w.makeRule("lab", "gitlab", "", object{"tag": "9.9-missing"})
	missing.Store("9.9-missing", true)
	n := 0
	hub := func(want, body string) {
		t.Helper()
		n++
		if got := w.sendHubEvent("hub", fmt.Sprintf("delivery-%d", n), body); got != want {
			t.Errorf("event %d: %q, want %q: %s", n, got, want, body)
		}
	}
	for _, at := range []func(string) string{
		func(string) string { return "" }, func(s string) string { return s },
	} {
		number := 20 + n
		hub("taken", timedPull("opened", number, "a1", at("01")))
		hub("taken", timedPull("closed", number, "a1", at("03")))
		want := map[bool]string{true: "closed already", false: "an older event"}[at("02") == ""]
		hub(want, timedPull("synchronize", number, "a2", at("02")))
		hub(want, timedPull("opened", number, "a0", at("01")))
		hub("taken", timedPull("reopened", number, "a2", at("04")))
		hub("taken", timedPull("closed", number, "a2", at("05")))
		// The close comes first of all.
		hub("nothing to remove", timedPull("closed", number+1, "b1", at("03")))
		hub(want, timedPull("synchronize", number+1, "b2", at("02")))
		hub("taken", timedPull("reopened", number+1, "b1", at("04")))
	}
	// Only times tell an opening before a close from one after it, and an older
	// commit from a newer one.
	hub("nothing to remove", timedPull("closed", 90, "a1", "03"))
	hub("an older event", timedPull("opened", 90, "a1", "01"))
	hub("taken", timedPull("opened", 91, "a1", "01"))
	hub("taken", timedPull("synchronize", 91, "a3", "03"))
	hub("an older event", timedPull("synchronize", 91, "a2", "02"))
	hub("an older event", timedPull("closed", 91, "a2", "02"))
	for _, r := range w.listReviews("hub") {
		if *r.Number == 91 && *r.Commit != "a3" || *r.Number == 90 && r.State != api.ReviewStateRemoved {
			t.Errorf("review %+v", r)
		}
	}

	generic := `{"action":%q,"repository":"acme/shop","number":7,"branch":"x","commit":%q}`
	lab := `{"object_kind":"merge_request","project":{"path_with_namespace":"acme/shop"},
		"object_attributes":{"iid":7,"action":%q,"source_branch":"x","source_project_id":7,
		"target_project_id":7,"last_commit":{"id":%q},"state":%q}}`
	for i, c := range []struct{ rule, body, want string }{
		{"gen", fmt.Sprintf(generic, "opened", "1"), "taken"},
		{"gen", fmt.Sprintf(generic, "closed", "1"), "taken"},
		{"gen", fmt.Sprintf(generic, "updated", "2"), "closed already"},
		{"gen", fmt.Sprintf(generic, "opened", "3"), "taken"},
		{"lab", fmt.Sprintf(lab, "merge", "1", "merged"), "nothing to remove"},
		{"lab", fmt.Sprintf(lab, "update", "2", "merged"), "nothing to remove"},
		{"lab", fmt.Sprintf(lab, "update", "3", "opened"), "closed already"},
		{"lab", fmt.Sprintf(lab, "reopen", "3", "opened"), "taken"},
	} {
		got := ""
		if c.rule == "gen" {
			got = w.sendGenericEvent("gen", c.body)
		} else {
			got = w.event("lab", c.body, map[string]string{"X-Gitlab-Token": ruleSecret}).field("result")
		}
		if got != c.want {
			t.Errorf("%s %d: %q, want %q", c.rule, i, got, c.want)
		}
	}
}

// The same may happen twice: closed, opened again and closed again, a commit
// and back. A replay under the id of before, or under another one, changes
// nothing.
func TestReview_EqualBodiesAndReplays(t *testing.T) {
	t.Parallel()
	w := newWorldWith(t, onThisMachine)
	w.shop()
	missing.Store("9.9-missing", true)
	w.makeRule("hub", "github", "", object{"tag": "9.9-missing"})
	w.makeRule("tea", "gitea", "", object{"tag": "9.9-missing"})
	w.makeRule("lab", "gitlab", "", object{"tag": "9.9-missing"})
	w.makeRule("push", "registry", "", object{"tag": "{tag}"})
	closes := timedPull("closed", 12, "a1", "")
	again := timedPull("reopened", 12, "a1", "")
	send := func(rule, id, body string) string {
		h := map[string]map[string]string{
			"hub": {"X-GitHub-Event": "pull_request", "X-GitHub-Delivery": id,
				"X-Hub-Signature-256": "sha256=" + signReview(body)},
			"tea": {"X-Gitea-Event": "pull_request", "X-Gitea-Delivery": id,
				"X-Gitea-Signature": signReview(body)},
			"lab": {"X-Gitlab-Token": ruleSecret, "X-Gitlab-Event-UUID": id},
		}
		a := w.event(rule, body, h[rule])
		if a.status != http.StatusAccepted {
			t.Fatalf("%s: %d %s", rule, a.status, a.body)
		}
		return a.field("result")
	}
	lab := func(action string) string {
		return `{"object_kind":"merge_request","project":{"path_with_namespace":"acme/shop"},
			"object_attributes":{"iid":12,"action":"` + action + `","source_branch":"x",
			"source_project_id":7,"target_project_id":7,"last_commit":{"id":"1"}}}`
	}
	for rule, bodies := range map[string][3]string{
		"hub": {timedPull("opened", 12, "a1", ""), closes, again},
		"tea": {timedPull("opened", 12, "a1", ""), closes, again},
		"lab": {lab("open"), lab("close"), lab("reopen")},
	} {
		for i, c := range []struct {
			body int
			want string
		}{{0, "taken"}, {1, "taken"}, {2, "taken"}, {1, "taken"}, {2, "taken"}} {
			if got := send(rule, fmt.Sprintf("id-%d", i), bodies[c.body]); got != c.want {
				t.Errorf("%s event %d: %q, want %q", rule, i, got, c.want)
			}
		}
		// It is open now. The first close again, with its own id and without.
		for _, id := range []string{"id-1", ""} {
			if got := send(rule, id, bodies[1]); got != "seen before" {
				t.Errorf("%s: a replay with id %q: %q", rule, id, got)
			}
		}
	}
	// Under another id the host's time tells a replay.
	for i, c := range []struct{ action, sha, at, want string }{
		{"opened", "a1", "01", "taken"}, {"synchronize", "a2", "02", "taken"},
		{"closed", "a2", "03", "taken"}, {"reopened", "a2", "04", "taken"},
		{"closed", "a2", "03", "an older event"}, {"opened", "a1", "01", "an older event"},
		{"synchronize", "a2", "02", "an older event"}, {"reopened", "a2", "04", "the same commit"},
	} {
		got := send("hub", fmt.Sprintf("timed-%d", i), timedPull(c.action, 13, c.sha, c.at))
		if got != c.want {
			t.Errorf("timed %d: %q, want %q", i, got, c.want)
		}
	}
	w.checkPushes("push")
}

// checkPushes sends messages that tell of several pushes.
func (w *world) checkPushes(rule string) {
	w.t.Helper()
	one := `{"id":"%s","action":"push","target":{"digest":"sha256:%s","repository":"shop/api",
		"tag":"%s"}}`
	envelope := `{"events":[{"action":"pull","target":{"tag":"0.9"}},` +
		fmt.Sprintf(one, "e1", "a1", "1.0") + "," + fmt.Sprintf(one, "e2", "a2", "2.0") + `]}`
	harbor := `{"type":"PUSH_ARTIFACT","event_data":{"repository":{"repo_full_name":"shop/api"},
		"resources":[{"tag":"3.0","digest":"sha256:a3"},{"tag":"4.0","digest":"sha256:a4"}]}}`
	header := map[string]string{"Authorization": "Bearer " + ruleSecret}
	for _, c := range [][2]string{{envelope, "taken"}, {envelope, "seen before"}, {harbor, "taken"},
		{`{"events":[` + fmt.Sprintf(one, "e3", "b1", "1.0") + `]}`, "taken"},
		{`{"events":[` + fmt.Sprintf(one, "e4", "a1", "1.0") + `]}`, "taken"},
	} {
		if got := w.event(rule, c[0], header).field("result"); got != c[1] {
			w.t.Errorf("%s: %q, want %q", c[0], got, c[1])
		}
	}
	tags := map[string]string{}
	for _, r := range w.listReviews(rule) {
		tags[r.Branch] = *r.Commit
	}
	if len(tags) != 4 || tags["1.0"] != "a1" || tags["2.0"] != "a2" {
		w.t.Errorf("pushed tags %v", tags)
	}
}
