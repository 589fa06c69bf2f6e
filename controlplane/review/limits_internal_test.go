package review

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/lifecycle"
	"github.com/nullops/nullops/pipeline"
)

// What a host sends is as long as its sender likes; what is stored of it fits its columns.
func TestNewReview_ClipsWhatIsLong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		long := strings.Repeat("l", 1000)
		e := event{repository: long, repositoryID: "7", branch: long, commit: long, title: long,
			link: long, number: 12, at: time.Unix(5, 0)}
		rule := controlplane.ReviewRule{ID: "r", Name: "hub", Tag: "{commit}", Wait: time.Hour}
		x := e.newReview(rule)
		got := []int{len(x.Repository), len(x.Title), len(x.Branch), len(x.Commit), len(x.Link),
			len(x.Tag), len(x.Key)}
		if want := []int{500, 300, 250, 64, 500, 128, 150 + 13 + 3}; !slices.Equal(got, want) {
			t.Errorf("the lengths are %v, want %v", got, want)
		}
		if x.Rule != "r" || x.RepositoryID != "7" || x.Number != 12 || !x.EventAt.Equal(e.at) ||
			x.Want != controlplane.GoalPresent || time.Until(x.GiveUpAt) != time.Hour || x.ID == "" {
			t.Errorf("it is %+v", x)
		}
		if e.gone = true; e.newReview(rule).Want != controlplane.GoalGone {
			t.Error("a close wants a deployment")
		}
		for text, want := range map[string]string{"äöü": "äö", "a\x00b\x1fc\x7fd e": "abcd ",
			"a\xffbcdef": "abcde"} {
			if got := clipText(text, 5); got != want {
				t.Errorf("%q is clipped to %q, want %q", text, got, want)
			}
		}
	})
}

// A deployment has the time of its review, and longer once it was created: half a minute in the
// queue, an hour when it has begun.
func TestLatestReady_GivesTimeAfterTheCreation(t *testing.T) {
	t.Parallel()
	at := time.Unix(1_900_000_000, 0)
	for name, c := range map[string]struct {
		status  controlplane.DeploymentStatus
		giveUp  time.Duration
		readyIn time.Duration
	}{
		"queued":              {controlplane.Queued, 0, 30 * time.Second},
		"queued, time left":   {controlplane.Queued, time.Minute, time.Minute},
		"applying":            {controlplane.Applying, 0, time.Hour},
		"applying, time left": {controlplane.Applying, 61 * time.Minute, 61 * time.Minute},
	} {
		d := lifecycle.View{Deployment: controlplane.Deployment{Status: c.status, CreatedAt: at}}
		got := latestReady(controlplane.Review{GiveUpAt: at.Add(c.giveUp)}, d)
		if got.Sub(at) != c.readyIn {
			t.Errorf("%s: %s after its creation, want %s", name, got.Sub(at), c.readyIn)
		}
	}
}

// The pull request is told what its deployment is, and what that waits for.
func TestMirrorStatus_SaysWhatIsGoingOn(t *testing.T) {
	t.Parallel()
	r := newReviews()
	queue := &controlplane.QueueEntry{Reason: "no node has room"}
	now := time.Now()
	for name, c := range map[string]struct {
		d      controlplane.Deployment
		queue  *controlplane.QueueEntry
		state  controlplane.ReviewState
		detail string
	}{
		"ready": {controlplane.Deployment{Status: controlplane.Ready}, nil, controlplane.ReviewReady,
			""},
		"degraded": {controlplane.Deployment{Status: controlplane.Ready, Degraded: "api is down"}, nil,
			controlplane.ReviewFailed, "the deployment is degraded: api is down"},
		"failed": {controlplane.Deployment{Status: controlplane.Failed}, nil,
			controlplane.ReviewFailed, "the deployment failed"},
		"stuck, with a cause": {controlplane.Deployment{Status: controlplane.Stuck,
			Failure: &controlplane.Failure{Message: "it leaks"}}, nil, controlplane.ReviewFailed,
			"It leaks."},
		"applying": {controlplane.Deployment{Status: controlplane.Applying, CreatedAt: now}, nil,
			controlplane.ReviewCreating, "the deployment is being created"},
		"applying, and says more": {controlplane.Deployment{Status: controlplane.Applying,
			CreatedAt: now, Detail: "pulls api"}, nil, controlplane.ReviewCreating,
			"the deployment is being created: pulls api"},
		"queued": {controlplane.Deployment{Status: controlplane.Queued, CreatedAt: now, Detail: "x"},
			queue, controlplane.ReviewCreating, "the deployment is being created: no node has room"},
		"queued without a reason": {controlplane.Deployment{Status: controlplane.Queued,
			CreatedAt: now, Detail: "x"}, &controlplane.QueueEntry{}, controlplane.ReviewCreating,
			"the deployment is being created: x"},
		"late": {controlplane.Deployment{Status: controlplane.Applying,
			CreatedAt: now.Add(-2 * time.Hour)}, nil, controlplane.ReviewFailed,
			"the deployment is not ready in time"},
		"a long cause": {controlplane.Deployment{Status: controlplane.Ready,
			Degraded: strings.Repeat("l", 500)}, nil, controlplane.ReviewFailed,
			"the deployment is degraded: " + strings.Repeat("l", 472)},
	} {
		x := controlplane.Review{GiveUpAt: now.Add(-time.Second), Detail: "older"}
		r.mirrorStatus(&x, lifecycle.View{Deployment: c.d, Queue: c.queue})
		if x.State != c.state || x.Detail != c.detail || (name == "late") != (x.DueAt.After(now)) {
			t.Errorf("%s: %s %q, due %s", name, x.State, x.Detail, x.DueAt)
		}
	}
	long := lifecycle.View{Deployment: controlplane.Deployment{Detail: strings.Repeat("l", 600)}}
	if got := describeDelay("wait", long); got != "wait: "+strings.Repeat("l", 494) {
		t.Errorf("a long delay has %d letters", len(got))
	}
}

