package api_test

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/api"
	"github.com/nullops/nullops/controlplane/lifecycle"
	"github.com/nullops/nullops/controlplane/review"
	"github.com/nullops/nullops/internal/testpart"
)

const (
	ruleSecret = "canary-rule-secret-8d21"
	ruleToken  = "canary-rule-token-77e0"
)

// reviewing is what fulfils rules, running until the test ends.
func (w *world) reviewing(log *slog.Logger) *review.Reviews {
	r := review.New(review.Config{Store: w.store, Catalog: w.catalog, Keys: w.keys,
		Lifecycle: w.lifecycle, Off: w.off, URL: "http://nullops.test", Log: log,
		Ask: 200 * time.Millisecond})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = r.Run(ctx, nil) }()
	w.t.Cleanup(func() { cancel(); <-done })
	return r
}

// makeRule makes a rule, through the door.
func (w *world) makeRule(name, source, apiURL string, more ...object) {
	w.t.Helper()
	body := object{"source": source, "project": "shop", "environment": "qa", "tag": "1.0",
		"secret": ruleSecret, "token": ruleToken, "api_url": apiURL}
	for _, m := range more {
		maps.Copy(body, m)
	}
	a := w.call("PUT", "/api/v1/rules/"+name, w.token("root"), body)
	if a.status != http.StatusOK {
		w.t.Fatalf("make rule: %d %s", a.status, a.body)
	}
}

func signReview(parts ...string) string {
	m := hmac.New(sha256.New, []byte(ruleSecret))
	_, _ = io.WriteString(m, strings.Join(parts, ""))
	return hex.EncodeToString(m.Sum(nil))
}

// codeHost takes comments and statuses as GitHub, Gitea and GitLab do.
type codeHost struct {
	*httptest.Server
	mu    sync.Mutex
	calls []string
	auth  string
	// refuses is the status of all answers; zero if it takes everything.
	refuses int
}

func newCodeHost(t *testing.T) *codeHost {
	t.Helper()
	h := &codeHost{}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		h.mu.Lock()
		defer h.mu.Unlock()
		h.calls = append(h.calls, r.Method+" "+r.URL.EscapedPath()+" "+string(body))
		h.auth = r.Header.Get("Authorization") + r.Header.Get("Private-Token")
		w.WriteHeader(cmp.Or(h.refuses, http.StatusCreated))
		_, _ = io.WriteString(w, `{"id":4711}`)
	}))
	t.Cleanup(h.Close)
	return h
}

