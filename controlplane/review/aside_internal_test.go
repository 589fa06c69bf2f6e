package review

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/catalog"
	"github.com/nullops/nullops/controlplane/lifecycle"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/pipeline"
)

// newAsideStory is a story whose rule prepares updates beside what runs, which is ready.
func newAsideStory(t *testing.T) *story {
	t.Helper()
	s := newStory(t)
	s.rule = s.putRule("hub", controlplane.ReviewGitHub, func(p *RulePut) {
		p.Rule.APIURL = s.host.URL
	})
	s.readyReview()
	return s
}

// pushCommit pushes a commit and its image.
func (s *story) pushCommit(n int) {
	s.t.Helper()
	sha := fmt.Sprintf("c%d", n)
	s.host.show("open", sha, n)
	s.deliverEvent(s.rule, hubEvent("synchronize", 12, sha, n))
	s.push(fmt.Sprintf("%x", n%16))
}

// update pushes a commit, and returns what is prepared for it.
func (s *story) update(n int) controlplane.Deployment {
	s.t.Helper()
	s.pushCommit(n)
	x := s.look()
	s.expect(x, controlplane.ReviewCreating, true, "prepared beside the deployment that runs")
	d, err := s.Lifecycle.Get(s.t.Context(), system, x.NextID)
	s.failOnError(err)
	return d
}

func (s *story) hosts(id controlplane.DeploymentID) (all []string) {
	s.t.Helper()
	s.failOnError(s.Store.Read(s.t.Context(), func(tx *postgres.Tx) error {
		found, err := tx.Hosts().ListOf(s.t.Context(), id)
		for _, h := range found[id] {
			all = append(all, h.Host)
		}
		return err
	}))
	slices.Sort(all)
	return all
}

func (s *story) goal(id controlplane.DeploymentID) controlplane.NodeGoal {
	s.t.Helper()
	all, _, err := s.Lifecycle.NodeGoals(s.t.Context(), system, s.node)
	s.failOnError(err)
	for _, o := range all {
		if o.Deployment == id {
			return o
		}
	}
	s.t.Fatalf("the node has no goal for %s", id)
	return controlplane.NodeGoal{}
}

