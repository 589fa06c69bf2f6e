package review

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nullops/nullops/controlplane"
)

func newHost(w *Reviews, source controlplane.ReviewSource, address string) codeHost {
	return codeHost{reviews: w, base: address, token: controlplane.NewPlain(ruleToken),
		rule: controlplane.ReviewRule{Name: "shop", Source: source}}
}

func newReviews() *Reviews {
	return New(Config{Off: controlplane.OffLimits{Loopback: true}, URL: "http://nullops.test",
		Ask: time.Minute})
}

func sampleReview() controlplane.Review {
	return controlplane.Review{Key: "acme/shop#12", Repository: "acme/shop", Number: 12,
		Deployment: "shop-12", Tag: "pr-12", Commit: "abc1234", State: controlplane.ReviewReady}
}

// One comment is made, and edited from then on; the commit's status says the same.
func TestPost_SpeaksEachHostsLanguage(t *testing.T) {
	t.Parallel()
	r := newReviews()
	for _, c := range []struct {
		source                     controlplane.ReviewSource
		key, made, edited, success string
		failure                    string
	}{
		{controlplane.ReviewGitHub, "Bearer " + ruleToken,
			`POST /repos/acme/shop/issues/12/comments {"body":"text"}`,
			`PATCH /repos/acme/shop/issues/comments/4711 {"body":"text"}`,
			`POST /repos/acme/shop/statuses/abc1234 {"context":"nullops/shop",` +
				`"description":"shop-12: ready ","state":"success","target_url":"http://a"}`,
			`"state":"failure"`},
		{controlplane.ReviewGitea, "token " + ruleToken,
			`POST /repos/acme/shop/issues/12/comments {"body":"text"}`,
			`PATCH /repos/acme/shop/issues/comments/4711 {"body":"text"}`,
			`POST /repos/acme/shop/statuses/abc1234 {"context":"nullops/shop",` +
				`"description":"shop-12: ready ","state":"success","target_url":"http://a"}`,
			`"state":"failure"`},
		{controlplane.ReviewGitLab, ruleToken,
			`POST /projects/acme%2Fshop/merge_requests/12/notes {"body":"text"}`,
			`PUT /projects/acme%2Fshop/merge_requests/12/notes/4711 {"body":"text"}`,
			`POST /projects/acme%2Fshop/statuses/abc1234 {"description":"shop-12: ready ",` +
				`"name":"nullops/shop","state":"success","target_url":"http://a"}`, `"state":"failed"`},
		{controlplane.ReviewBitbucket, "Bearer " + ruleToken,
			`POST /repositories/acme/shop/pullrequests/12/comments {"content":{"raw":"text"}}`,
			`PUT /repositories/acme/shop/pullrequests/12/comments/4711 {"content":{"raw":"text"}}`,
			`POST /repositories/acme/shop/commit/abc1234/statuses/build ` +
				`{"description":"shop-12: ready ","key":"nullops/shop","name":"nullops/shop",` +
				`"state":"SUCCESSFUL","url":"http://a"}`, `"state":"FAILED","url":"http://nullops.test"`},
	} {
		server := newFakeHost(t, http.StatusCreated, `{"id":4711}`)
		h, x := newHost(r, c.source, server.URL), sampleReview()
		for range 2 {
			if err := h.postComment(t.Context(), &x, "text"); err != nil {
				t.Fatal(err)
			}
		}
		if err := h.postStatus(t.Context(), x, []string{"http://a", "http://b"}, nil); err != nil {
			t.Fatal(err)
		}
		if got := server.listRequests(); !slices.Equal(got, []string{c.made, c.edited, c.success}) {
			t.Errorf("%s is asked %q", c.source, got)
		}
		if slices.ContainsFunc(server.keys, func(k string) bool { return k != c.key }) {
			t.Errorf("%s gets the keys %q", c.source, server.keys)
		}
		x.State = controlplane.ReviewFailed
		if err := h.postStatus(t.Context(), x, nil, nil); err != nil ||
			!strings.Contains(server.listRequests()[3], c.failure) {
			t.Errorf("%s: failure is %q %v", c.source, server.listRequests()[3], err)
		}
		x.State = controlplane.ReviewRemoved
		if err := h.postStatus(t.Context(), x, nil, nil); err != nil || len(server.listRequests()) != 4 {
			t.Errorf("%s: a removal sets the status of a commit: %v", c.source, err)
		}
	}
}