// The URLs of the services come first, then those of their further ports, each once.
func TestServiceLinks_AreInOrder(t *testing.T) {
	t.Parallel()
	ports := []pipeline.Port{{Name: "http"}, {Name: "admin"}, {Name: "inside"}}
	got := serviceLinks([]lifecycle.ServiceView{
		{URL: "http://a", Ports: ports, PortURLs: map[string]string{"http": "http://a",
			"admin": "http://admin.a"}},
		{Ports: ports},
		{URL: "http://b"},
	})
	if want := []string{"http://a", "http://b", "http://admin.a"}; !slices.Equal(got, want) {
		t.Errorf("they are %q, want %q", got, want)
	}
}

// A commit's status has the results of the tests where there is no other detail, and is as short
// as hosts want it.
func TestPostStatus_IsShort(t *testing.T) {
	t.Parallel()
	server := newFakeHost(t, http.StatusCreated, "{}")
	h, x := newHost(newReviews(), controlplane.ReviewGitHub, server.URL), sampleReview()
	tests := &controlplane.TestSummary{Tests: 2, Failed: 1, Seconds: 9.96}
	for i, c := range []struct{ detail, says string }{
		{"", "shop-12: ready 1 of 2 failed, in 10 s"},
		{"no newer image came", "shop-12: ready no newer image came"},
		{strings.Repeat("l", 200), "shop-12: ready " + strings.Repeat("l", 115)},
	} {
		x.Detail = c.detail
		if err := h.postStatus(t.Context(), x, nil, tests); err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprintf(`"description":%q,"state":"success","target_url":""}`, c.says)
		if got := server.listRequests()[i]; !strings.HasSuffix(got, want) {
			t.Errorf("it is told %s", got)
		}
	}
	x.Commit = ""
	if h.postStatus(t.Context(), x, nil, nil) != nil || len(server.listRequests()) != 3 {
		t.Error("a review without a commit has a status")
	}
}

// A sentence is shown as it is if Markdown reads nothing in it, and as code otherwise.
func TestQuoteMarkdown_KeepsPlainSentencesOnly(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"azAZ09 .,:;/()'\"-%":   "azAZ09 .,:;/()'\"-%",
		"see http://evil":       "`see http://evil`",
		"see www.evil":          "`see www.evil`",
		"@ada":                  "`@ada`",
		"":                      "",
		"two\n lines ":          "`two lines`",
		"a `b` c":               "``a `b` c``",
		"`":                     "`` ` ``",
		"``a":                   "``` ``a ```",
		"a``":                   "``` a`` ```",
		"{ `a` and ``b`` and c": "```{ `a` and ``b`` and c```",
	} {
		if got := quoteMarkdown(text); got != want {
			t.Errorf("%q is shown as %s, want %s", text, got, want)
		}
	}
	if got := codeSpan(" "); got != "`  `" {
		t.Errorf("nothing is shown as %q", got)
	}
	for took, want := range map[float64]string{9.94: "9.9 s", 9.99: "10 s", 10.4: "10 s",
		75.5: "1 min 16 s"} {
		got := describeTests(controlplane.TestSummary{Tests: 1, Seconds: took})
		if got != "1 passed, in "+want {
			t.Errorf("%g seconds: %s", took, got)
		}
	}
}

// Spellings that become one name get a part of their hash, as much as it takes, and stay names.
func TestChooseName_AddsAHashToWhatIsTaken(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	rule := w.putRule("gen", controlplane.ReviewGeneric)
	long := strings.Repeat("long", 15)
	plain := map[string]string{"feature/a": "gen-feature-a", "feature-a": "gen-feature-a",
		"Feature_A": "gen-feature-a", long: "gen-" + long[:36], long + "/b": "gen-" + long[:36]}
	for _, branch := range []string{"feature/a", "feature-a", "Feature_A", long, long + "/b"} {
		w.deliverEvent(rule, fmt.Sprintf(`{"action":"opened","repository":"acme/shop","branch":%q}`,
			branch))
	}
	taken := map[string]bool{}
	for _, branch := range []string{"feature/a", "feature-a", "Feature_A", long, long + "/b"} {
		want := plain[branch]
		if taken[want] {
			hash := event{repository: "acme/shop", branch: branch}.identityHash(rule.ID)
			want = want[:min(len(want), 33)] + "-" + hash[:6]
		}
		taken[want] = true
		found := slices.ContainsFunc(w.listReviews(rule), func(x controlplane.Review) bool {
			return x.Branch == branch && x.Deployment == want
		})
		if !found {
			t.Errorf("%s has no deployment %s: %+v", branch, want, w.listReviews(rule))
		}
	}
}
