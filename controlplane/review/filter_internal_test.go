package review

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nullops/nullops/controlplane"
)

func TestReasonOutside_ReadsEachList(t *testing.T) {
	t.Parallel()
	pull := traits{target: "main", author: "Ada", labels: []string{"Preview", "ui"},
		paths: []string{"web/src/cart.ts", "docs/cart.md"}}
	draft := pull
	draft.draft = true
	unknown := traits{target: "main", pathsUnknown: true, authorUnknown: true}
	for _, c := range []struct {
		name   string
		of     traits
		filter controlplane.ReviewFilter
		reason string
	}{
		{"no filter", pull, controlplane.ReviewFilter{}, ""},
		{"the target", pull, controlplane.ReviewFilter{Target: "main"}, ""},
		{"another target", pull, controlplane.ReviewFilter{Target: "release/*"}, "It goes into main"},
		{"no target", traits{}, controlplane.ReviewFilter{Target: "main"}, "an unknown one"},
		{"a label", pull, controlplane.ReviewFilter{Labels: []string{"qa", "preview"}}, ""},
		{"no label of them", pull, controlplane.ReviewFilter{Labels: []string{"qa"}}, "qa"},
		{"no label at all", traits{}, controlplane.ReviewFilter{Labels: []string{"qa"}}, "qa"},
		{"an unwanted label", pull,
			controlplane.ReviewFilter{Labels: []string{"preview", "!UI"}}, "!UI"},
		{"only unwanted labels", pull, controlplane.ReviewFilter{Labels: []string{"!wip"}}, ""},
		{"unwanted labels, none there", traits{},
			controlplane.ReviewFilter{Labels: []string{"!wip"}}, ""},
		{"the author", pull, controlplane.ReviewFilter{Authors: []string{"ada"}}, ""},
		{"another author", pull, controlplane.ReviewFilter{Authors: []string{"bob"}},
			"Its author is Ada"},
		{"an unwanted author", traits{author: "dependabot[bot]"},
			controlplane.ReviewFilter{Authors: []string{"!dependabot[bot]"}}, "dependabot[bot]"},
		{"an author who is not known yet", unknown,
			controlplane.ReviewFilter{Authors: []string{"bob"}}, ""},
		{"a path", pull, controlplane.ReviewFilter{Paths: []string{"api/**", "web/**"}}, ""},
		{"no path of them", pull, controlplane.ReviewFilter{Paths: []string{"api/**", "*.md"}},
			"api/**, *.md"},
		{"all but documents", pull, controlplane.ReviewFilter{Paths: []string{"!docs/**"}}, ""},
		{"nothing but documents", traits{paths: []string{"docs/cart.md"}},
			controlplane.ReviewFilter{Paths: []string{"!docs/**"}}, "!docs/**"},
		{"no file at all", traits{}, controlplane.ReviewFilter{Paths: []string{"!docs/**"}}, "!docs/**"},
		{"files that are not known yet", unknown, controlplane.ReviewFilter{Paths: []string{"a"}}, ""},
		{"a draft", draft, controlplane.ReviewFilter{}, ""},
		{"a draft that is left out", draft, controlplane.ReviewFilter{SkipDrafts: true}, "draft"},
	} {
		got := c.of.reasonOutside(c.filter)
		// promise: W-02
		if (got == "") != (c.reason == "") || !strings.Contains(got, c.reason) {
			t.Errorf("%s: %q, want %q", c.name, got, c.reason)
		}
	}
}