// Other hosts get one message that holds everything.
func TestPost_GenericHostGetsOneMessage(t *testing.T) {
	t.Parallel()
	server := newFakeHost(t, http.StatusNoContent, "")
	h, x := newHost(newReviews(), controlplane.ReviewGeneric, server.URL), sampleReview()
	if err := h.postComment(t.Context(), &x, "text"); err != nil || h.postStatus(t.Context(),
		x, nil, nil) != nil {
		t.Fatal(err)
	}
	want := `POST / {"commit":"abc1234","deployment":"shop-12","key":"acme/shop#12","number":12,` +
		`"state":"ready","text":"text"}`
	if got := server.listRequests(); !slices.Equal(got, []string{want}) {
		t.Errorf("it is asked %q", got)
	}
}

// A repository's name comes from outside: it stays one segment of the path.
func TestPost_EscapesTheRepository(t *testing.T) {
	t.Parallel()
	for repository, want := range map[string]string{
		"acme/shop": "/repos/acme/shop/", "acme/../../user": "/repos/acme/..%2F..%2Fuser/",
		"acme/a?b#c": "/repos/acme/a%3Fb%23c/", "": "/repos/old/key/",
	} {
		server := newFakeHost(t, 200, "{}")
		h, x := newHost(newReviews(), controlplane.ReviewGitHub, server.URL), sampleReview()
		x.Repository, x.Key = repository, "old/key#12"
		err := h.postComment(t.Context(), &x, "text")
		if got := server.listRequests(); err != nil || len(got) != 1 || !strings.HasPrefix(got[0],
			"POST "+want) {
			t.Errorf("%q: %q %v", repository, got, err)
		}
	}
}

// The token goes to the code host only, and errors hold neither it nor the address.
func TestCallAPI_FailsWithoutSecrets(t *testing.T) {
	t.Parallel()
	moved := newFakeHost(t, http.StatusFound, "")
	for name, c := range map[string]struct{ address, says string }{
		"moved":      {moved.URL, "answered 302"},
		"forbidden":  {newFakeHost(t, http.StatusForbidden, ruleToken).URL, "answered 403"},
		"closed":     {"http://127.0.0.1:1", "refused"},
		"off limits": {"http://169.254.169.254", "off limits"},
	} {
		h, x := newHost(newReviews(), controlplane.ReviewGitHub, c.address+"/canary-path"), sampleReview()
		err := h.postComment(t.Context(), &x, "text")
		if err == nil || !strings.Contains(err.Error(), c.says) ||
			strings.Contains(err.Error(), ruleToken) || strings.Contains(err.Error(), "canary-path") ||
			x.CommentID != "" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if len(moved.listRequests()) != 1 {
		t.Error("a redirect was followed with the token")
	}
}

func TestCommentText_SaysWhatBecameOfIt(t *testing.T) {
	t.Parallel()
	x := sampleReview()
	links := []string{"http://a", "http://nullops.test/deployments/d"}
	for state, want := range map[controlplane.ReviewState]string{
		controlplane.ReviewReady: "NullOps: `shop-12` is ready with the tag `pr-12`.\n- http://a\n" +
			"- http://nullops.test/deployments/d\n",
		controlplane.ReviewFailed: "NullOps: `shop-12` failed: no room\n- http://a\n" +
			"- http://nullops.test/deployments/d\n",
		controlplane.ReviewRemoved: "NullOps: `shop-12` was removed.\n",
	} {
		x.State, x.Detail = state, "no room"
		if got := commentText(x, links, nil); got != want {
			t.Errorf("%s: %q", state, got)
		}
	}
}

func TestPresent_AsksWhetherItIsClosed(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 10, 0, 1, 0, time.UTC)
	for _, c := range []struct {
		source        controlplane.ReviewSource
		answer, asked string
		closed        bool
		head          string
	}{
		{controlplane.ReviewGitHub, `{"state":"closed"`, "GET /repos/acme/shop/pulls/12", true, ""},
		{controlplane.ReviewGitHub, `{"state":"open","head":{"ref":"x/y","sha":"a2"}`,
			"GET /repos/acme/shop/pulls/12", false, "x/y a2"},
		{controlplane.ReviewGitea, `{"state":"open","head":{"ref":"x/y","sha":"a2"}`,
			"GET /repos/acme/shop/pulls/12", false, "x/y a2"},
		{controlplane.ReviewGitLab, `{"state":"merged"`,
			"GET /projects/acme%2Fshop/merge_requests/12", true, ""},
		{controlplane.ReviewGitLab, `{"state":"opened","sha":"a2","source_branch":"x/y"`,
			"GET /projects/acme%2Fshop/merge_requests/12", false, "x/y a2"},
		{controlplane.ReviewGeneric, `{"state":"closed"`, "", false, ""},
	} {
		server := newFakeHost(t, 200, c.answer+`,"updated_at":"2026-01-02T10:00:01Z"}`)
		now, err := newHost(newReviews(), c.source, server.URL).pullRequestState(t.Context(),
			sampleReview())
		if err != nil || now.closed != c.closed ||
			strings.TrimSpace(now.branch+" "+now.commit) != c.head || c.asked != "" && !now.at.Equal(at) ||
			strings.Join(server.listRequests(), " ") != c.asked {
			t.Errorf("%s: %+v, %v: asked %q", c.source, now, err, server.listRequests())
		}
	}
	server := newFakeHost(t, 404, `{"state":"closed"}`)
	if now, err := newHost(newReviews(), controlplane.ReviewGitHub,
		server.URL).pullRequestState(t.Context(),
		sampleReview()); now.closed || err == nil {
		t.Errorf("a host that does not know it closes it: %v", err)
	}
}

