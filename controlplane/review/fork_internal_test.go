package review

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/nullops/nullops/controlplane"
)

// forkEvent is an event of pull request 12, which comes from a fork.
func forkEvent(action, sha string, second int) string {
	return strings.Replace(hubEvent(action, 12, sha, second), `"repo":`+own, `"repo":`+fork, 1)
}

// pushFork pushes a commit to the fork, and its image.
func (s *story) pushFork(action, sha, build string, second int) controlplane.Review {
	s.t.Helper()
	s.host.show("open", sha, second)
	if said := s.deliverEvent(s.rule, forkEvent(action, sha, second)); said != taken {
		s.t.Fatalf("the event is answered with %q", said)
	}
	s.images["shop/api:pr-"+sha[:7]] = "sha256:" + strings.Repeat(build, 64)
	return s.look()
}

func newForkStory(t *testing.T) *story {
	t.Helper()
	s := newStory(t)
	s.rule = s.putRule("hub", controlplane.ReviewGitHub, func(p *RulePut) {
		p.Rule.APIURL, p.Rule.Forks, p.Rule.Tag, p.Rule.Aliases = s.host.URL, true, "pr-{short}", true
	})
	s.host.rights = map[string]string{"ada": "write", "eve": "read"}
	return s
}

// Each commit of a fork waits until somebody who may write to the repository names it. A push
// between their look and their word is not approved, and what was approved stays meanwhile.
func TestForks_WaitForApprovalOfEachCommit(t *testing.T) {
	s := newForkStory(t)
	x := s.pushFork("opened", "aaaaaaa1", "a", 1)
	// promise: W-02
	s.expect(x, controlplane.ReviewWaiting, false, "writes /nullops approve aaaaaaa")
	s.expectTold(firstComment, "/nullops approve aaaaaaa", "")
	s.look()
	if told := s.host.takeMessages(); told != "" {
		t.Errorf("while it waits the host is told %q", told)
	}
	for _, c := range []struct{ user, text, answer string }{
		{"eve", "/nullops approve aaaaaaa1", "Only who may write to the repository may do that."},
		{"ada", "/nullops approve", "by fewer than seven characters. " +
			"Look at the newest one, and write /nullops approve aaaaaaa."},
		{"ada", "/nullops approve bbbbbbb", "The newest commit is another one."},
		{"ada", "/nullops deploy", "This commit of a fork waits until somebody writes /nullops approve"},
	} {
		s.write(c.user, c.text)
		s.expectTold(laterComment, c.answer, "")
		if _, found := s.find("hub-12"); found {
			t.Fatalf("%s by %s deployed it", c.text, c.user)
		}
	}
	s.write("ada", "/nullops approve AAAAAAA")
	s.expectTold(laterComment, "The commit may be deployed.", "")
	s.look()
	s.report(controlplane.Applying, controlplane.Ready)
	s.expect(s.look(), controlplane.ReviewReady, true, "")
	if all := s.auditOf("system:review for ada"); !slices.Contains(all, "approve commit of fork") {
		t.Errorf("the audit names %q", all)
	}
	if text := fmt.Sprint(s.routes("branch--")); strings.Contains(text, "branch--") {
		t.Errorf("a fork's branch has the address %s", text)
	}

	first, _ := s.find("hub-12")
	x = s.pushFork("synchronize", "bbbbbbb2", "b", 2)
	s.expect(x, controlplane.ReviewWaiting, false, "writes /nullops approve bbbbbbb")
	if now, _ := s.find("hub-12"); now.ID != first.ID || now.Status != controlplane.Ready {
		t.Errorf("while another commit waits, what runs is %+v", now)
	}
	s.write("ada", "/nullops approve aaaaaaa")
	if x = s.look(); x.NextID != "" {
		t.Error("the word for an older commit deployed a newer one")
	}
	s.write("ada", "/nullops approve bbbbbbb")
	if x = s.look(); x.NextID == "" {
		t.Errorf("after the approval nothing is prepared: %+v", x)
	}
}

// Without the rule's word forks are ignored; the rule needs a source that knows forks, and a tag
// that names the commit.
func TestForks_TakeARuleThatNamesCommits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	rule := w.putRule("plain", controlplane.ReviewGitHub)
	if said := w.deliverEvent(rule, forkEvent("opened", "a1", 1)); said != "a fork" ||
		len(w.listReviews(rule)) > 0 {
		t.Errorf("a fork is answered with %q", said)
	}
	for _, c := range []struct {
		source controlplane.ReviewSource
		tag    string
		code   string
	}{
		{controlplane.ReviewGitHub, "pr-{number}", "forks_tag"},
		{controlplane.ReviewGeneric, "{commit}", "forks_unknown"},
		{controlplane.ReviewGitLab, "{commit}", ""},
	} {
		_, err := w.PutRule(t.Context(), system, RulePut{Rule: controlplane.ReviewRule{Name: "forks",
			Source: c.source, Project: "shop", Environment: "qa", Tag: c.tag, Forks: true,
			Wait: rule.Wait, Active: true}})
		if controlplane.CodeOf(err) != c.code {
			t.Errorf("%s, %s: %v", c.source, c.tag, err)
		}
	}
}
