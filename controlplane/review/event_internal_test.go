package review

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/nullops/nullops/controlplane"
)

// The forms below are what the hosts send, shortened to what they always hold.
const (
	hubForm = `{"action":%q,"number":12,"pull_request":{"number":12,"state":%q,
		"title":"Cart: new look","html_url":"https://code.example/acme/shop/pulls/12",
		"updated_at":"2026-01-02T10:00:01Z","head":{"ref":"feature/cart","sha":"abc1234def",
		"repo":%s},"base":{"ref":"main"}},"repository":{"id":7,"full_name":"acme/shop"}}`
	own     = `{"id":7,"full_name":"acme/shop"}`
	fork    = `{"id":8,"full_name":"eve/shop"}`
	labForm = `{"object_kind":"merge_request","project":{"id":7,"path_with_namespace":"acme/web/shop"},
		"object_attributes":{"iid":12,"action":%q,"state":%q,"title":"Cart: new look",
		"url":"https://gitlab.example/acme/web/shop/-/merge_requests/12",
		"updated_at":"2026-01-02 10:00:01 UTC","source_branch":"feature/cart","source_project_id":%d,
		"target_project_id":7,"last_commit":{"id":"abc1234def"}}}`
	genericForm = `{"action":%q,"repository":"acme/shop","number":%d,"branch":"feature/cart",
		"commit":"abc1234def","updated_at":"2026-01-02T10:00:01Z"}`
)

// describeEvent returns the parts of an event that the tests compare.
func describeEvent(e event) string {
	what := map[step]string{updates: "updates", opens: "opens", reopens: "reopens"}[e.step]
	if e.gone {
		what = "gone"
	}
	if e.fork {
		what += " of a fork"
	}
	return what
}

func TestReadEvents_UnderstandsEachHost(t *testing.T) {
	t.Parallel()
	const gh, gt, gl, gen = controlplane.ReviewGitHub, controlplane.ReviewGitea,
		controlplane.ReviewGitLab, controlplane.ReviewGeneric
	hub := func(action, state, head string) string { return fmt.Sprintf(hubForm, action, state, head) }
	lab := func(action, state string, source int) string {
		return fmt.Sprintf(labForm, action, state, source)
	}
	for _, c := range []struct {
		source     controlplane.ReviewSource
		kind, body string
		want       string
	}{
		{gh, "pull_request", hub("opened", "open", own), "opens"},
		{gh, "pull_request", hub("synchronize", "open", own), "updates"},
		{gh, "pull_request", hub("synchronize", "closed", own), "gone"},
		{gh, "pull_request", hub("reopened", "open", own), "reopens"},
		{gh, "pull_request", hub("closed", "closed", own), "gone"},
		{gh, "pull_request", hub("labeled", "open", own), "updates"},
		{gh, "pull_request", hub("assigned", "open", own), ""},
		{gh, "pull_request", hub("opened", "open", fork), "opens of a fork"},
		{gh, "pull_request", hub("opened", "open", "null"), ""},
		{gh, "pull_request", hub("closed", "closed", fork), "gone of a fork"},
		{gh, "pull_request", hub("closed", "closed", "null"), "gone"},
		{gh, "push", hub("opened", "open", own), ""}, {gh, "ping", `{"zen":"x"}`, ""},
		{gt, "pull_request", hub("opened", "open", own), "opens"},
		{gt, "pull_request_sync", hub("synchronized", "open", own), "updates"},
		{gt, "issues", hub("opened", "open", own), ""},
		{gl, "", lab("open", "opened", 7), "opens"}, {gl, "", lab("update", "opened", 7), "updates"},
		{gl, "", lab("update", "merged", 7), "gone"}, {gl, "", lab("reopen", "opened", 7), "reopens"},
		{gl, "", lab("merge", "merged", 7), "gone"}, {gl, "", lab("close", "closed", 7), "gone"},
		{gl, "", lab("approved", "opened", 7), ""}, {gl, "", lab("open", "opened", 8), "opens of a fork"},
		{gl, "", lab("close", "closed", 8), "gone of a fork"},
		{gen, "", fmt.Sprintf(genericForm, "opened", 12), "reopens"},
		{gen, "", fmt.Sprintf(genericForm, "updated", 12), "updates"},
		{gen, "", fmt.Sprintf(genericForm, "closed", 12), "gone"},
	} {
		h := http.Header{}
		h.Set("X-GitHub-Event", c.kind)
		h.Set("X-Gitea-Event", c.kind)
		all, err := readEvents(c.source, h, []byte(c.body))
		if err != nil || len(all) != map[bool]int{true: 0, false: 1}[c.want == ""] {
			t.Errorf("%s %s: %+v %v, want %q", c.source, c.body, all, err, c.want)
			continue
		}
		if c.want == "" {
			continue
		}
		e := all[0]
		repository, id := "acme/shop", "7"
		switch c.source {
		case gl:
			repository = "acme/web/shop"
		case gen:
			id = ""
		}
		if describeEvent(e) != c.want || e.number != 12 || e.branch != "feature/cart" ||
			e.commit != "abc1234def" || e.repository != repository || e.repositoryID != id ||
			!e.at.Equal(time.Date(2026, 1, 2, 10, 0, 1, 0, time.UTC)) {
			t.Errorf("%s %s: %s %+v, want %s", c.source, c.body, describeEvent(e), e, c.want)
		}
	}
}