// wait returns the first call that begins so and holds the text.
func (h *codeHost) wait(t *testing.T, begin, holds string) string {
	t.Helper()
	for range 600 {
		h.mu.Lock()
		for _, c := range h.calls {
			if strings.HasPrefix(c, begin) && strings.Contains(c, holds) {
				h.mu.Unlock()
				return c
			}
		}
		h.mu.Unlock()
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatalf("no call %q with %q came; there are %q", begin, holds, h.calls)
	return ""
}

// missing are tags that the registry does not have yet.
var missing sync.Map

// pullRequest is GitHub's own form, shortened to what it always holds.
func pullRequest(action, branch, sha, head string) string {
	return fmt.Sprintf(`{"action":%q,"number":12,"pull_request":{"id":279147437,"number":12,
		"state":"open","title":"Cart: new look","html_url":"https://github.com/acme/shop/pull/12",
		"head":{"label":"acme:%s","ref":%q,"sha":%q,"repo":{"id":1,"full_name":%q}},
		"base":{"ref":"main","repo":{"full_name":"acme/shop"}},"merged":false},
		"repository":{"id":1,"name":"shop","full_name":"acme/shop","private":true},
		"sender":{"login":"ada"}}`, action, branch, branch, sha, head)
}

func (w *world) event(rule, body string, header map[string]string) answer {
	w.t.Helper()
	h := http.Header{"Content-Type": {"application/json"}}
	for k, v := range header {
		h.Set(k, v)
	}
	return w.send("POST", "/hooks/"+rule, h, strings.NewReader(body))
}

func (w *world) github(rule, body string) answer {
	w.t.Helper()
	return w.event(rule, body, map[string]string{"X-GitHub-Event": "pull_request",
		"X-GitHub-Delivery":   "72d3162e-cc78-11e3-81ab-4c9367dc0958",
		"X-Hub-Signature-256": "sha256=" + signReview(body)})
}

// awaitDeployment waits for the deployment of a rule, as it is then.
func (w *world) awaitDeployment(name string,
	fits func(controlplane.Deployment) bool) controlplane.Deployment {
	w.t.Helper()
	for range 600 {
		all, err := w.lifecycle.List(w.t.Context(), system, lifecycle.Filter{Name: name,
			Removed: true, Most: 10})
		w.expectSaved(nil, err)
		for _, v := range all {
			if fits(v.Deployment) {
				return v.Deployment
			}
		}
		time.Sleep(100 * time.Millisecond)
	}
	w.t.Fatalf("deployment %s did not come to that", name)
	return controlplane.Deployment{}
}

func isQueued(d controlplane.Deployment) bool { return d.Status == controlplane.Queued }

func isLeaving(d controlplane.Deployment) bool { return d.Goal == controlplane.GoalGone }

// A pull request is opened, gets its deployment and the address; a new commit is prepared beside it
// and takes its place, and a merge removes both.
func TestReview_GitHubStory(t *testing.T) {
	t.Parallel()
	w := newWorldWith(t, onThisMachine)
	w.shop()
	h := newCodeHost(t)
	w.makeRule("shop", "github", h.URL, object{"repository": "acme/shop", "branch": "feature/*",
		"tag": "{short}"})
	opened := pullRequest("opened", "feature/cart", "abc1234def", "acme/shop")
	if a := w.github("shop", opened); a.status != http.StatusAccepted || a.field("result") != "taken" {
		t.Fatalf("opened: %d %s", a.status, a.body)
	}
	d := w.awaitDeployment("shop-12", isQueued)
	// promise: I-17
	if d.Versions[0].Tag != "abc1234" || d.CreatedBy != "system:review" {
		t.Errorf("made %+v", d)
	}
	w.report(d, lifecycle.Report{Status: controlplane.Applying})
	w.report(d, lifecycle.Report{Status: controlplane.Ready})
	// promise: I-17
	h.wait(t, "POST /repos/acme/shop/issues/12/comments", "http://api.shop-12.qa.localhost")
	h.wait(t, "POST /repos/acme/shop/statuses/abc1234def", `"state":"success"`)
	var shown api.Deployment
	w.expect(http.StatusOK, "GET", "/deployments/"+string(d.ID), w.token("root"), nil, &shown)
	if r := shown.PullRequest; r == nil || r.Number != 12 || *r.Repository != "acme/shop" ||
		*r.Title != "Cart: new look" || *r.Link != "https://github.com/acme/shop/pull/12" {
		t.Errorf("what it was made for: %+v", r)
	}
	if h.auth != "Bearer "+ruleToken {
		t.Errorf("signed in with %q", h.auth)
	}
	w.github("shop", pullRequest("synchronize", "feature/cart", "fff4567abc", "acme/shop"))
	again := w.awaitDeployment("next--shop-12", isQueued)
	// promise: I-17
	if again.ID == d.ID || again.Versions[0].Tag != "fff4567" || isLeaving(w.is(d)) {
		t.Errorf("after a new commit: %+v", again)
	}
	w.settle(again)
	h.wait(t, "POST /repos/acme/shop/statuses/fff4567abc", `"state":"success"`)
	if now, was := w.is(again), w.is(d); now.Name != "shop-12" || was.Name != "was--shop-12" ||
		isLeaving(was) {
		t.Errorf("after the switch: %s and %+v", now.Name, was)
	}
	closed := pullRequest("closed", "feature/cart", "fff4567abc", "acme/shop")
	w.github("shop", closed)
	// promise: I-17
	for _, name := range []string{"was--shop-12", "shop-12"} {
		w.report(w.awaitDeployment(name, isLeaving), lifecycle.Report{Status: controlplane.Removed})
	}
	h.wait(t, "PATCH /repos/acme/shop/issues/comments/4711", "was removed")
	for _, secret := range []string{ruleSecret, ruleToken} {
		if containsValue(w.seen.String(), secret) || containsValue(w.log.String(), secret) {
			t.Errorf("%s was shown or logged", secret)
		}
	}
}

// A rule is read as it was put, so that a form that saves it again changes nothing.
func TestReview_RuleIsReadAsItWasPut(t *testing.T) {
	t.Parallel()
	w := newWorldWith(t, onThisMachine)
	w.shop()
	w.makeRule("plain", "github", "")
	w.makeRule("all", "github", "", object{"updates": "replace", "aliases": true,
		"wait_minutes": 7, "branch": "x", "filter": object{"labels": []string{"preview"}}})
	var plain, all api.RuleView
	w.expect(http.StatusOK, "GET", "/rules/plain", w.reader("root"), nil, &plain)
	w.expect(http.StatusOK, "GET", "/rules/all", w.reader("root"), nil, &all)
	if r := plain.Rule; r.Aliases != nil || *r.Updates != api.RuleUpdatesAside {
		t.Errorf("by default: %+v", r)
	}
	if r := all.Rule; r.Aliases == nil || !*r.Aliases || *r.Updates != api.RuleUpdatesReplace ||
		r.WaitMinutes != 7 || *r.Branch != "x" || (*r.Filter.Labels)[0] != "preview" {
		t.Errorf("as put: %+v", r)
	}
}

// What a code host refuses is said by the rule, which somebody may have open, until it is saved
// again. The refusal by itself is no change of the rule.
func TestReview_RuleSaysWhatIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorldWith(t, onThisMachine)
	w.shop()
	h := newCodeHost(t)
	h.refuses = http.StatusUnauthorized
	with := object{"repository": "acme/shop", "tag": "1.0"}
	w.makeRule("shop", "github", h.URL, with)
	opened := w.call("GET", "/api/v1/rules/shop", w.token("root"), nil)
	w.github("shop", pullRequest("opened", "feature/cart", "abc1234def", "acme/shop"))
	h.wait(t, "GET /repos/acme/shop/pulls/12", "")
	read := func() (api.RuleView, api.RuleList) {
		var one api.RuleView
		var all api.RuleList
		w.expect(http.StatusOK, "GET", "/rules/shop", w.reader("root"), nil, &one)
		w.expect(http.StatusOK, "GET", "/rules", w.reader("root"), nil, &all)
		return one, all
	}
	one, all := read()
	for deadline := time.Now().Add(time.Minute); one.Rule.Refusal == nil; one, all = read() {
		if time.Now().After(deadline) {
			t.Fatalf("the rule says nothing: %+v", one.Rule)
		}
		time.Sleep(100 * time.Millisecond)
	}
	// promise: W-02
	if !strings.HasPrefix(*one.Rule.Refusal, "github answered 401: ") ||
		len(all.Items) != 1 || all.Items[0].Refusal == nil {
		t.Errorf("the rule says %q, the list %+v", *one.Rule.Refusal, all.Items)
	}
	a := w.send("PUT", "/api/v1/rules/shop", http.Header{"Content-Type": {"application/json"},
		"Authorization": {"Bearer " + w.token("root")}, "If-Match": {opened.header.Get("ETag")}},
		strings.NewReader(fmt.Sprintf(`{"source":"github","project":"shop","environment":"qa",
			"tag":"1.0","repository":"acme/shop","api_url":%q}`, h.URL)))
	var saved api.RuleSaved
	if a.status != http.StatusOK || json.Unmarshal(a.body, &saved) != nil ||
		*saved.Changed || saved.Rule.Refusal != nil {
		t.Errorf("saved as it was opened: %d %s", a.status, a.body)
	}
}

