package review

import (
	"strings"
	"testing"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/lifecycle"
)

// giveVerdict says a verdict of what a deployment runs.
func (s *story) giveVerdict(id controlplane.DeploymentID, outcome controlplane.VerdictOutcome,
	remarks string) {
	s.t.Helper()
	now, err := s.Lifecycle.ListVerdicts(s.t.Context(), system, id)
	s.failOnError(err)
	_, err = s.Lifecycle.GiveVerdict(s.t.Context(), system, id, lifecycle.VerdictRequest{
		Outcome: outcome, Remarks: remarks, DigestSet: now.DigestSet})
	s.failOnError(err)
}

// takeVerdicts returns what the host was told of verdicts since it was last asked.
func (s *story) takeVerdicts() (all []string) {
	for line := range strings.SplitSeq(s.host.takeMessages(), "\n") {
		if strings.Contains(line, `"context":"nullops/hub/verdict"`) {
			all = append(all, line)
		}
	}
	return all
}

func (s *story) expectVerdict(commit, state, words string) {
	s.t.Helper()
	s.look()
	told := s.takeVerdicts()
	if len(told) != 1 || !strings.Contains(told[0], "/statuses/"+commit+" ") ||
		!strings.Contains(told[0], `"state":"`+state+`"`) || !strings.Contains(told[0], words) {
		s.t.Errorf("the host is told %q; want %s, %s, %s", told, commit, state, words)
	}
}

// What QA says is a status of its own of the commit that was tested. Once other images run, it says
// nothing any more; a commit that nobody judged has no such status.
func TestVerdict_IsAStatusOfItsCommit(t *testing.T) {
	s := newAsideStory(t)
	s.host.takeMessages()
	first, _ := s.find("hub-12")
	x := s.look()
	if told := s.takeVerdicts(); len(told) != 0 {
		t.Errorf("before a verdict the host is told %q", told)
	}
	s.giveVerdict(first.ID, controlplane.VerdictFailed, "the cart is empty")
	// promise: W-06
	s.expectVerdict(x.Commit, "failure", "Failed by system:test: the cart is empty")
	s.giveVerdict(first.ID, controlplane.VerdictPassed, "")
	s.expectVerdict(x.Commit, "success", "Passed by system:test")
	s.look()
	if told := s.takeVerdicts(); len(told) != 0 {
		t.Errorf("without news the host is told %q", told)
	}

	next := s.update(2)
	s.reportOf(next.ID, controlplane.Applying, controlplane.Ready)
	s.look()
	if told := s.takeVerdicts(); len(told) != 0 {
		t.Errorf("of a commit that nobody judged the host is told %q", told)
	}
	s.giveVerdict(next.ID, controlplane.VerdictRemarks, "slow on phones")
	s.expectVerdict("c2", "success", "Passed with remarks by system:test: slow on phones")

	// The same commit with another image.
	s.execSQL(`UPDATE deployments SET versions = replace(versions::text, 'sha256:2', 'sha256:f')::jsonb
		WHERE id = '` + string(next.ID) + `'`)
	s.expectVerdict("c2", "pending", "QA has to look again: the deployment runs other images now")
}

// A deployment that took the place of the one that was judged, for the same commit, was not judged.
func TestVerdict_IsOfOneDeployment(t *testing.T) {
	s := newAsideStory(t)
	first, _ := s.find("hub-12")
	s.look()
	s.giveVerdict(first.ID, controlplane.VerdictPassed, "")
	s.look()
	s.host.takeMessages()
	s.push("e")
	s.look()
	x := s.look()
	next := x.NextID
	if next == "" {
		t.Fatalf("no update is prepared: %+v", x)
	}
	s.reportOf(next, controlplane.Applying, controlplane.Ready)
	s.look()
	s.expectVerdict(x.Commit, "pending", "another deployment has its place")
}