// An update is prepared beside what runs, which keeps its name and addresses until the update is
// ready. Then both change places at once, and the services of both are told the same as before.
func TestAside_SwitchesWhenTheUpdateIsReady(t *testing.T) {
	s := newAsideStory(t)
	first, _ := s.find("hub-12")
	hosts := s.hosts(first.ID)
	told := s.goal(first.ID)
	next := s.update(2)
	if next.Name != "next--hub-12" || next.ID == first.ID {
		t.Fatalf("prepared is %+v", next)
	}
	if now, _ := s.find("hub-12"); now.ID != first.ID || now.Status != controlplane.Ready ||
		!slices.Equal(s.hosts(first.ID), hosts) {
		t.Fatalf("meanwhile, what runs is %+v", now)
	}
	if goal := s.goal(next.ID); goal.Name != "hub-12" || goal.URLs["api"] != told.URLs["api"] {
		t.Errorf("services of the update are told %s, %v; want %v", goal.Name, goal.URLs, told.URLs)
	}
	s.expectTold("", "", "")

	s.reportOf(next.ID, controlplane.Applying, controlplane.Ready)
	x := s.look()
	s.expect(x, controlplane.ReviewReady, true, "")
	if x.DeploymentID != next.ID || x.NextID != "" {
		t.Fatalf("after the switch: %+v", x)
	}
	// promise: W-01
	if now, _ := s.find("hub-12"); now.ID != next.ID || !slices.Equal(s.hosts(next.ID), hosts) {
		t.Fatalf("after the switch %s has %v", now.ID, s.hosts(next.ID))
	}
	// Whoever reads the routes of one reads those of the other, too: a host is never of nobody.
	for _, one := range []controlplane.DeploymentID{first.ID, next.ID} {
		of, _, err := s.Lifecycle.RoutesOf(t.Context(), system, []string{string(one)}, nil)
		// promise: W-01
		if err != nil || !slices.Contains(of, first.ID) || !slices.Contains(of, next.ID) {
			t.Errorf("with the routes of %s come those of %v: %v", one, of, err)
		}
	}
	was, _ := s.find("was--hub-12")
	if was.ID != first.ID || was.Status != controlplane.Ready ||
		was.Services[0].URL != "http://api.was--hub-12.qa.localhost:8000" {
		t.Fatalf("what ran before is %+v", was)
	}
	if goal := s.goal(first.ID); goal.Name != "hub-12" || goal.URLs["api"] != told.URLs["api"] {
		t.Errorf("services of what ran before are told %s, %v", goal.Name, goal.URLs)
	}
	if left := time.Until(was.ExpiresAt); left > 30*time.Minute || left < 29*time.Minute {
		t.Errorf("what ran before expires in %s", left)
	}
	if was.PullRequest == nil || was.PullRequest.Number != 12 {
		t.Errorf("what ran before is of pull request %+v", was.PullRequest)
	}
	s.expectTold(laterComment, "http://api.hub-12.qa.localhost:8000", isSuccess)

	// The next one takes the place of the second; the first is there still.
	third := s.update(3)
	s.reportOf(third.ID, controlplane.Applying, controlplane.Ready)
	s.look()
	if again, _ := s.find("was-2--hub-12"); again.ID != next.ID {
		t.Errorf("the second one is %+v", again)
	}
	s.execSQL("UPDATE deployment_lives SET replaced_at = replaced_at - interval '31 minutes' " +
		"WHERE deployment_id = '" + string(first.ID) + "'")
	removed, err := s.Lifecycle.Expire(t.Context(), system)
	if d, _ := s.find("was--hub-12"); err != nil || removed != 1 || d.Goal != controlplane.GoalGone {
		t.Errorf("after 31 minutes %d are removed: %v", removed, err)
	}
}

// An update that fails changes nothing for those who use what runs, and is not tried again by
// itself. Closing the pull request removes all that there is.
func TestAside_AFailedUpdateChangesNothing(t *testing.T) {
	s := newAsideStory(t)
	first, _ := s.find("hub-12")
	hosts := s.hosts(first.ID)
	next := s.update(2)
	s.reportOf(next.ID, controlplane.Applying, controlplane.Undoing, controlplane.Failed)
	x := s.look()
	s.expect(x, controlplane.ReviewFailed, true, "failed, and the earlier build still answers")
	s.expectTold(laterComment, "the update failed, and the earlier build still answers", isFailure)
	s.look()
	if now, _ := s.find("hub-12"); now.ID != first.ID || now.Status != controlplane.Ready ||
		!slices.Equal(s.hosts(first.ID), hosts) {
		t.Fatalf("after the failure, what runs is %+v", now)
	}
	if failed, found := s.find("next--hub-12"); !found || failed.ID != next.ID {
		t.Error("nobody can see why the update failed")
	}

	// A newer push replaces the failed one.
	s.pushCommit(3)
	s.expect(s.look(), controlplane.ReviewCreating, false, "that was prepared is being removed")
	s.reportOf(next.ID, controlplane.Removing, controlplane.Removed)
	x = s.look()
	s.expect(x, controlplane.ReviewCreating, true, "prepared beside")
	if x.NextID == next.ID || x.DeploymentID != first.ID {
		t.Fatalf("prepared is %+v", x)
	}

	// The pull request is closed while its update is prepared.
	s.host.show("closed", "c3", 4)
	s.deliverEvent(s.rule, hubEvent("closed", 12, "c3", 4))
	s.look()
	s.reportOf(x.NextID, controlplane.Undoing, controlplane.Canceled)
	s.expect(s.look(), controlplane.ReviewCreating, false, "being removed")
	s.reportOf(first.ID, controlplane.Removing, controlplane.Removed)
	s.expect(s.look(), controlplane.ReviewRemoved, true, "")
	for _, name := range []string{"hub-12", "next--hub-12", "was--hub-12"} {
		if d, found := s.find(name); found {
			t.Errorf("%s is still there: %s", name, d.Status)
		}
	}
}