// What is not signed, was seen, comes from a fork, or is of another branch or
// repository, changes nothing.
func TestReview_Refuses(t *testing.T) {
	t.Parallel()
	w := newWorldWith(t, onThisMachine)
	w.shop()
	w.makeRule("shop", "github", "", object{"repository": "acme/shop", "branch": "feature/*",
		"tag": "9.9"})
	body := pullRequest("opened", "feature/x", "a1", "acme/shop")
	unsigned := map[string]string{"X-GitHub-Event": "pull_request"}
	forged := map[string]string{"X-GitHub-Event": "pull_request",
		"X-Hub-Signature-256": "sha256=" + strings.Repeat("0", 64)}
	for name, got := range map[string]answer{
		"unsigned": w.event("shop", body, unsigned), "forged": w.event("shop", body, forged),
		"changed": w.event("shop", body+" ", map[string]string{"X-GitHub-Event": "pull_request",
			"X-Hub-Signature-256": "sha256=" + signReview(body)}),
		"no rule": w.event("other", body, forged), "no name": w.event("..%2fshop", body, forged),
	} {
		if got.status != http.StatusUnauthorized {
			t.Errorf("%s: %d %s", name, got.status, got.body)
		}
	}
	for want, sent := range map[string]string{
		"a fork":         pullRequest("opened", "feature/x", "a1", "mallory/shop"),
		"another branch": pullRequest("opened", "main", "a1", "acme/shop"),
		"another repository": strings.NewReplacer("acme/", "umbrella/", `"id":1,`, `"id":2,`).
			Replace(body),
		"nothing to remove": pullRequest("closed", "feature/x", "a1", "acme/shop"),
	} {
		if a := w.github("shop", sent); a.field("result") != want {
			t.Errorf("want %q: %d %s", want, a.status, a.body)
		}
	}
	// After the others: from now on there is something to remove.
	if a := w.github("shop", body); a.field("result") != "taken" {
		t.Errorf("a review: %d %s", a.status, a.body)
	}
	if a := w.github("shop", body); a.field("result") != "seen before" {
		t.Errorf("a replay: %s", a.body)
	}
	huge := strings.Repeat(" ", 2<<20)
	if a := w.github("shop", huge); a.status != http.StatusRequestEntityTooLarge {
		t.Errorf("2 MiB: %d", a.status)
	}
	if a := w.send("GET", "/hooks/shop", http.Header{}, nil); a.status != http.StatusMethodNotAllowed {
		t.Errorf("reading: %d", a.status)
	}
}