func TestReadEvents_ReadsWhatFiltersLookAt(t *testing.T) {
	t.Parallel()
	h := http.Header{"X-Github-Event": {"pull_request"}, "X-Gitea-Event": {"pull_request"}}
	hub := strings.Replace(fmt.Sprintf(hubForm, "labeled", "open", own), `"state":`,
		`"draft":true,"user":{"login":"ada"},"labels":[{"name":"qa"},{"name":"ui"}],"state":`, 1)
	lab := strings.Replace(fmt.Sprintf(labForm, "update", "opened", 7), `"iid":`,
		`"target_branch":"main","draft":true,"author_id":5,"iid":`, 1)
	lab = strings.Replace(lab, `"object_kind":`,
		`"user":{"id":%d,"username":"ada"},"labels":[{"title":"qa"},{"title":"ui"}],"object_kind":`, 1)
	generic := strings.Replace(fmt.Sprintf(genericForm, "updated", 12), `"action":`,
		`"target":"main","author":"ada","labels":["qa","ui"],"draft":true,"paths":["a"],"action":`, 1)
	for _, c := range []struct {
		source        controlplane.ReviewSource
		body          string
		authorUnknown bool
	}{
		{controlplane.ReviewGitHub, hub, false}, {controlplane.ReviewGitea, hub, false},
		{controlplane.ReviewGitLab, fmt.Sprintf(lab, 5), false},
		{controlplane.ReviewGitLab, fmt.Sprintf(lab, 6), true}, // somebody else's change
		{controlplane.ReviewGeneric, generic, false},
	} {
		all, err := readEvents(c.source, h, []byte(c.body))
		if err != nil || len(all) != 1 {
			t.Fatalf("%s: %v %v", c.source, all, err)
		}
		got := all[0].traits
		if got.target != "main" || got.author != "ada" && !c.authorUnknown || !got.draft ||
			strings.Join(got.labels, " ") != "qa ui" || got.authorUnknown != c.authorUnknown ||
			got.pathsUnknown != (c.source != controlplane.ReviewGeneric) {
			t.Errorf("%s: %+v", c.source, got)
		}
	}
}

// labeled is an event of pull request 12 with these labels, at a second of the host's time.
func labeled(action, state string, second int, labels ...string) string {
	names := make([]string, len(labels))
	for i, l := range labels {
		names[i] = fmt.Sprintf(`{"name":%q}`, l)
	}
	body := strings.Replace(fmt.Sprintf(hubForm, action, state, own), `"state":`,
		`"labels":[`+strings.Join(names, ",")+`],"state":`, 1)
	return strings.Replace(body, "10:00:01", fmt.Sprintf("10:00:%02d", second), 1)
}

// A label creates the deployment of a pull request, and its removal removes it; who looks at the
// rule sees why there is none. Only a close ends it for earlier events.
func TestReceive_FollowsTheFilter(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.putServices()
	rule := w.putRule("hub", controlplane.ReviewGitHub, func(p *RulePut) {
		p.Rule.Filter.Labels = []string{"preview"}
	})
	for _, c := range []struct {
		name, body, said string
		want             controlplane.Goal
		outside          bool
	}{
		{"opened without it", labeled("opened", "open", 1), "Its labels do not match",
			controlplane.GoalGone, true},
		{"pushed without it", labeled("synchronize", "open", 2), "Its labels do not match",
			controlplane.GoalGone, true},
		{"labeled", labeled("labeled", "open", 3, "preview"), taken, controlplane.GoalPresent, false},
		{"another label", labeled("labeled", "open", 4, "preview", "ui"), "the same commit",
			controlplane.GoalPresent, false},
		{"an older event", labeled("unlabeled", "open", 3), "an older event",
			controlplane.GoalPresent, false},
		{"the label is removed", labeled("unlabeled", "open", 5, "ui"), taken,
			controlplane.GoalGone, true},
		{"labeled again", labeled("labeled", "open", 6, "preview"), taken,
			controlplane.GoalPresent, false},
		{"closed", labeled("closed", "closed", 7, "preview"), taken, controlplane.GoalGone, false},
		{"an older event after the close", labeled("labeled", "open", 6, "preview", "late"),
			"an older event", controlplane.GoalGone, false},
	} {
		said := w.deliverEvent(rule, c.body)
		all := w.listReviews(rule)
		if !strings.HasPrefix(said, c.said) || len(all) != 1 || all[0].Want != c.want ||
			(all[0].Outside != "") != c.outside {
			t.Fatalf("%s: %q, %+v", c.name, said, all)
		}
	}
}

