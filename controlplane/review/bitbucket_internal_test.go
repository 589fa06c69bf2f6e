package review

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nullops/nullops/controlplane"
)

// bitbucketForm is a pull request of Bitbucket Cloud, as its documentation has it, shortened.
const bitbucketForm = `{"id":12,"title":"Cart","state":%q,"draft":false,"type":"pullrequest",
	"author":{"type":"user","nickname":"ada","uuid":"{a}"},
	"source":{"branch":{"name":"feature/cart"},"commit":{"hash":%q},
		"repository":{"full_name":%q,"uuid":"{%s}"}},
	"destination":{"branch":{"name":"main"},"commit":{"hash":"0000000000aa"},
		"repository":{"full_name":"acme/shop","uuid":"{7}"}},
	"updated_on":"2026-01-02T10:00:%02d.123456+00:00",
	"links":{"html":{"href":"https://bitbucket.org/acme/shop/pull-requests/12"}}}`

const bitbucketRest = `,"actor":{"nickname":"ada"},
	"repository":{"full_name":"acme/shop","uuid":"{7}","type":"repository"}}`

func bitbucketPullOf(state, sha string, second int) string {
	return fmt.Sprintf(bitbucketForm, state, sha, "acme/shop", "7", second)
}

func bitbucketEvent(state, sha string, second int) string {
	return `{"pullrequest":` + bitbucketPullOf(state, sha, second) + bitbucketRest
}

func TestBitbucket_ReadsItsEvents(t *testing.T) {
	t.Parallel()
	open := bitbucketEvent("OPEN", "c1c1c1c1c1c1", 1)
	fork := strings.Replace(open, `"repository":{"full_name":"acme/shop","uuid":"{7}"}},
	"destination"`, `"repository":{"full_name":"eve/shop","uuid":"{9}"}},
	"destination"`, 1)
	orphan := strings.Replace(open, `"repository":{"full_name":"acme/shop","uuid":"{7}"}},
	"destination"`, `"repository":null},
	"destination"`, 1)
	for _, c := range []struct{ kind, body, want string }{
		{"pullrequest:created", open, "opens"}, {"pullrequest:updated", open, "updates"},
		{"pullrequest:fulfilled", bitbucketEvent("MERGED", "c1", 1), "gone"},
		{"pullrequest:rejected", bitbucketEvent("DECLINED", "c1", 1), "gone"},
		// An update that was delayed shows what is closed by now.
		{"pullrequest:updated", bitbucketEvent("SUPERSEDED", "c1", 1), "gone"},
		{"pullrequest:created", fork, "fork"}, {"pullrequest:created", orphan, ""},
		{"pullrequest:approved", open, ""}, {"repo:push", open, ""},
	} {
		h := http.Header{}
		h.Set("X-Event-Key", c.kind)
		all, err := readEvents(controlplane.ReviewBitbucket, h, []byte(c.body))
		if err != nil || (len(all) == 0) != (c.want == "") {
			t.Errorf("%s: %+v %v", c.kind, all, err)
			continue
		}
		if len(all) == 0 {
			continue
		}
		e := all[0]
		got := map[step]string{updates: "updates", opens: "opens"}[e.step]
		if e.gone {
			got = "gone"
		} else if e.fork {
			got = "fork"
		}
		if got != c.want || e.number != 12 || e.repository != "acme/shop" || e.repositoryID != "{7}" ||
			e.branch != "feature/cart" || e.traits.author != "ada" || e.traits.target != "main" ||
			e.at.Second() != 1 || !strings.HasSuffix(e.link, "/12") {
			t.Errorf("%s is read as %+v", c.kind, e)
		}
	}
	for _, body := range []string{"", "[]", "{}", `{"pullrequest":{"id":0}` + bitbucketRest,
		`{"pullrequest":{"id":4294967308}` + bitbucketRest} {
		h := http.Header{"X-Event-Key": {"pullrequest:created"}}
		if all, err := readEvents(controlplane.ReviewBitbucket, h, []byte(body)); err == nil {
			t.Errorf("%q: %+v", body, all)
		}
	}
}

// bitbucketServer answers as Bitbucket Cloud's API does.
type bitbucketServer struct {
	*httptest.Server
	mu          sync.Mutex
	shown       string
	permissions string
	told        []string
}

func newBitbucketServer(t *testing.T) *bitbucketServer {
	t.Helper()
	h := &bitbucketServer{permissions: `{"values":[]}`}
	mux := http.NewServeMux()
	const pull = "/repositories/acme/shop/pullrequests/12"
	mux.HandleFunc("GET "+pull, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, h.shown)
	})
	mux.HandleFunc("GET /workspaces/acme/permissions/repositories/shop",
		func(w http.ResponseWriter, r *http.Request) {
			h.told = append(h.told, "asked "+r.URL.Query().Get("q"))
			_, _ = io.WriteString(w, h.permissions)
		})
	take := func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		h.told = append(h.told, r.Method+" "+r.URL.Path+" "+string(body))
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, `{"id":4711,"type":"pullrequest_comment"}`)
	}
	mux.HandleFunc("POST "+pull+"/comments", take)
	mux.HandleFunc("PUT "+pull+"/comments/4711", take)
	mux.HandleFunc("POST /repositories/acme/shop/commit/{commit}/statuses/build", take)
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.mu.Lock()
		defer h.mu.Unlock()
		if r.Header.Get("Authorization") != "Bearer "+ruleToken {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(h.Close)
	return h
}

