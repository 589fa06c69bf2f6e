package review

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres/pgtest"
)

const (
	hubCommentForm = `{"action":%q,"issue":{"number":12,"pull_request":%s},"comment":{"id":5,
		"body":%q,"user":{"login":%q,"id":3}},"repository":{"id":7,"full_name":"acme/shop"}}`
	labCommentForm = `{"object_kind":"note","user":{"id":3,"username":"ada"},
		"project":{"id":7,"path_with_namespace":"acme/web/shop"},
		"object_attributes":{"note":%q,"noteable_type":%q,"action":"create"},
		"merge_request":{"iid":12}}`
)

// Comments of each code host are read, and only a line that begins with our name is a command.
func TestReadCommand_OfEachHost(t *testing.T) {
	t.Parallel()
	hub := func(action, pull, body string) string {
		return fmt.Sprintf(hubCommentForm, action, pull, body, "ada")
	}
	for _, c := range []struct {
		source     controlplane.ReviewSource
		kind, body string
		want       string
	}{
		{"github", "issue_comment", hub("created", `{"url":"x"}`, "/nullops extend"), "extend"},
		{"github", "issue_comment", hub("created", `{}`, "Please:\r\n\r\n  /nullops STOP now"), "stop"},
		{"gitea", "issue_comment", hub("created", `{}`, "/nullops"), "help"},
		{"gitea", "pull_request_comment", hub("created", `{}`, "/nullops retry"), "retry"},
		{"github", "issue_comment", hub("created", `{}`, "write `/nullops stop`, or not"), ""},
		{"github", "issue_comment", hub("created", `{}`, "> /nullops stop"), ""},
		{"github", "issue_comment", hub("created", `{}`, "/nullopsx stop"), ""},
		{"github", "issue_comment", hub("edited", `{}`, "/nullops stop"), ""},
		{"github", "issue_comment", hub("created", "null", "/nullops stop"), ""},
		{"github", "issue_comment", hub("created", `{}`, "/NullOps  stop   anyway"), "stop anyway"},
		{"github", "issue_comment", hub("created", `{}`, "/nullops approve anyway"), "approve"},
		{"github", "issue_comment", hub("created", `{}`, "/nullops extend anyway"), "extend"},
		{"github", "issue_comment", hub("created", `{}`, "So:\n\n```sh\n/nullops stop\n```\nor so"), ""},
		{"github", "issue_comment", hub("created", `{}`, "~~~\n/nullops stop\n~~\n/nullops retry"), ""},
		{"github", "issue_comment", hub("created", `{}`, "So:\n\n    /nullops stop"), ""},
		{"github", "issue_comment", hub("created", `{}`, "\t/nullops stop"), ""},
		{"github", "issue_comment", hub("created", `{}`, "```a```\n/nullops stop"), "stop"},
		{"github", "issue_comment",
			hub("created", `{}`, "````\n```\n/nullops stop\n````\n/nullops retry"), "retry"},
		{"github", "issue_comment", hub("created", `{}`, "/nullops retry\r\nthen\r\n/nullops extend"),
			"retry, extend"},
		{"gitlab", "", fmt.Sprintf(labCommentForm, "/nullops deploy", "MergeRequest"), "deploy"},
		{"gitlab", "", fmt.Sprintf(labCommentForm, "/nullops deploy", "Commit"), ""},
	} {
		h := http.Header{}
		h.Set("X-GitHub-Event", c.kind)
		h.Set("X-Gitea-Event", c.kind)
		events, err := readEvents(c.source, h, []byte(c.body))
		var verbs []string
		if len(events) == 1 && events[0].number == 12 && events[0].repositoryID == "7" {
			for _, said := range events[0].commands {
				if said.author == "ada" {
					verbs = append(verbs, said.verb)
				}
			}
		}
		got := strings.Join(verbs, ", ")
		if err != nil || got != c.want || len(events) == 1 && got == "" {
			t.Errorf("%s: %q, want %q: %v", c.body, got, c.want, err)
		}
	}
}

// write delivers a comment below pull request 12, and has the review looked at.
func (s *story) write(user, text string) controlplane.Review {
	s.t.Helper()
	s.n++
	body := fmt.Sprintf(hubCommentForm, "created", "{}", text, user)
	h := signHeaders(s.rule.Source, ruleSecret, body, time.Now())
	h.Set("X-GitHub-Event", "issue_comment")
	h.Set("X-GitHub-Delivery", fmt.Sprintf("comment-%d", s.n))
	_, err := s.Receive(s.t.Context(), system, s.rule.Name, h, []byte(body))
	s.failOnError(err)
	return s.look()
}