func TestReadEvents_RefusesWhatIsNoEvent(t *testing.T) {
	t.Parallel()
	h := http.Header{"X-Github-Event": {"pull_request"}, "X-Gitea-Event": {"pull_request"},
		"X-Event-Key": {"pullrequest:created"}}
	for source, bodies := range map[controlplane.ReviewSource][]string{
		controlplane.ReviewGitHub: {"", "[]", `{"number":0}`, `{"number":12}`,
			strings.Replace(fmt.Sprintf(hubForm, "opened", "open", own), `12`, `-1`, 1)},
		controlplane.ReviewGitLab: {"", `{"object_attributes":7}`,
			`{"object_kind":"merge_request","object_attributes":{"action":"open"}}`},
		controlplane.ReviewGeneric: {"", "{}", fmt.Sprintf(genericForm, "exploded", 12),
			fmt.Sprintf(genericForm, "opened", -1), `{"action":"opened","repository":"a"}`},
		controlplane.ReviewRegistry: {"", "[]"}, controlplane.ReviewBitbucket: {"{}"},
		controlplane.ReviewSchedule: {"{}"},
	} {
		for _, body := range bodies {
			if all, err := readEvents(source, h, []byte(body)); err == nil {
				t.Errorf("%s %q: %+v", source, body, all)
			}
		}
	}
}

// A number that the database cannot hold must not become another pull request's.
func TestReadEvents_RefusesNumbersThatAreTooLarge(t *testing.T) {
	t.Parallel()
	h := http.Header{"X-Github-Event": {"pull_request"}}
	large := func(form string) string { return strings.ReplaceAll(form, "12,", "4294967308,") }
	for source, body := range map[controlplane.ReviewSource]string{
		controlplane.ReviewGitHub:  large(fmt.Sprintf(hubForm, "opened", "open", own)),
		controlplane.ReviewGitLab:  large(fmt.Sprintf(labForm, "open", "opened", 7)),
		controlplane.ReviewGeneric: large(fmt.Sprintf(genericForm, "opened", 12)),
	} {
		if all, err := readEvents(source, h, []byte(body)); err == nil {
			t.Errorf("%s: %+v", source, all)
		}
	}
}

const hex64 = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

