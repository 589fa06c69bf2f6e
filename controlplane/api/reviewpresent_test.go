package api_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/api"
	"github.com/nullops/nullops/controlplane/lifecycle"
	"github.com/nullops/nullops/internal/testpart"
)

// stateHost is a code host that says one state of all its pull requests; none
// when it is broken.
func stateHost(t *testing.T, path string, state *atomic.Value) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch said, _ := state.Load().(string); {
		case r.Method != http.MethodGet:
			w.WriteHeader(http.StatusCreated)
			_, _ = io.WriteString(w, `{"id":4711}`)
		case r.URL.EscapedPath() != path || said == "":
			w.WriteHeader(http.StatusBadGateway)
		default:
			_, _ = fmt.Fprintf(w, `{"state":%q,"updated_at":"2026-01-02T10:00:09Z"}`, said)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func closedReview(r api.Review) bool { return r.State == api.ReviewStateRemoved }

// A pull request that its code host calls closed by now gets no deployment,
// although its opening only arrives, and loses the one it has. Where the host
// does not answer, the events decide.
func TestReview_AsksForThePresentState(t *testing.T) {
	testpart.Rotate(t)
	t.Parallel()
	w := newWorldWith(t, onThisMachine)
	w.shop()
	var state atomic.Value
	hub := `{"action":%q,"number":12,"pull_request":{"state":"open","head":{"ref":"x","sha":%q,
		"repo":{"full_name":"acme/shop"}}},"repository":{"full_name":"acme/shop"}}`
	lab := `{"object_kind":"merge_request","project":{"path_with_namespace":"acme/shop"},
		"object_attributes":{"iid":12,"action":%q,"source_branch":"x","source_project_id":7,
		"target_project_id":7,"last_commit":{"id":%q},"state":"opened"}}`
	for _, c := range []struct{ source, path, body, opens, closed string }{
		{"github", "/repos/acme/shop/pulls/12", hub, "opened", "closed"},
		{"gitea", "/repos/acme/shop/pulls/12", hub, "opened", "closed"},
		{"gitlab", "/projects/acme%2Fshop/merge_requests/12", lab, "open", "merged"},
	} {
		send := func(action, sha string) string {
			body := fmt.Sprintf(c.body, action, sha)
			a := w.event(c.source, body, map[string]string{"X-GitHub-Event": "pull_request",
				"X-Gitea-Event": "pull_request", "X-Hub-Signature-256": "sha256=" + signReview(body),
				"X-Gitea-Signature": signReview(body), "X-Gitlab-Token": ruleSecret})
			return a.field("result")
		}
		w.makeRule(c.source, c.source, stateHost(t, c.path, &state))
		state.Store(c.closed)
		if said := send(c.opens, "a1"); said != "taken" {
			t.Fatalf("%s: %q", c.source, said)
		}
		w.awaitReview(c.source, closedReview)
		all, err := w.lifecycle.List(t.Context(), system, lifecycle.Filter{Removed: true, Most: 10,
			Name: c.source + "-12"})
		w.expectSaved(nil, err)
		if len(all) != 0 {
			t.Errorf("%s: of a closed one it made %+v", c.source, all)
		}
		said := send("update", "a2")
		if c.source == "gitlab" && said != "closed already" {
			t.Errorf("%s: an update behind the close: %q", c.source, said)
		}
		state.Store("")
		if said := send(strings.Replace(c.opens, "open", "reopen", 1), "a3"); said != "taken" {
			t.Fatalf("%s: opened again: %q", c.source, said)
		}
		made := w.awaitDeployment(c.source+"-12", isQueued)
		state.Store(c.closed)
		send(map[bool]string{true: "update", false: "synchronize"}[c.source == "gitlab"], "a4")
		w.awaitDeployment(c.source+"-12", func(d controlplane.Deployment) bool {
			return d.ID == made.ID && (isLeaving(d) || d.Status.IsGone())
		})
	}
}

// Of two events in one second, the code host says which is the present state: the older of two
// pushes takes nothing back, nor does a close that is delivered after the reopening. A copy at the
// host that is behind counts for nothing.
func TestReview_FollowsTheHostWithinOneSecond(t *testing.T) {
	testpart.Rotate(t)
	t.Parallel()
	w := newWorldWith(t, onThisMachine)
	w.shop()
	missing.Store("9.9-missing", true)
	var said atomic.Value
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		text, _ := said.Load().(string)
		_, _ = io.WriteString(w, text)
	}))
	t.Cleanup(s.Close)
	w.makeRule("hub", "github", s.URL, object{"tag": "9.9-missing"})
	n := 0
	send := func(action, sha, second string) {
		t.Helper()
		n++
		body := timedPull(action, 12, sha, second)
		if got := w.sendHubEvent("hub", fmt.Sprint("delivery-", n), body); got != "taken" {
			t.Fatalf("%s of %s at %s: %q", action, sha, second, got)
		}
	}
	shows := func(sha, second string) {
		said.Store(fmt.Sprintf(`{"state":"open","updated_at":"2026-01-02T10:00:%sZ",
			"head":{"ref":"feature/x","sha":%q}}`, second, sha))
	}
	waitsFor := func(sha string) func(api.Review) bool {
		return func(r api.Review) bool {
			return *r.Commit == sha && r.Detail != nil && strings.Contains(*r.Detail, "has the tag")
		}
	}
	shows("a1", "01")
	send("opened", "a1", "01")
	shows("a3", "03")
	send("synchronize", "a3", "03")
	send("synchronize", "a2", "03")
	w.awaitReview("hub", waitsFor("a3"))
	shows("a3", "05")
	send("reopened", "a4", "05")
	send("closed", "a4", "05")
	w.awaitReview("hub", waitsFor("a3"))
	send("synchronize", "a6", "06")
	w.awaitReview("hub", waitsFor("a6"))
}