// People copy commits as code, and a comment holds so many commands at most.
func TestReadCommands_ReadsArguments(t *testing.T) {
	t.Parallel()
	all := readCommands(strings.Repeat("/nullops approve `51D0E7B`\n", 30), "ada", "3")
	if len(all) != mostCommands || all[0].argument != "51d0e7b" || all[0].authorID != "3" {
		t.Errorf("%d commands, the first %+v", len(all), all[0])
	}
	if all := readCommands("/nullops stop", "\x01", ""); len(all) > 0 {
		t.Errorf("of nobody: %+v", all)
	}
}

// Who may write to the repository extends, stops, retries and deploys from the pull request; the
// answer is in the one comment, and the audit names the author.
func TestCommands_DoWhatTheirAuthorMay(t *testing.T) {
	s := newAsideStory(t)
	s.host.rights = map[string]string{"ada": "write", "eve": "read"}
	first, _ := s.find("hub-12")
	s.execSQL("UPDATE deployments SET active_at = active_at - interval '1 hour'")
	for _, user := range []string{"eve", "stranger"} {
		s.write(user, "/nullops stop")
		// promise: W-02
		s.expectTold(laterComment, "Only who may write to the repository may do that.", user)
		if now, _ := s.find("hub-12"); now.Goal != controlplane.GoalPresent {
			t.Fatalf("%s stopped it", user)
		}
	}
	s.write("ada", "/nullops extend")
	s.expectTold(laterComment, "`ada` wrote `/nullops extend`: Its lifetime begins again.", "is ready")
	if now, _ := s.find("hub-12"); time.Until(now.ExpiresAt) < 47*time.Hour &&
		!now.ExpiresAt.IsZero() {
		t.Errorf("after extend it expires at %s", now.ExpiresAt)
	}
	s.write("ada", "/nullops dance")
	s.expectTold(laterComment, "There is no such command", "/nullops extend")
	s.write("ada", "/nullops deploy")
	s.expectTold(laterComment, "It runs the newest build already.", "")
	s.write("ada", "/nullops retry")
	s.expectTold(laterComment, "cannot be retried", "")

	s.write("ada", "/nullops stop")
	s.expectTold(laterComment, "It is being removed.", "")
	s.reportOf(first.ID, controlplane.Removing, controlplane.Removed)
	s.look()
	if _, found := s.find("hub-12"); found {
		t.Fatal("it is still there")
	}
	s.host.takeMessages()
	x := s.write("ada", "/nullops deploy")
	s.expect(x, controlplane.ReviewCreating, true, "the deployment is being created")
	s.expectTold(laterComment, "is on its way", "The newest build is being deployed.")
	s.report(controlplane.Applying, controlplane.Undoing, controlplane.Failed)
	s.look()
	s.host.takeMessages()
	x = s.write("ada", "/nullops retry")
	s.expectTold(laterComment, "It is tried again.", "")
	if d, _ := s.find("hub-12"); d.Status != controlplane.Queued || x.DeploymentID != d.ID {
		t.Errorf("after retry it is %s", d.Status)
	}
	if all := s.auditOf("system:review for ada"); !slices.Contains(all, "extend deployment") {
		t.Errorf("the audit names %q", all)
	}
}

func (s *story) auditOf(actor string) (all []string) {
	s.t.Helper()
	list := pgtest.QueryValue[string](s.t, s.url, `SELECT coalesce(string_agg(action, ','), '')
		FROM audit WHERE actor = $1`, actor)
	return strings.Split(list, ",")
}

// A command of somebody else's pull request, a replay and a flood do nothing.
func TestCommands_AreBounded(t *testing.T) {
	s := newAsideStory(t)
	s.host.rights = map[string]string{"ada": "write"}
	body := fmt.Sprintf(hubCommentForm, "created", "{}", "/nullops stop", "ada")
	deliver := func(body, id string) string {
		h := signHeaders(s.rule.Source, ruleSecret, body, time.Now())
		h.Set("X-GitHub-Event", "issue_comment")
		h.Set("X-GitHub-Delivery", id)
		said, err := s.Receive(t.Context(), system, s.rule.Name, h, []byte(body))
		s.failOnError(err)
		return said
	}
	if said := deliver(strings.Replace(body, `"number":12`, `"number":13`, 1), "a"); said == taken {
		t.Errorf("a command of an unknown pull request was %s", said)
	}
	if first, again := deliver(body, "b"), deliver(body, "b"); first != taken ||
		again != "seen before" {
		t.Errorf("delivered twice: %s, then %s", first, again)
	}
	var last string
	for n := range 20 {
		last = deliver(strings.Replace(body, "stop", fmt.Sprint("extend ", n), 1), fmt.Sprint("c", n))
	}
	if last != "too many commands wait" {
		t.Errorf("the twentieth was %s", last)
	}
}