// Commits that come while an update is prepared replace it; the last one wins, whatever was ready
// in between.
func TestAside_AForcePushReplacesWhatIsPrepared(t *testing.T) {
	s := newAsideStory(t)
	first, _ := s.find("hub-12")
	second := s.update(2)
	s.pushCommit(3)
	s.expect(s.look(), controlplane.ReviewCreating, false, "a newer push came")
	if d, err := s.Lifecycle.Get(t.Context(), system, second.ID); err != nil ||
		d.Goal != controlplane.GoalGone {
		t.Fatalf("the outdated update is %+v: %v", d, err)
	}
	s.reportOf(second.ID, controlplane.Undoing, controlplane.Canceled)
	x := s.look()
	third := x.NextID
	s.reportOf(third, controlplane.Applying)
	// A commit whose image is not there yet does not stop the one that is prepared.
	s.host.show("open", "c4", 4)
	s.deliverEvent(s.rule, hubEvent("synchronize", 12, "c4", 4))
	s.expect(s.look(), controlplane.ReviewWaiting, false, "waiting for a newer image")
	s.reportOf(third, controlplane.Ready)
	x = s.look()
	if now, _ := s.find("hub-12"); now.ID != third || x.DeploymentID != third ||
		x.Done == x.Generation {
		t.Fatalf("after the switch %s has the name, review %+v", now.ID, x)
	}
	s.push("4")
	x = s.look()
	s.expect(x, controlplane.ReviewCreating, true, "prepared beside")
	s.reportOf(x.NextID, controlplane.Applying, controlplane.Ready)
	x = s.look()
	now, _ := s.find("hub-12")
	if now.ID != x.DeploymentID || !strings.HasSuffix(now.Versions[0].Digest, "4444") {
		t.Fatalf("in the end %+v runs", now)
	}
	if was, _ := s.find("was--hub-12"); was.ID != first.ID {
		t.Errorf("the first one is not there any more: %+v", was)
	}
}

// A push back to the commit that runs takes down what is prepared or has failed, and waits for no
// image: that of the commit is there.
func TestAside_APushBackToWhatRuns(t *testing.T) {
	s := newAsideStory(t)
	s.rule = s.putRule("hub", controlplane.ReviewGitHub, func(p *RulePut) {
		p.Rule.APIURL, p.Rule.Tag = s.host.URL, "{short}"
	})
	for n, sha := range []string{"c1", "c2", "c1"} {
		s.images["shop/api:"+sha] = "sha256:" + strings.Repeat(sha[1:], 64)
		s.host.show("open", sha, 10+n)
		s.deliverEvent(s.rule, hubEvent("synchronize", 12, sha, 10+n))
		x := s.look()
		switch n {
		case 0:
			s.reportOf(x.NextID, controlplane.Applying, controlplane.Ready)
			s.expect(s.look(), controlplane.ReviewReady, true, "")
		case 1:
			s.expect(x, controlplane.ReviewCreating, true, "prepared beside")
			s.reportOf(x.NextID, controlplane.Applying, controlplane.Undoing, controlplane.Failed)
			s.expect(s.look(), controlplane.ReviewFailed, true, "the earlier build still answers")
		case 2:
			s.expect(x, controlplane.ReviewCreating, false, "is being removed")
			s.reportOf(x.NextID, controlplane.Removing, controlplane.Removed)
		}
	}
	s.host.takeMessages()
	x := s.look()
	s.expect(x, controlplane.ReviewReady, true, "no newer image came")
	s.expectTold(laterComment, "`hub-12` is ready with the tag `c1`", isSuccess)
	if d, _ := s.find("hub-12"); d.ID != x.DeploymentID || d.Versions[0].Tag != "c1" {
		t.Errorf("it runs %+v", d.Versions)
	}
}