// Each source signs and spells in its own way.
func TestReview_Sources(t *testing.T) {
	t.Parallel()
	w := newWorldWith(t, onThisMachine)
	w.shop()
	h := newCodeHost(t)
	for _, source := range []string{"gitea", "gitlab", "generic", "registry"} {
		w.makeRule(source, source, h.URL)
	}
	tea := strings.ReplaceAll(pullRequest("synchronized", "fix", "t1", "acme/shop"), "github.com",
		"gitea.example.org")
	w.expectTaken("gitea", w.event("gitea", tea, map[string]string{"X-Gitea-Event": "pull_request",
		"X-Gitea-Signature": signReview(tea)}))
	lab := `{"object_kind":"merge_request","event_type":"merge_request","user":{"username":"ada"},
		"project":{"id":7,"path_with_namespace":"acme/web/shop"},"object_attributes":{"iid":12,
		"action":"open","title":"Cart",
		"url":"https://gitlab.example.org/acme/web/shop/-/merge_requests/12",
		"source_branch":"fix","target_branch":"main","source_project_id":7,"target_project_id":7,
		"last_commit":{"id":"da1560886d4f094c3e6c9ef40349f7d38b5d27d7"}}}`
	w.expectTaken("gitlab", w.event("gitlab", lab, map[string]string{"X-Gitlab-Token": ruleSecret,
		"X-Gitlab-Event": "Merge Request Hook"}))
	generic := `{"action":"opened","repository":"acme/shop","number":12,"branch":"fix","commit":"c1"}`
	now := strconv.FormatInt(time.Now().Unix(), 10)
	w.expectTaken("generic", w.event("generic", generic, map[string]string{"X-Nullops-Timestamp": now,
		"X-Nullops-Signature": "v1=" + signReview(now, ".", generic)}))
	old := strconv.FormatInt(time.Now().Add(-time.Hour).Unix(), 10)
	if a := w.event("generic", generic+" ", map[string]string{"X-Nullops-Timestamp": old,
		"X-Nullops-Signature": "v1=" + signReview(old, ".", generic+" ")}); a.status != 401 {
		t.Errorf("an hour old: %d", a.status)
	}
	push := `{"events":[{"id":"320678d8","action":"push","target":{"mediaType":
		"application/vnd.docker.distribution.manifest.v2+json","digest":"sha256:fea8","repository":
		"shop/api","tag":"1.1"},"actor":{},"source":{"addr":"registry:5000"}}]}`
	w.expectTaken("registry", w.event("registry", push,
		map[string]string{"Authorization": "Bearer " + ruleSecret}))
	signed := strings.Replace(push, `"1.1"`, `"sha256-`+strings.Repeat("0a", 32)+`.sig"`, 1)
	if a := w.event("registry", signed, map[string]string{"Authorization": "Bearer " +
		ruleSecret}); a.field("result") == "taken" {
		t.Errorf("a pushed signature made a deployment: %s", a.body)
	}
	for _, name := range []string{"gitea-12", "gitlab-12", "generic-12", "registry-1-1"} {
		d := w.awaitDeployment(name, isQueued)
		w.report(d, lifecycle.Report{Status: controlplane.Applying})
		w.report(d, lifecycle.Report{Status: controlplane.Ready})
	}
	h.wait(t, "POST /repos/acme/shop/issues/12/comments", "ready")
	h.wait(t, "POST /projects/acme%2Fweb%2Fshop/merge_requests/12/notes", "ready")
	h.wait(t, "POST /projects/acme%2Fweb%2Fshop/statuses/da1560886d", "success")
	h.wait(t, "POST / ", `"state":"ready"`)
}