// Each command of a comment is done and answered, in their order. One that has nobody to interrupt
// does what it says.
func TestCommands_SeveralInOneComment(t *testing.T) {
	s := newAsideStory(t)
	s.host.rights = map[string]string{"ada": "write"}
	s.write("ada", "/nullops extend\n/nullops dance\n/nullops approve anyway")
	told := s.host.takeMessages()
	last := 0
	for _, want := range []string{"/nullops extend`: Its lifetime begins again.",
		"/nullops dance`: There is no such command.",
		"/nullops approve`: This pull request is not from"} {
		at := strings.Index(told, want)
		// promise: W-02
		if at < last {
			t.Errorf("the answer %q is at %d of %s", want, at, told)
		}
		last = at
	}
	if d, _ := s.find("hub-12"); d.Status != controlplane.Ready {
		t.Errorf("it is %s", d.Status)
	}
}

// What somebody stops does not come back by itself: neither what is being created, nor what waits
// for its image, nor an update.
func TestCommands_StopWhatIsNotThereYet(t *testing.T) {
	gone := func(s *story, x controlplane.Review) {
		s.t.Helper()
		for range 3 {
			x = s.look()
		}
		// promise: W-02
		s.expect(x, controlplane.ReviewRemoved, true, "")
		for _, name := range []string{"hub-12", "next--hub-12"} {
			if d, found := s.find(name); found {
				s.t.Errorf("%s came back: %s", name, d.Status)
			}
		}
		s.expectTold("/comments", "NullOps: `hub-12` was removed.", "")
		s.expect(s.write("ada", "/nullops deploy"), controlplane.ReviewCreating, true,
			"being created")
	}
	open := func(t *testing.T) *story {
		t.Helper()
		s := newStory(t)
		s.host.rights = map[string]string{"ada": "write"}
		s.host.show("open", "a1", 1)
		s.deliverEvent(s.rule, hubEvent("opened", 12, "a1", 1))
		return s
	}
	t.Run("created", func(t *testing.T) {
		s := open(t)
		s.push("a")
		s.look()
		s.report(controlplane.Applying)
		s.look()
		x := s.write("ada", "/nullops stop")
		s.report(controlplane.Undoing, controlplane.Canceled)
		s.host.takeMessages()
		gone(s, x)
	})
	t.Run("waits for its image", func(t *testing.T) {
		s := open(t)
		s.look()
		x := s.write("ada", "/nullops stop")
		s.push("a")
		gone(s, x)
	})
	t.Run("update", func(t *testing.T) {
		s := newAsideStory(t)
		s.host.rights = map[string]string{"ada": "write"}
		first, _ := s.find("hub-12")
		next := s.update(2)
		x := s.write("ada", "/nullops stop")
		s.reportOf(first.ID, controlplane.Removing, controlplane.Removed)
		s.reportOf(next.ID, controlplane.Undoing, controlplane.Canceled)
		s.host.takeMessages()
		gone(s, x)
	})
	t.Run("a push without its image", func(t *testing.T) {
		s := newAsideStory(t)
		s.host.rights = map[string]string{"ada": "write"}
		first, _ := s.find("hub-12")
		s.host.show("open", "c2", 2)
		s.deliverEvent(s.rule, hubEvent("synchronize", 12, "c2", 2))
		s.expect(s.look(), controlplane.ReviewWaiting, false, "waiting for a newer image")
		x := s.write("ada", "/nullops stop")
		s.reportOf(first.ID, controlplane.Removing, controlplane.Removed)
		s.push("b")
		s.host.takeMessages()
		gone(s, x)
	})
}

// Commands below a closed pull request say that it is closed.
func TestCommands_OfAClosedPullRequest(t *testing.T) {
	s := newAsideStory(t)
	s.host.rights = map[string]string{"ada": "write"}
	s.host.show("closed", "a1", 2)
	s.deliverEvent(s.rule, hubEvent("closed", 12, "a1", 2))
	s.look()
	s.report(controlplane.Removing, controlplane.Removed)
	s.expect(s.look(), controlplane.ReviewRemoved, true, "")
	for _, verb := range []string{"deploy", "extend", "retry", "stop"} {
		s.host.takeMessages()
		s.write("ada", "/nullops "+verb)
		s.expectTold(laterComment, verb+"`: The pull request is closed.", "")
	}
}

// A code host that does not say what the author of a command may do keeps nothing else waiting.
func TestCommands_HoldUpNothing(t *testing.T) {
	s := newAsideStory(t)
	s.host.fail = func(r *http.Request) int {
		if strings.Contains(r.URL.Path, "/collaborators/") {
			return http.StatusUnauthorized
		}
		return 0
	}
	s.write("ada", "/nullops extend")
	s.host.show("closed", "a1", 2)
	s.deliverEvent(s.rule, hubEvent("closed", 12, "a1", 2))
	s.look()
	// promise: W-02
	if d, _ := s.find("hub-12"); d.Goal != controlplane.GoalGone {
		t.Error("a command that nobody can judge keeps the deployment of a closed pull request")
	}
	s.host.mu.Lock()
	s.host.fail, s.host.rights = nil, map[string]string{"ada": "write"}
	s.host.mu.Unlock()
	s.report(controlplane.Removing, controlplane.Removed)
	s.host.takeMessages()
	s.look()
	s.expectTold(laterComment, "`ada` wrote `/nullops extend`", "")
}