// A rule that deploys elsewhere by now replaces what it made, since nothing can take its place
// there.
func TestAside_TheRuleWasChangedMeanwhile(t *testing.T) {
	s := newAsideStory(t)
	first, _ := s.find("hub-12")
	_, err := s.Catalog.PutProject(t.Context(), system, catalog.ProjectPut{Name: "shop2",
		Resources: pipeline.Resources{CPU: 2, MemoryMiB: 1024}})
	s.failOnError(err)
	_, err = s.Catalog.SavePipeline(t.Context(), system, "shop2", newPipeline(), "first")
	s.failOnError(err)
	s.rule = s.putRule("hub", controlplane.ReviewGitHub, func(p *RulePut) {
		p.Rule.APIURL, p.Rule.Project = s.host.URL, "shop2"
	})
	s.pushCommit(2)
	x := s.look()
	s.expect(x, controlplane.ReviewCreating, false, "the older deployment is being removed")
	s.reportOf(first.ID, controlplane.Removing, controlplane.Removed)
	s.expect(s.look(), controlplane.ReviewCreating, true, "the deployment is being created")
	s.report(controlplane.Applying, controlplane.Ready)
	s.expect(s.look(), controlplane.ReviewReady, true, "")
	s.expectTold(laterComment, "another project or environment now", isSuccess)
	if d, _ := s.find("hub-12"); d.Project != "shop2" {
		t.Errorf("it is of %s", d.Project)
	}
}

// Where no node has room for two, the update replaces what runs, and says why. What an earlier
// update left makes room first, unless its visitors may be there still or somebody holds it.
func TestAside_WithoutRoomForTwoItReplaces(t *testing.T) {
	s := newAsideStory(t)
	first, _ := s.find("hub-12")
	second := s.update(2)
	s.reportOf(second.ID, controlplane.Applying, controlplane.Ready)
	s.look()
	s.host.takeMessages()
	s.execSQL("UPDATE nodes SET inventory = jsonb_set(inventory, '{memory}', '1048576')")
	s.execSQL("UPDATE deployment_lives SET replaced_at = replaced_at - interval '16 minutes' " +
		"WHERE replaced_at IS NOT NULL")
	s.pushCommit(3)
	s.expect(s.look(), controlplane.ReviewCreating, false, "an earlier build is being removed")
	s.reportOf(first.ID, controlplane.Removing, controlplane.Removed)
	x := s.look()
	s.expect(x, controlplane.ReviewCreating, false, "the older deployment is being removed")
	if !strings.HasPrefix(x.Remark, "It was replaced in place") {
		t.Errorf("the remark is %q", x.Remark)
	}
	if now, _ := s.find("hub-12"); now.ID != second.ID || now.Goal != controlplane.GoalGone {
		t.Fatalf("what ran is %+v", now)
	}
	s.execSQL("UPDATE nodes SET inventory = jsonb_set(inventory, '{memory}', '17179869184')")
	s.reportOf(second.ID, controlplane.Removing, controlplane.Removed)
	s.expect(s.look(), controlplane.ReviewCreating, true, "the deployment is being created")
	s.report(controlplane.Applying, controlplane.Ready)
	s.expect(s.look(), controlplane.ReviewReady, true, "")
	s.expectTold(laterComment, "It was replaced in place", isSuccess)
}