func (w *world) expectTaken(source string, a answer) {
	w.t.Helper()
	if a.status != http.StatusAccepted || a.field("result") != "taken" {
		w.t.Errorf("%s: %d %s", source, a.status, a.body)
	}
}

// A new commit recreates the deployment, once the registry has its image.
func TestReview_UpdateWaitsAndRecreates(t *testing.T) {
	testpart.Rotate(t)
	t.Parallel()
	w := newWorldWith(t, onThisMachine)
	w.shop()
	w.makeRule("shop", "github", "", object{"tag": "{branch}-{short}", "updates": "replace"})
	missing.Store("fix-bbbbbbb", true)
	t.Cleanup(func() { missing.Delete("fix-bbbbbbb") })
	w.github("shop", pullRequest("opened", "fix", "aaaaaaaaaa", "acme/shop"))
	d := w.awaitDeployment("shop-12", isQueued)
	w.report(d, lifecycle.Report{Status: controlplane.Applying})
	w.report(d, lifecycle.Report{Status: controlplane.Ready})
	w.github("shop", pullRequest("synchronize", "fix", "bbbbbbbbbb", "acme/shop"))
	var view api.RuleView
	for range 600 {
		a := w.call("GET", "/api/v1/rules/shop", w.reader("root"), nil)
		w.expectSaved(nil, json.Unmarshal(a.body, &view))
		if d := view.Reviews[0].Detail; d != nil && strings.Contains(*d, "has the tag") {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	if r := view.Reviews[0]; r.State != "waiting" || r.Tag != "fix-bbbbbbb" || isLeaving(w.is(d)) {
		t.Fatalf("without the image: %+v", r)
	}
	missing.Delete("fix-bbbbbbb")
	gone := w.awaitDeployment("shop-12", isLeaving)
	w.report(gone, lifecycle.Report{Status: controlplane.Removed})
	again := w.awaitDeployment("shop-12", isQueued)
	if again.ID == d.ID || again.Versions[0].Tag != "fix-bbbbbbb" {
		t.Errorf("made anew: %+v", again)
	}
}

// is reads a deployment as it is now.
func (w *world) is(d controlplane.Deployment) controlplane.Deployment {
	w.t.Helper()
	now, err := w.lifecycle.Get(w.t.Context(), system, d.ID)
	w.expectSaved(now, err)
	return now
}

// reader returns one token for many calls.
func (w *world) reader(user string) string {
	w.t.Helper()
	if w.rootToken == "" {
		w.rootToken = w.token(user)
	}
	return w.rootToken
}