// What the sender of generic events leaves out by its labels is not closed.
func TestReceive_FilterOfGenericEvents(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.putServices()
	rule := w.putRule("gen", controlplane.ReviewGeneric, func(p *RulePut) {
		p.Rule.Filter.SkipDrafts = true
	})
	event := func(action string, draft bool, second int) string {
		body := strings.Replace(fmt.Sprintf(genericForm, action, 12), `"action":`,
			fmt.Sprintf(`"draft":%v,"action":`, draft), 1)
		return strings.Replace(body, "10:00:01", fmt.Sprintf("10:00:%02d", second), 1)
	}
	w.deliverEvent(rule, event("opened", true, 1))
	if said := w.deliverEvent(rule, event("updated", false, 2)); said != taken {
		t.Errorf("ready for review: %q", said)
	}
	w.deliverEvent(rule, event("closed", false, 3))
	if said := w.deliverEvent(rule, event("updated", true, 4)); said == taken {
		t.Errorf("a draft that is closed: %q", said)
	}
	if said := w.deliverEvent(rule, event("updated", false, 5)); said != alreadyClosed {
		t.Errorf("an update after the close: %q", said)
	}
}

// What is wrong with a filter is said of its entry, and nothing is stored.
func TestPutRule_RefusesFiltersThatCannotWork(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	token := controlplane.NewPlain(ruleToken)
	for name, c := range map[string]struct {
		source      controlplane.ReviewSource
		filter      controlplane.ReviewFilter
		token       *controlplane.Plain
		field, code string
	}{
		"a broken target": {"github", controlplane.ReviewFilter{Target: "[a"}, nil, "filter.target",
			"pattern_invalid"},
		"a broken path": {"github", controlplane.ReviewFilter{Paths: []string{"a", "[a"}}, &token,
			"filter.paths[1]", "pattern_invalid"},
		"a path from the root": {"github", controlplane.ReviewFilter{Paths: []string{"!/web/**"}}, &token,
			"filter.paths[0]", "pattern_invalid"},
		"an empty entry": {"github", controlplane.ReviewFilter{Labels: []string{"!"}}, nil,
			"filter.labels[0]", "filter_invalid"},
		"too many": {"github", controlplane.ReviewFilter{Authors: make([]string, 51)}, nil,
			"filter.authors", "filter_long"},
		"paths without a token": {"gitea", controlplane.ReviewFilter{Paths: []string{"web/**"}}, nil,
			"token", "token_missing"},
		"authors of GitLab without a token": {"gitlab",
			controlplane.ReviewFilter{Authors: []string{"ada"}}, nil, "token", "token_missing"},
		"a registry": {"registry", controlplane.ReviewFilter{SkipDrafts: true}, nil, "filter",
			"filter_impossible"},
	} {
		rule := controlplane.ReviewRule{Name: "hub", Source: c.source, Project: "shop",
			Environment: "qa", Tag: "{tag}", Active: true, Wait: time.Hour, Filter: c.filter}
		_, err := w.PutRule(t.Context(), system, RulePut{Rule: rule, Token: c.token})
		said, _ := errors.AsType[*controlplane.Error](err)
		if said == nil || said.Code != c.code || said.Field != c.field {
			t.Errorf("%s: %v", name, err)
		}
	}
	if all, _, err := w.ListRules(t.Context(), system, controlplane.Page{Limit: 10}); err != nil ||
		len(all) != 0 {
		t.Errorf("stored: %v %v", all, err)
	}
}