// A rule that replaces says so, and so does an update of what was not ready.
func TestReplace_SaysItsReason(t *testing.T) {
	for name, c := range map[string]struct {
		ready bool
		want  string
	}{"as the rule says": {true, "as the rule says"}, "not ready": {false, "was not ready"}} {
		t.Run(name, func(t *testing.T) {
			s := newAsideStory(t)
			s.rule = s.putRule("hub", controlplane.ReviewGitHub, func(p *RulePut) {
				p.Rule.APIURL, p.Rule.Updates = s.host.URL, controlplane.UpdateReplace
			})
			first, _ := s.find("hub-12")
			if !c.ready {
				s.pushCommit(2)
				s.look()
				s.reportOf(first.ID, controlplane.Removing, controlplane.Removed)
				s.look()
				s.report(controlplane.Applying, controlplane.Undoing, controlplane.Failed)
				s.look()
				first, _ = s.find("hub-12")
			}
			s.host.takeMessages()
			s.pushCommit(3)
			s.expect(s.look(), controlplane.ReviewCreating, false, "the older deployment is being removed")
			s.reportOf(first.ID, controlplane.Removing, controlplane.Removed)
			s.look()
			s.report(controlplane.Applying, controlplane.Ready)
			s.expect(s.look(), controlplane.ReviewReady, true, "")
			s.expectTold(laterComment, c.want, isSuccess)
		})
	}
}

// A crash before the result is stored leaves an update that is found again, whichever step was
// done last.
func TestAside_GoesOnAfterACrash(t *testing.T) {
	s := newAsideStory(t)
	first, _ := s.find("hub-12")
	next := s.update(2)
	s.execSQL("UPDATE reviews SET next_id = NULL, done = generation - 1, state = 'creating'")
	x := s.look()
	if x.NextID != next.ID {
		t.Fatalf("after a crash right after it was created, %+v is prepared", x)
	}
	s.reportOf(next.ID, controlplane.Applying, controlplane.Ready)
	s.failOnError(s.Lifecycle.TakeOver(t.Context(), system, first.ID, next.ID))
	s.failOnError(s.Lifecycle.TakeOver(t.Context(), system, first.ID, next.ID))
	x = s.look()
	if x.DeploymentID != next.ID || x.NextID != "" {
		t.Fatalf("after a crash right after the switch: %+v", x)
	}
	s.look()
	s.expect(s.look(), controlplane.ReviewReady, true, "")
	if was, _ := s.find("was--hub-12"); was.ID != first.ID {
		t.Errorf("what ran before is %+v", was)
	}
}

// Somebody who removes an update, or what runs meanwhile, is not overruled.
func TestAside_PeopleRemoveWhatTheyWant(t *testing.T) {
	s := newAsideStory(t)
	first, _ := s.find("hub-12")
	next := s.update(2)
	_, err := s.Lifecycle.Remove(t.Context(), system, next.ID)
	s.failOnError(err)
	s.expect(s.look(), controlplane.ReviewCreating, true, "the update is being removed")
	s.reportOf(next.ID, controlplane.Undoing, controlplane.Canceled)
	for range 2 {
		x := s.look()
		s.expect(x, controlplane.ReviewReady, true, "")
		if !strings.Contains(x.Remark, "Somebody removed the update") {
			t.Errorf("the remark is %q", x.Remark)
		}
	}
	third := s.update(3)
	_, err = s.Lifecycle.Remove(t.Context(), system, first.ID)
	s.failOnError(err)
	s.reportOf(first.ID, controlplane.Removing, controlplane.Removed)
	s.reportOf(third.ID, controlplane.Applying, controlplane.Ready)
	s.look()
	if now, _ := s.find("hub-12"); now.ID != third.ID {
		t.Errorf("the name is %+v's", now)
	}
}