// With a token GitHub and GitLab have an address of their own; without one, for a tag, or
// without an address, nobody is told.
func TestApiOf_KnowsThePublicHosts(t *testing.T) {
	t.Parallel()
	for source, want := range map[controlplane.ReviewSource]string{
		controlplane.ReviewGitHub: "https://api.github.com",
		controlplane.ReviewGitLab: "https://gitlab.com/api/v4", controlplane.ReviewGitea: "",
		controlplane.ReviewGeneric: "", controlplane.ReviewRegistry: "",
	} {
		if got := apiOf(controlplane.ReviewRule{Source: source}); got != want {
			t.Errorf("%s: %q, want %q", source, got, want)
		}
		own := controlplane.ReviewRule{Source: source, APIURL: "https://code.example"}
		if got := apiOf(own); got != "https://code.example" {
			t.Errorf("%s: %q", source, got)
		}
	}
}

// What the host shows changes a review if it is not older than the newest event: another commit of
// an open pull request, or that a closed one is open. A locked one is neither open nor closed.
func TestChanges_FollowsWhatIsNotOlder(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 10, 0, 1, 0, time.UTC)
	x := controlplane.Review{Want: controlplane.GoalPresent, Commit: "a1", EventAt: at}
	gone := x
	gone.Want = controlplane.GoalGone
	untimed := gone
	untimed.EventAt = time.Time{}
	open := func(commit string, at time.Time) present {
		return present{open: true, commit: commit, at: at}
	}
	for name, c := range map[string]struct {
		now  present
		x    controlplane.Review
		want bool
	}{
		"another commit in the same second": {open("a2", at), x, true},
		"another commit later":              {open("a2", at.Add(time.Second)), x, true},
		"a copy that is behind":             {open("a2", at.Add(-time.Second)), x, false},
		"without a time":                    {open("a2", time.Time{}), x, false},
		"the same commit":                   {open("a1", at), x, false},
		"no commit":                         {open("", at), x, false},
		"open after its close":              {open("a1", at), gone, true},
		"open before its close":             {open("a1", at.Add(-time.Second)), gone, false},
		"locked":                            {present{commit: "a1", at: at}, gone, false},
		"a close without a time":            {open("a1", at), untimed, false},
	} {
		if got := c.now.changes(c.x); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// A code host that refuses the rule's token is an alert, which says what it answered, until it
// takes what it is told or the rule gets another token.
func TestReport_ARefusalIsAnAlert(t *testing.T) {
	s := newAsideStory(t)
	refuse := func(status int) {
		s.host.fail = func(r *http.Request) int {
			if r.Method == http.MethodGet {
				return 0
			}
			return status
		}
		s.execSQL("UPDATE reviews SET told = generation - 1, give_up_at = now() + interval '1 hour'")
		s.look()
	}
	for status, want := range map[int]string{
		http.StatusUnauthorized:        "github answered 401: it does not accept the token of the rule",
		http.StatusForbidden:           "github answered 403: it does not allow the token of the rule",
		http.StatusNotFound:            "github answered 404: it shows the token of the rule no such",
		http.StatusInternalServerError: "",
	} {
		refuse(0)
		if all := s.alertCauses(); len(all) != 0 {
			t.Fatalf("it takes what it is told, and %+v are the causes", all)
		}
		refuse(status)
		all := s.alertCauses()
		if want == "" {
			if len(all) != 0 {
				t.Errorf("%d: %+v says something about the token", status, all)
			}
			continue
		}
		if len(all) != 1 || all[0].Condition != "rule.refused" || all[0].Label != "hub" ||
			!strings.HasPrefix(all[0].Detail, want) {
			t.Errorf("%d: %+v", status, all)
		}
	}
	refuse(http.StatusUnauthorized)
	s.rule = s.putRule("hub", controlplane.ReviewGitHub, func(p *RulePut) {
		p.Rule.APIURL = s.host.URL
	})
	if all := s.alertCauses(); len(all) != 0 {
		t.Errorf("with another token: %+v", all)
	}
}