// One message of a registry tells of several pushes. What is no image is left out.
func TestReadPushes_ReturnsEachPushedImage(t *testing.T) {
	t.Parallel()
	const cncf = `{"events":[
		{"id":"1","action":"pull","target":{"repository":"shop/api","tag":"1.0","digest":"sha256:a"}},
		{"id":"2","action":"push","target":{"repository":"shop/api","tag":"1.1","digest":"sha256:b"}},
		{"id":"3","action":"push","target":{"repository":"shop/api","digest":"sha256:c"}},
		{"id":"4","action":"push","target":{"repository":"shop/web","tag":"1.1","digest":"sha256:d"}},
		{"id":"5","action":"push","target":{"repository":"shop/web","tag":"sha256-` + hex64 + `.sig"}}]}`
	const harbor = `{"type":"PUSH_ARTIFACT","event_data":{"repository":{"repo_full_name":"shop/api"},
		"resources":[{"tag":"1.1","digest":"sha256:b"},{"tag":"","digest":"sha256:c"}]}}`
	for body, want := range map[string]string{
		cncf: "shop/api:1.1@b shop/web:1.1@d", harbor: "shop/api:1.1@b",
		strings.Replace(harbor, "PUSH", "DELETE", 1): "", `{"events":[]}`: "", `{}`: "",
	} {
		all, err := readEvents(controlplane.ReviewRegistry, nil, []byte(body))
		var got []string
		for _, e := range all {
			got = append(got, e.repository+":"+e.tag+"@"+e.commit)
		}
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("%s: %q %v, want %q", body, got, err, want)
		}
	}
}

// A signed sender may be broken: any JSON is an event, nothing, or refused.
func TestReadEvents_SurvivesAnyBody(t *testing.T) {
	t.Parallel()
	h := http.Header{"X-Github-Event": {"pull_request"}, "X-Gitea-Event": {"pull_request"}}
	rapid.Check(t, func(t *rapid.T) {
		source := rapid.SampledFrom([]controlplane.ReviewSource{"github", "gitea", "gitlab", "generic",
			"registry"}).Draw(t, "source")
		text, _ := json.Marshal(rapid.String().Draw(t, "text"))
		form := rapid.SampledFrom([]string{hubForm, labForm, genericForm}).Draw(t, "form")
		old := rapid.SampledFrom([]string{`"feature/cart"`, `"acme/shop"`, "12", `"abc1234def"`, own,
			"%q", "{", `"action":`}).Draw(t, "replaced")
		body := strings.ReplaceAll(form, old, string(text))
		all, err := readEvents(source, h, []byte(body))
		if err != nil && len(all) > 0 {
			t.Fatalf("%+v and %v", all, err)
		}
		for _, e := range all {
			x := e.newReview(controlplane.ReviewRule{Name: "shop", Tag: "{branch}-{commit}-{tag}"})
			if len(x.Key) > 400 || len(x.Tag) > 128 || len(x.Branch) > maxBranch || len(x.Commit) > 64 ||
				strings.ContainsAny(x.Key+x.Title+x.Tag, "\x00\n") {
				t.Fatalf("%+v", x)
			}
		}
	})
}

func TestReadTime_ReadsTheHostsSpellings(t *testing.T) {
	t.Parallel()
	want := time.Date(2026, 1, 2, 10, 0, 1, 0, time.UTC)
	for _, s := range []string{"2026-01-02T10:00:01Z", "2026-01-02T12:00:01+02:00",
		"2026-01-02 10:00:01 UTC", "2026-01-02 12:00:01 +0200"} {
		if got := readTime(s); !got.Equal(want) {
			t.Errorf("%s is %s", s, got)
		}
	}
	// One from the future would make all later events look old.
	for _, s := range []string{"", "yesterday", "1767348001",
		time.Now().Add(time.Hour).Format(time.RFC3339)} {
		if got := readTime(s); !got.IsZero() {
			t.Errorf("%q is %s", s, got)
		}
	}
}

func TestTagOf_FillsTheNames(t *testing.T) {
	t.Parallel()
	e := event{branch: "feature/Ünïcode x", number: 12, commit: "abc1234def", tag: "1.0"}
	for tag, want := range map[string]string{"{branch}-{short}": "feature--n-code-x-abc1234",
		"pr-{number}": "pr-12", "{commit}": "abc1234def", "{tag}": "1.0", "latest": "latest"} {
		if got := e.tagOf(controlplane.ReviewRule{Tag: tag}); got != want {
			t.Errorf("%s is %q, want %q", tag, got, want)
		}
		if err := checkTag(tag); err != nil {
			t.Errorf("%s: %v", tag, err)
		}
	}
	for _, tag := range []string{"", "*", "{title}", "{branch", "a b", "{}", "v[0-9]"} {
		if controlplane.CodeOf(checkTag(tag)) != "tag_invalid" {
			t.Errorf("%q: %v", tag, checkTag(tag))
		}
	}
}