func (h *bitbucketServer) show(state, sha string, second int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.shown = bitbucketPullOf(state, sha, second)
}

func (h *bitbucketServer) permit(user, permission string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.permissions = fmt.Sprintf(`{"values":[{"type":"repository_permission","permission":%q,
		"user":{"uuid":%q}}]}`, permission, user)
}

func (h *bitbucketServer) takeMessages() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	told := strings.Join(h.told, "\n")
	h.told = nil
	return told
}

// deliverBitbucket delivers a signed event of a kind.
func (s *story) deliverBitbucket(kind, body string) string {
	s.t.Helper()
	s.n++
	h := signHeaders(controlplane.ReviewBitbucket, ruleSecret, body, time.Now())
	h.Set("X-Event-Key", kind)
	h.Set("X-Request-UUID", fmt.Sprintf("delivery-%d", s.n))
	said, err := s.Receive(s.t.Context(), system, s.rule.Name, h, []byte(body))
	s.failOnError(err)
	return said
}

// A pull request on Bitbucket gets its deployment, one comment and a build status; who may not
// write commands nothing, and a declined one loses it.
func TestBitbucket_FromPullRequestToItsEnd(t *testing.T) {
	s := newStory(t)
	server := newBitbucketServer(t)
	s.rule = s.putRule("bucket", controlplane.ReviewBitbucket, func(p *RulePut) {
		token := controlplane.NewPlain(ruleToken)
		p.Token, p.Rule.APIURL = &token, server.URL
		p.Rule.Repository, p.Rule.Updates = "acme/shop", controlplane.UpdateReplace
	})
	server.show("OPEN", "c1c1c1c1c1c1", 1)
	s.deliverBitbucket("pullrequest:created", bitbucketEvent("OPEN", "c1c1c1c1c1c1", 1))
	s.push("a")
	s.look()
	s.report(controlplane.Applying, controlplane.Ready)
	s.expect(s.look(), controlplane.ReviewReady, true, "")
	told := server.takeMessages()
	// promise: W-02
	for _, want := range []string{
		`POST /repositories/acme/shop/pullrequests/12/comments {"content":{"raw":"NullOps: `,
		`POST /repositories/acme/shop/commit/c1c1c1c1c1c1/statuses/build`, `"state":"SUCCESSFUL"`,
		`"url":"http://api.bucket-12.qa.localhost:8000"`} {
		if !strings.Contains(told, want) {
			t.Errorf("it was told %s, without %s", told, want)
		}
	}

	comment := `{"comment":{"id":1,"content":{"raw":"/nullops stop"},
		"user":{"nickname":"bob","uuid":"{b}"}},"pullrequest":` +
		bitbucketPullOf("OPEN", "c1c1c1c1c1c1", 1) + bitbucketRest
	server.permit("{b}", "read")
	s.deliverBitbucket("pullrequest:comment_created", comment)
	s.expect(s.look(), controlplane.ReviewReady, true, "")
	if told = server.takeMessages(); !strings.Contains(told, `asked user.uuid="{b}"`) ||
		!strings.Contains(told, "PUT /repositories/acme/shop/pullrequests/12/comments/4711") {
		t.Errorf("a reader's command: %s", told)
	}
	// Somebody else's right is not theirs.
	server.permit("{c}", "admin")
	s.deliverBitbucket("pullrequest:comment_created", comment)
	s.expect(s.look(), controlplane.ReviewReady, true, "")

	server.show("DECLINED", "c1c1c1c1c1c1", 2)
	s.deliverBitbucket("pullrequest:rejected", bitbucketEvent("DECLINED", "c1c1c1c1c1c1", 2))
	s.expect(s.look(), controlplane.ReviewCreating, false, "is being removed")
	s.report(controlplane.Removing, controlplane.Removed)
	s.expect(s.look(), controlplane.ReviewRemoved, true, "")
}

func TestBitbucket_RefusesWhatItCannotSay(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.putServices()
	for _, change := range []func(*controlplane.ReviewRule){
		func(r *controlplane.ReviewRule) { r.Filter.Labels = []string{"qa"} },
		func(r *controlplane.ReviewRule) { r.Filter.Paths = []string{"web/**"} },
		func(r *controlplane.ReviewRule) { r.Forks, r.Tag = true, "{commit}" },
	} {
		rule := controlplane.ReviewRule{Name: "b", Source: controlplane.ReviewBitbucket,
			Project: "shop", Environment: "qa", Tag: "pr-{number}", Wait: time.Hour, Active: true}
		change(&rule)
		if _, err := w.PutRule(t.Context(), system, RulePut{Rule: rule}); err == nil {
			t.Errorf("taken: %+v", rule)
		}
	}
}