// Names that rules give are not for people.
func TestAside_ReservesItsNames(t *testing.T) {
	s := newAsideStory(t)
	if got := lifecycle.NextName(strings.Repeat("a", 40)); len(got) != 40 ||
		controlplane.ValidName("name", got) != nil {
		t.Errorf("a long name becomes %q", got)
	}
	person := newAdmin()
	for _, name := range []string{"next--hub-12", "was--hub-12", "was-2--x", "latest--hub",
		"branch--x"} {
		_, err := s.Lifecycle.Create(t.Context(), person, lifecycle.Request{Name: name, Project: "shop",
			Environment: "qa"})
		if controlplane.CodeOf(err) != "name_reserved" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A storm of labels brings no second deployment, and no second comment.
func TestAside_ALabelStormChangesNothing(t *testing.T) {
	s := newAsideStory(t)
	before, _ := s.find("hub-12")
	for n := range 100 {
		action := []string{"labeled", "unlabeled"}[n%2]
		s.deliverEvent(s.rule, hubEvent(action, 12, "a1", 2+n%50))
	}
	x := s.look()
	if now, _ := s.find("hub-12"); now.ID != before.ID || x.NextID != "" {
		t.Errorf("after the storm %s runs, %q is prepared", now.ID, x.NextID)
	}
	s.expectTold("", "", "")
}

// What is prepared ends at once when its pull request is closed, though what runs stays while
// somebody is there. Opened again and pushed to meanwhile, however often, nothing is half switched.
func TestAside_ClosedWhileAnUpdateIsPrepared(t *testing.T) {
	s := newAsideStory(t)
	first, _ := s.find("hub-12")
	hosts := s.hosts(first.ID)
	s.execSQL("INSERT INTO deployment_visitors (deployment_id, visitor, kind, user_id, label) " +
		"VALUES ('" + string(first.ID) + "', 'somebody', 'guest', NULL, 'somebody')")
	goalOf := func(id controlplane.DeploymentID) controlplane.Goal {
		d, err := s.Lifecycle.Get(t.Context(), system, id)
		s.failOnError(err)
		return d.Goal
	}
	n := 2
	deliver := func(action, state string) {
		n++
		s.host.show(state, "c2", n)
		s.deliverEvent(s.rule, hubEvent(action, 12, "c2", n))
	}
	next := s.update(n)
	s.reportOf(next.ID, controlplane.Applying)
	deliver("closed", "closed")
	for range 2 {
		s.expect(s.look(), controlplane.ReviewCreating, false, "in use by 1 visitor")
	}
	// promise: W-01
	if goalOf(next.ID) != controlplane.GoalGone || goalOf(first.ID) != controlplane.GoalPresent {
		t.Fatalf("closed, and the update is to be %s, what runs %s", goalOf(next.ID), goalOf(first.ID))
	}
	// It became ready on its node before the order to remove it came there.
	s.reportOf(next.ID, controlplane.Ready)
	for range 20 {
		deliver("reopened", "open")
		s.look()
		deliver("labeled", "open")
		deliver("closed", "closed")
		s.look()
	}
	now, _ := s.find("hub-12")
	if now.ID != first.ID || now.Goal != controlplane.GoalPresent ||
		!slices.Equal(s.hosts(first.ID), hosts) {
		t.Fatalf("after the storm, what runs is %+v", now)
	}
	deliver("reopened", "open")
	s.expect(s.look(), controlplane.ReviewCreating, false, "being removed")
	s.reportOf(next.ID, controlplane.Removing, controlplane.Removed)
	x := s.look()
	s.expect(x, controlplane.ReviewCreating, true, "prepared beside")
	s.reportOf(x.NextID, controlplane.Applying, controlplane.Ready)
	again := x.NextID
	s.expect(s.look(), controlplane.ReviewReady, true, "")
	if now, _ := s.find("hub-12"); now.ID != again || !slices.Equal(s.hosts(again), hosts) {
		t.Fatalf("after it was opened again, what runs is %+v", now)
	}
	deliver("closed", "closed")
	s.look()
	if goalOf(again) != controlplane.GoalGone || goalOf(first.ID) != controlplane.GoalPresent {
		t.Errorf("in the end %s is to be %s, and that whose visitor is there still %s", again,
			goalOf(again), goalOf(first.ID))
	}
}

func newAdmin() access.Actor {
	return access.User(controlplane.User{ID: controlplane.NewID[controlplane.UserID](), Name: "ada",
		Role: controlplane.RoleAdmin, Active: true}, nil)
}