// GitHub gets a deployment per commit, with its URL, which ends with what it is of.
func TestRecords_OnGitHub(t *testing.T) {
	s := newAsideStory(t)
	const create = "POST /repos/acme/shop/deployments "
	const status = "POST /repos/acme/shop/deployments/4711/statuses "
	s.host.takeMessages()
	next := s.update(2)
	s.reportOf(next.ID, controlplane.Applying, controlplane.Ready)
	s.look()
	told := s.host.takeMessages()
	// promise: W-02
	for _, want := range []string{status + `{"state":"inactive"}`, create, `"ref":"c2"`,
		`"environment":"qa/hub-12"`, `"transient_environment":true`, `"required_contexts":[]`,
		`"environment_url":"http://api.hub-12.qa.localhost:8000"`, `"state":"success"`,
		`"log_url":"http://nullops.test/deployments/` + string(next.ID)} {
		if !strings.Contains(told, want) {
			t.Errorf("GitHub is not told %s:\n%s", want, told)
		}
	}
	// A failed update leaves the record of what still answers.
	third := s.update(3)
	s.reportOf(third.ID, controlplane.Applying, controlplane.Undoing, controlplane.Failed)
	s.look()
	told = s.host.takeMessages()
	if page := "http://nullops.test/deployments/" + string(third.ID); !strings.Contains(told, page) {
		t.Errorf("the failed one is not linked: %s", told)
	}
	if strings.Contains(told, "/shop/deployments") {
		t.Errorf("after a failed update GitHub is told %s", told)
	}
	s.host.show("closed", "c3", 9)
	s.deliverEvent(s.rule, hubEvent("closed", 12, "c3", 9))
	s.look()
	s.reportOf(third.ID, controlplane.Removing, controlplane.Removed)
	s.look()
	s.report(controlplane.Removing, controlplane.Removed)
	s.look()
	if told = s.host.takeMessages(); !strings.Contains(told, status+`{"state":"inactive"}`) {
		t.Errorf("after the close GitHub is told %s", told)
	}
	if x := s.review(); x.HostRecord != "" {
		t.Errorf("the record of a closed pull request is %q", x.HostRecord)
	}
}

// A token without the right to write deployments keeps nothing else from being told.
func TestRecords_WithoutTheRight(t *testing.T) {
	s := newAsideStory(t)
	s.host.refused = "/deployments"
	next := s.update(2)
	s.reportOf(next.ID, controlplane.Applying, controlplane.Ready)
	x := s.look()
	s.expectTold(laterComment, "is ready", isSuccess)
	if x.Told != x.Generation {
		t.Error("it is told again and again")
	}
}

// GitLab gets an environment with its URL, which is stopped at the end.
func TestRecords_OnGitLab(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	host := newFakeHost(t, http.StatusCreated, `{"environment":{"id":31}}`)
	h := codeHost{reviews: w.Reviews, base: host.URL, rule: controlplane.ReviewRule{
		Source: controlplane.ReviewGitLab, Environment: "qa"}}
	x := controlplane.Review{Key: "acme/web/shop#12", Repository: "acme/web/shop", Number: 12,
		Branch: "feature/cart", Commit: "c1", Deployment: "lab-12", State: controlplane.ReviewReady}
	links := []string{"http://api.lab-12.qa.localhost", "http://nullops.test/deployments/1"}
	w.failOnError(h.postRecord(t.Context(), &x, links))
	w.failOnError(h.postRecord(t.Context(), &x, links))
	x.State = controlplane.ReviewRemoved
	w.failOnError(h.postRecord(t.Context(), &x, nil))
	const project = "/projects/acme%2Fweb%2Fshop"
	want := []string{"POST " + project + `/deployments ` +
		`{"environment":"qa/lab-12","ref":"feature/cart","sha":"c1","status":"success","tag":false}`,
		"PUT " + project + `/environments/31 {"external_url":"http://api.lab-12.qa.localhost"}`,
		"PUT " + project + `/environments/31 {"external_url":"http://api.lab-12.qa.localhost"}`,
		"POST " + project + "/environments/31/stop {}"}
	// promise: W-02
	if got := strings.Join(host.listRequests(), "\n"); got != strings.Join(want, "\n") {
		t.Errorf("GitLab is told\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
	if x.HostRecord != "" {
		t.Errorf("the record is still %q", x.HostRecord)
	}
}