// A repository that is renamed keeps its reviews, and a new one with its old name
// gets reviews of its own, by the ids that the host sends.
func TestReview_RepositoryIsRenamed(t *testing.T) {
	t.Parallel()
	w := newWorldWith(t, onThisMachine)
	w.shop()
	missing.Store("9.9-missing", true)
	hub := `{"action":%q,"number":12,"pull_request":{"state":"open","head":{"ref":"x","sha":%q,
		"repo":{"full_name":%[4]q}}},"repository":{"id":%[3]d,"full_name":%[4]q}}`
	lab := `{"object_kind":"merge_request","project":{"id":%[3]d,"path_with_namespace":%[4]q},
		"object_attributes":{"iid":12,"action":%[1]q,"source_branch":"x","source_project_id":7,
		"target_project_id":7,"last_commit":{"id":%[2]q},"state":"opened"}}`
	for _, c := range []struct{ source, body, opens, updates, closes string }{
		{"github", hub, "opened", "synchronize", "closed"},
		{"gitea", hub, "opened", "synchronized", "closed"},
		{"gitlab", lab, "open", "update", "close"},
	} {
		w.makeRule(c.source, c.source, "", object{"tag": "9.9-missing", "repository": "acme/shop"})
		send := func(want, action, sha string, id int, name string) {
			t.Helper()
			body := fmt.Sprintf(c.body, action, sha, id, name)
			a := w.event(c.source, body, map[string]string{"X-GitHub-Event": "pull_request",
				"X-Gitea-Event": "pull_request", "X-Hub-Signature-256": "sha256=" + signReview(body),
				"X-Gitea-Signature": signReview(body), "X-Gitlab-Token": ruleSecret})
			if got := a.field("result"); got != want {
				t.Errorf("%s: %s of %d %s: %q, want %q", c.source, action, id, name, got, want)
			}
		}
		send("taken", c.opens, "a1", 1, "acme/shop")
		send("taken", c.updates, "a2", 1, "acme/store")
		send("another repository", c.opens, "c1", 3, "acme/else")
		send("taken", c.opens, "b1", 2, "acme/shop")
		send("taken", c.closes, "b1", 2, "acme/shop")
		all := w.listReviews(c.source)
		if len(all) != 2 || all[0].Deployment == all[1].Deployment {
			t.Fatalf("%s: reviews are %+v", c.source, all)
		}
		for _, r := range all {
			if gone := *r.Commit == "b1"; !gone && (*r.Commit != "a2" ||
				r.Deployment != c.source+"-12" || r.State == api.ReviewStateRemoved) {
				t.Errorf("%s: the renamed one is %+v", c.source, r)
			}
		}
	}
}