// Which files a pull request changes is asked of the code host. One that changes nothing that the
// rule is for gets no deployment until it does, and no deployment is made while the host is silent.
func TestStory_FilterByChangedFiles(t *testing.T) {
	s := newStory(t)
	s.rule = s.putRule("hub", controlplane.ReviewGitHub, func(p *RulePut) {
		token := controlplane.NewPlain(ruleToken)
		p.Token, p.Rule.APIURL, p.Rule.Filter.Paths = &token, s.host.URL, []string{"web/**"}
	})
	s.push("a")
	s.host.show("open", "a1", 1)
	s.deliverEvent(s.rule, hubEvent("opened", 12, "a1", 1))
	s.expect(s.look(), controlplane.ReviewWaiting, false, "does not say what the rule's filter asks")
	s.host.showFiles("docs/cart.md")
	s.look()
	s.expect(s.look(), controlplane.ReviewRemoved, true,
		"It changes nothing that the rule is for: web/**.")
	if d, found := s.find("hub-12"); found {
		t.Fatalf("a deployment was made: %+v", d)
	}
	s.host.showFiles("docs/cart.md", "web/src/cart.ts")
	s.host.show("open", "a2", 2)
	if said := s.deliverEvent(s.rule, hubEvent("synchronize", 12, "a2", 2)); said != taken {
		t.Fatalf("the push was answered %q", said)
	}
	s.expect(s.look(), controlplane.ReviewCreating, true, "the deployment is being created")
	s.report(controlplane.Applying, controlplane.Ready)
	s.expect(s.look(), controlplane.ReviewReady, true, "")
	s.host.showFiles("docs/cart.md")
	s.host.show("open", "a3", 3)
	s.deliverEvent(s.rule, hubEvent("synchronize", 12, "a3", 3))
	s.look()
	if x := s.look(); x.Want != controlplane.GoalGone || x.Outside == "" {
		t.Errorf("after the last file of web is reverted: %+v", x)
	}
}

// A code host lists changed files in pages of its own size, and not without end. What the list
// lacks is not held against a pull request.
func TestListPaths_ReadsAllPages(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		source  controlplane.ReviewSource
		files   int
		page    int
		linked  bool
		state   string
		listed  int
		outside bool
	}{
		{"GitHub", controlplane.ReviewGitHub, 250, 100, true, "", 250, true},
		{"exactly one page", controlplane.ReviewGitHub, 100, 100, true, "", 100, true},
		{"GitHub ends", controlplane.ReviewGitHub, 3000, 100, true, "", 3000, false},
		{"short pages", controlplane.ReviewGitea, 95, 30, true, "", 95, true},
		{"no links", controlplane.ReviewGitea, 250, 100, false, "", 250, true},
		{"GitLab", controlplane.ReviewGitLab, 40, 100, true, `,"changes_count":"40"`, 40, true},
		{"GitLab cuts", controlplane.ReviewGitLab, 40, 100, true, `,"changes_count":"40+"`, 40, false},
	} {
		host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !strings.HasSuffix(r.URL.Path, "/files") && !strings.HasSuffix(r.URL.Path, "/diffs") {
				_, _ = fmt.Fprintf(w, `{"state":%q,"head":{"sha":"a1"}%s}`,
					map[bool]string{true: "opened", false: "open"}[c.source == "gitlab"], c.state)
				return
			}
			page, _ := strconv.Atoi(r.URL.Query().Get("page"))
			var all []changedFile
			for n := (page - 1) * c.page; n < min(page*c.page, c.files); n++ {
				all = append(all, changedFile{Name: fmt.Sprintf("docs/%d.md", n)})
			}
			if c.linked && page*c.page < c.files {
				w.Header().Set("Link", `<https://example.org/?page=9>; rel="last", `+
					`<https://example.org/?page=2>; rel="next"`)
			}
			_ = json.NewEncoder(w).Encode(all)
		}))
		t.Cleanup(host.Close)
		h := newHost(newReviews(), c.source, host.URL)
		names, complete, err := h.listPaths(t.Context(), sampleReview())
		if err != nil || len(names) != c.listed {
			t.Errorf("%s: %d files, %v", c.name, len(names), err)
		}
		now, err := h.pullRequestState(t.Context(), sampleReview())
		now.traits.paths, now.traits.pathsUnknown = names, !complete || now.filesCut
		outside := now.traits.reasonOutside(controlplane.ReviewFilter{Paths: []string{"web/**"}})
		// promise: W-02
		if err != nil || (outside != "") != c.outside {
			t.Errorf("%s: outside %q, %v", c.name, outside, err)
		}
	}
}
