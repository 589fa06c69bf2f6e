package review

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nullops/nullops/controlplane"
)

func TestRateLimitOf_ReadsWhatHostsSay(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name   string
		status int
		header map[string]string
		body   string
		want   time.Duration
	}{
		{"no right", 403, nil, `{"message":"Resource not accessible"}`, 0},
		{"no right, with room", 403, map[string]string{"X-Ratelimit-Remaining": "12"}, "", 0},
		{"nothing there", 404, map[string]string{"Retry-After": "5"}, "", 0},
		{"a secondary limit", 403, map[string]string{"Retry-After": "90"}, "", 90 * time.Second},
		{"a secondary limit without a time", 403, nil,
			`{"message":"You have exceeded a secondary rate limit."}`, time.Minute},
		{"the limit of the hour", 403, map[string]string{"X-Ratelimit-Remaining": "0",
			"X-Ratelimit-Reset": fmt.Sprint(now.Unix() + 600)}, "", 10 * time.Minute},
		{"GitLab", 429, map[string]string{"Retry-After": "30"}, "Retry later", 30 * time.Second},
		{"a date", 429, map[string]string{"Retry-After": "Fri, 27 Nov 2026 12:02:00 GMT"}, "",
			2 * time.Minute},
		{"nonsense", 429, map[string]string{"Retry-After": "soon"}, "", time.Minute},
		{"the past", 429, map[string]string{"Retry-After": "-5"}, "", time.Second},
		{"for ever", 429, map[string]string{"Retry-After": "99999999999"}, "", time.Hour},
		{"maintenance", 503, map[string]string{"Retry-After": "120"}, "", 2 * time.Minute},
		{"a failure", 503, nil, "", 0},
	} {
		resp := &http.Response{StatusCode: c.status, Header: http.Header{}}
		for name, value := range c.header {
			resp.Header.Set(name, value)
		}
		if got := rateLimitOf(resp, []byte(c.body), now); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// A limit of the code host is no refusal: the author of a command is not told that they may
// nothing, and the host is asked nothing until the time is over that it named.
func TestRateLimit_IsNoRefusal(t *testing.T) {
	s := newAsideStory(t)
	s.host.rights = map[string]string{"ada": "write"}
	s.host.mu.Lock()
	s.host.header = http.Header{"Retry-After": {"3600"}}
	s.host.fail = func(*http.Request) int { return http.StatusForbidden }
	s.host.asked = 0
	s.host.mu.Unlock()
	s.write("ada", "/nullops extend")
	for range 5 {
		s.look()
	}
	s.host.mu.Lock()
	asked := s.host.asked
	s.host.fail = nil
	s.host.mu.Unlock()
	if asked != 1 {
		t.Errorf("a host that wants to be left alone was asked %d times", asked)
	}
	s.limits.mu.Lock()
	clear(s.limits.until)
	s.limits.mu.Unlock()
	s.look()
	// promise: W-02
	s.expectTold(laterComment, "Its lifetime begins again.", "")
}

// The comment that somebody deleted is written anew. While it cannot be, the commit's status is not
// sent again and again: code hosts keep each.
func TestReport_TheCommentWasDeleted(t *testing.T) {
	s := newAsideStory(t)
	s.host.mu.Lock()
	s.host.fail = func(r *http.Request) int {
		if r.Method == http.MethodPatch {
			return http.StatusNotFound
		}
		if strings.HasSuffix(r.URL.Path, "/issues/12/comments") {
			return http.StatusBadGateway
		}
		return 0
	}
	s.host.mu.Unlock()
	next := s.update(2)
	s.reportOf(next.ID, controlplane.Applying, controlplane.Ready)
	for range 5 {
		s.look()
	}
	told := s.host.takeMessages()
	if n := strings.Count(told, "/statuses/c2"); n != 1 {
		t.Errorf("the status of the commit was sent %d times", n)
	}
	if n := strings.Count(told, "POST /repos/acme/shop/deployments "); n != 1 {
		t.Errorf("the deployment was created %d times", n)
	}
	s.host.mu.Lock()
	s.host.fail = func(r *http.Request) int {
		if r.Method == http.MethodPatch {
			return http.StatusNotFound
		}
		return 0
	}
	s.host.mu.Unlock()
	x := s.look()
	// promise: W-02
	s.expectTold(firstComment, "is ready", "")
	if x.Told != x.Generation {
		t.Error("it is told again and again")
	}
}

// What a code host never takes is not sent for an hour: the status or the deployment of a commit
// that was pushed away, or a status that the commit has.
func TestReport_GivesUpWhatIsInvalid(t *testing.T) {
	s := newAsideStory(t)
	s.host.mu.Lock()
	s.host.fail = func(r *http.Request) int {
		if strings.Contains(r.URL.Path, "/statuses/") || strings.HasSuffix(r.URL.Path, "/deployments") {
			return http.StatusUnprocessableEntity
		}
		return 0
	}
	s.host.mu.Unlock()
	next := s.update(2)
	s.reportOf(next.ID, controlplane.Applying, controlplane.Ready)
	x := s.look()
	s.expectTold(laterComment, "is ready", "")
	if x.Told != x.Generation {
		t.Error("it is told again and again")
	}
}

// A record that somebody deleted at GitHub is made again for the same commit.
func TestRecords_DeletedByHand(t *testing.T) {
	s := newAsideStory(t)
	first := s.review().HostRecord
	s.host.mu.Lock()
	deleted := true
	s.host.fail = func(r *http.Request) int {
		if strings.HasSuffix(r.URL.Path, "/deployments/"+first+"/statuses") && deleted {
			deleted = false
			return http.StatusNotFound
		}
		return 0
	}
	s.host.mu.Unlock()
	s.report(controlplane.Ready)
	s.execSQL("UPDATE reviews SET told = generation - 1")
	x := s.look()
	if told := s.host.takeMessages(); x.HostRecord == "" || x.HostCommit != "a1" ||
		!strings.Contains(told, "POST /repos/acme/shop/deployments ") {
		t.Errorf("the record is %q: %s", x.HostRecord, told)
	}
}
