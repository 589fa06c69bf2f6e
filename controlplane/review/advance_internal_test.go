package review

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/lifecycle"
	"github.com/nullops/nullops/controlplane/postgres/pgtest"
	"github.com/nullops/nullops/pipeline"
)

// A pull request waits for its image, is deployed once that is there, and is told the address. A
// rebuilt image replaces the deployment, and the close removes it.
func TestAdvance_FollowsAPullRequestFromItsImageToItsClose(t *testing.T) {
	s := newStory(t)
	s.Ask = time.Hour
	s.host.show("open", "a1", 1)
	s.deliverEvent(s.rule, hubEvent("opened", 12, "a1", 1))
	x := s.look()
	s.expect(x, controlplane.ReviewWaiting, false, "no service has the tag pr-12 yet")
	s.expectDue(x, s.Ask)
	s.push("a")
	x = s.look()
	s.expect(x, controlplane.ReviewCreating, true, "the deployment is being created")
	d, found := s.find("hub-12")
	if !found || d.ID != x.DeploymentID || d.Versions[0].Tag != "pr-12" || d.Project != "shop" {
		t.Fatalf("created is %+v", d)
	}
	s.expect(s.look(), controlplane.ReviewCreating, true, "the deployment is being created")
	s.expectTold("", "", "")
	s.report(controlplane.Applying, controlplane.Ready)
	x = s.look()
	s.expect(x, controlplane.ReviewReady, true, "")
	s.expectDue(x, s.Ask)
	s.expectTold(firstComment, "http://api.hub-12.qa.localhost:8000", isSuccess)
	s.expect(s.look(), controlplane.ReviewReady, true, "")
	s.expectTold("", "", "") // it knows already

	s.push("b")
	x = s.look()
	s.expect(x, controlplane.ReviewCreating, false, "another image with the tag pr-12 came")
	x = s.look()
	s.expect(x, controlplane.ReviewCreating, false, "the older deployment is being removed")
	if d, _ = s.find("hub-12"); d.Goal != controlplane.GoalGone {
		t.Fatalf("the older deployment is to be %s", d.Goal)
	}
	s.report(controlplane.Removing, controlplane.Removed)
	old := x.DeploymentID
	x = s.look()
	s.expect(x, controlplane.ReviewCreating, true, "the deployment is being created")
	if d, _ = s.find("hub-12"); d.ID == old || d.ID != x.DeploymentID ||
		!strings.HasSuffix(d.Versions[0].Digest, "bbbb") {
		t.Fatalf("created again is %+v", d)
	}
	s.report(controlplane.Applying, controlplane.Ready)
	s.look()
	s.expectTold(laterComment, "is ready with the tag `pr-12`", isSuccess)

	s.host.show("closed", "a1", 2)
	s.deliverEvent(s.rule, hubEvent("closed", 12, "a1", 2))
	x = s.look()
	s.expect(x, controlplane.ReviewCreating, false, "the deployment is being removed")
	s.expectTold("", "", "")
	s.report(controlplane.Removing, controlplane.Removed)
	s.expect(s.look(), controlplane.ReviewRemoved, true, "")
	s.expectTold(laterComment, "was removed", "")
	s.look()
	s.expectTold("", "", "")
}

// A new commit waits for an image that is newer than what runs. If none comes in time, the build
// changed nothing, and the new commit is told that what runs is its own.
func TestAdvance_WaitsForANewerImageOfANewCommit(t *testing.T) {
	s := newStory(t)
	s.readyReview()
	d, _ := s.find("hub-12")
	s.host.show("open", "a2", 2)
	s.deliverEvent(s.rule, hubEvent("synchronize", 12, "a2", 2))
	s.Ask = time.Hour
	x := s.look()
	s.expect(x, controlplane.ReviewWaiting, false, "waiting for a newer image of pr-12")
	s.expectDue(x, s.Ask)
	s.expectTold("", "", "")
	s.endTime("1 minute")
	s.expect(s.look(), controlplane.ReviewReady, true, "no newer image came")
	s.expectTold(laterComment, "is ready", "/statuses/a2")
	if now, _ := s.find("hub-12"); now.ID != d.ID || now.Goal != controlplane.GoalPresent {
		t.Errorf("what ran is %+v", now)
	}
}

// What the host shows at the first look counts: a request that is closed by then gets nothing, a
// newer head is followed, and one that is open again is not removed.
func TestAdvance_AsksTheHostBeforeTheFirstStep(t *testing.T) {
	s := newStory(t)
	s.push("a")
	s.host.show("closed", "a1", 3)
	s.deliverEvent(s.rule, hubEvent("opened", 12, "a1", 1))
	s.expect(s.look(), controlplane.ReviewWaiting, false, "the code host says that it is closed")
	s.expect(s.look(), controlplane.ReviewRemoved, true, "")
	if _, found := s.find("hub-12"); found {
		t.Fatal("a closed pull request has a deployment")
	}
	s.expectTold(firstComment, "was removed", "")

	s.host.show("open", "a5", 5)
	s.deliverEvent(s.rule, hubEvent("reopened", 12, "a4", 4))
	before := s.review()
	x := s.look()
	if x.Commit != "a5" || x.Generation != before.Generation+1 || x.Want != controlplane.GoalPresent ||
		x.State != controlplane.ReviewWaiting || x.Detail != "" || x.Key != before.Key ||
		x.Title != before.Title || x.Branch != "feature/cart" {
		t.Fatalf("after the host showed a newer head: %+v", x)
	}
	s.expect(s.look(), controlplane.ReviewCreating, true, "the deployment is being created")

	s.host.show("open", "a5", 6)
	s.deliverEvent(s.rule, hubEvent("closed", 12, "a5", 6))
	if x = s.look(); x.Want != controlplane.GoalPresent {
		t.Fatalf("closed and opened within one second: %+v", x)
	}
	if d, _ := s.find("hub-12"); d.Goal != controlplane.GoalPresent {
		t.Fatal("the deployment of an open pull request is removed")
	}
}

// An event that comes in while the host is asked counts more than the older answer.
func TestUpdateReview_LosesAgainstANewerEvent(t *testing.T) {
	s := newStory(t)
	s.deliverEvent(s.rule, hubEvent("opened", 12, "a1", 1))
	x := s.review()
	s.deliverEvent(s.rule, hubEvent("synchronize", 12, "a3", 3))
	at := time.Date(2026, 1, 2, 10, 0, 2, 0, time.UTC)
	s.failOnError(s.updateReview(t.Context(), s.rule, &x,
		present{open: true, commit: "a2", branch: "feature/cart", at: at}))
	if now := s.review(); now.Commit != "a3" || now.Generation != 2 {
		t.Errorf("stored is %s of generation %d", now.Commit, now.Generation)
	}
}

// A deployment that a person made is not taken, not even after the close: the review fails, says
// why, and leaves the person's alone.
func TestAdvance_LeavesAPersonsDeploymentAlone(t *testing.T) {
	s := newStory(t)
	s.push("a")
	made, err := s.Lifecycle.Create(t.Context(), system, lifecycle.Request{Name: "hub-12",
		Project: "shop", Environment: "qa", Priority: controlplane.DefaultPriority,
		Versions: map[pipeline.StepKey]string{"api": "pr-12"}})
	s.failOnError(err)
	s.host.show("open", "a1", 1)
	s.deliverEvent(s.rule, hubEvent("opened", 12, "a1", 1))
	const said = "deployment hub-12 is there already, and not of this review"
	x := s.look()
	s.expect(x, controlplane.ReviewWaiting, false, said)
	if x.DeploymentID != "" {
		t.Errorf("the review has the deployment %s", x.DeploymentID)
	}
	s.endTime("1 minute")
	s.expect(s.look(), controlplane.ReviewFailed, false, said)
	s.expectTold(firstComment, "failed: ", isFailure)
	s.host.show("closed", "a1", 2)
	s.deliverEvent(s.rule, hubEvent("closed", 12, "a1", 2))
	s.expect(s.look(), controlplane.ReviewRemoved, true, "")
	if d, found := s.find("hub-12"); !found || d.ID != made.ID || d.Goal != controlplane.GoalPresent {
		t.Errorf("the person's deployment is %+v", d)
	}
}

// A removal that gets stuck is told as a failure, and tried until it succeeds.
func TestAdvance_TellsAStuckRemovalAndGoesOn(t *testing.T) {
	s := newStory(t)
	s.readyReview()
	s.host.show("closed", "a1", 2)
	s.deliverEvent(s.rule, hubEvent("closed", 12, "a1", 2))
	s.look()
	s.report(controlplane.Removing, controlplane.Stuck)
	s.Ask = time.Hour
	x := s.look()
	s.expect(x, controlplane.ReviewFailed, false, "the deployment is not removed yet")
	s.expectDue(x, s.Ask)
	s.expectTold(laterComment, "is not removed yet", isFailure)
	s.report(controlplane.Removing, controlplane.Removed)
	s.expect(s.look(), controlplane.ReviewRemoved, true, "")
	s.expectTold(laterComment, "was removed", "")
}

// A removal that takes longer than the review's time is told as well.
func TestAdvance_TellsALateRemoval(t *testing.T) {
	s := newStory(t)
	s.readyReview()
	s.host.show("closed", "a1", 2)
	s.deliverEvent(s.rule, hubEvent("closed", 12, "a1", 2))
	s.endTime("1 minute")
	s.expect(s.look(), controlplane.ReviewFailed, false, "the deployment is not removed yet")
}

// Somebody removes a review's deployment: only a new event makes it again.
func TestAdvance_MakesWhatAPersonRemovedOnlyAfterAnEvent(t *testing.T) {
	s := newStory(t)
	s.readyReview()
	_, err := s.Lifecycle.Remove(t.Context(), system, s.review().DeploymentID)
	s.failOnError(err)
	s.expect(s.look(), controlplane.ReviewReady, true, "")
	s.report(controlplane.Removing, controlplane.Removed)
	// However long ago its time was over, what is gone is told, and the record of it ends.
	s.endTime("20 hours")
	s.expect(s.look(), controlplane.ReviewRemoved, true, "")
	s.expectTold(laterComment, "`hub-12` was removed. A push creates it again",
		"POST /repos/acme/shop/deployments/4711/statuses "+`{"state":"inactive"}`)
	s.expect(s.look(), controlplane.ReviewRemoved, true, "")
	s.expectTold("", "", "")
	if _, found := s.find("hub-12"); found {
		t.Fatal("it was made again without an event")
	}
	s.host.show("open", "a2", 2)
	s.deliverEvent(s.rule, hubEvent("synchronize", 12, "a2", 2))
	s.expect(s.look(), controlplane.ReviewCreating, true, "the deployment is being created")
}

// A deployment that was removed and forgotten is told as removed.
func TestAdvance_KnowsThatItsDeploymentWasForgotten(t *testing.T) {
	s := newStory(t)
	s.readyReview()
	id := s.review().DeploymentID
	_, err := s.Lifecycle.Remove(t.Context(), system, id)
	s.failOnError(err)
	s.report(controlplane.Removing, controlplane.Removed)
	s.execSQL("DELETE FROM deployments WHERE id = '" + string(id) + "'") // as after its time
	s.expect(s.look(), controlplane.ReviewRemoved, true, "")
	s.expectTold(laterComment, "was removed", "")
}

// A deployment that is not ready an hour after its creation is told as a failure.
func TestAdvance_TellsADelay(t *testing.T) {
	s := newStory(t)
	s.host.show("open", "a1", 1)
	s.deliverEvent(s.rule, hubEvent("opened", 12, "a1", 1))
	s.push("a")
	s.look()
	s.report(controlplane.Applying)
	s.endTime("1 minute")
	s.expect(s.look(), controlplane.ReviewCreating, true, "the deployment is being created")
	s.execSQL("UPDATE deployments SET created_at = now() - interval '61 minutes'")
	s.expect(s.look(), controlplane.ReviewFailed, true, "the deployment is not ready in time")
	s.expectTold(firstComment, "is not ready in time", isFailure)
}

// A deployment that fails is told with its reason.
func TestAdvance_TellsAFailure(t *testing.T) {
	s := newStory(t)
	s.host.show("open", "a1", 1)
	s.deliverEvent(s.rule, hubEvent("opened", 12, "a1", 1))
	s.push("a")
	s.look()
	s.report(controlplane.Applying, controlplane.Undoing, controlplane.Failed)
	// promise: U-01
	s.expect(s.look(), controlplane.ReviewFailed, true, "As the test says.")
	s.expectTold(firstComment, "As the test says.", isFailure)
}

// A host that does not take the news is told again at the next look, for an hour after the
// review's time.
func TestReport_IsTriedForAnHourAfterTheTime(t *testing.T) {
	s := newStory(t)
	s.host.status = http.StatusBadGateway
	s.host.show("open", "a1", 1)
	s.deliverEvent(s.rule, hubEvent("opened", 12, "a1", 1))
	s.push("a")
	s.look()
	s.report(controlplane.Applying, controlplane.Ready)
	s.Ask = time.Hour
	for _, ago := range []string{"-1 hour", "59 minutes"} {
		s.endTime(ago)
		x := s.look()
		if x.Told == x.Generation {
			t.Fatalf("%s after its time, what failed counts as told", ago)
		}
		s.expect(x, controlplane.ReviewReady, true, "")
		s.expectDue(x, s.Ask)
		s.expectTold(firstComment, "is ready", isSuccess)
	}
	s.endTime("61 minutes")
	if x := s.look(); x.Told != x.Generation {
		t.Error("it is told for ever")
	}
	s.expectTold(firstComment, "is ready", "")
	s.look()
	s.expectTold("", "", "")
}

// Without a node a review waits, and fails with the reason when its time is over. A look at what
// is ready that fails changes nothing.
func TestRetry_EndsWithTheReason(t *testing.T) {
	s := newStory(t)
	s.execSQL("UPDATE nodes SET status = 'disabled'")
	s.push("a")
	s.host.show("open", "a1", 1)
	s.deliverEvent(s.rule, hubEvent("opened", 12, "a1", 1))
	s.Ask = time.Hour
	x := s.look()
	s.expect(x, controlplane.ReviewWaiting, false, "no node has room")
	s.expectDue(x, s.Ask)
	s.expectTold("", "", "")
	s.endTime("1 minute")
	s.expect(s.look(), controlplane.ReviewFailed, false, "no node has room")
	s.expectTold(firstComment, "no node has room", isFailure)

	x = controlplane.Review{State: controlplane.ReviewReady, Generation: 3, Done: 3,
		GiveUpAt: time.Now().Add(-time.Hour)}
	s.retryLater(t.Context(), &x, io.ErrUnexpectedEOF)
	s.expect(x, controlplane.ReviewReady, true, "")
	x = controlplane.Review{State: controlplane.ReviewCreating, Generation: 3, Done: 2,
		GiveUpAt: time.Now().Add(time.Hour)}
	s.retryLater(t.Context(), &x, io.ErrUnexpectedEOF)
	s.expect(x, controlplane.ReviewCreating, false, "failed on our side")
}

// Received events are forgotten after 90 days, once an hour.
func TestAdvanceDue_ForgetsOldEvents(t *testing.T) {
	s := newStory(t)
	s.host.show("open", "a1", 1)
	s.deliverEvent(s.rule, hubEvent("opened", 12, "a1", 1))
	s.execSQL(`UPDATE review_events SET at = now() - interval '91 days'`)
	s.deliverEvent(s.rule, hubEvent("synchronize", 12, "a2", 2))
	count := func() int64 {
		return pgtest.QueryValue[int64](t, s.url, "SELECT count(*) FROM review_events")
	}
	before := count()
	forget := time.Now().Add(time.Minute)
	s.failOnError(s.advanceDue(t.Context(), &forget))
	if count() != before {
		t.Fatal("events are forgotten before it is time")
	}
	forget = time.Time{}
	s.failOnError(s.advanceDue(t.Context(), &forget))
	if left := count(); left == 0 || left >= before {
		t.Errorf("%d of %d events are left", left, before)
	}
	if left := time.Until(forget); left < 59*time.Minute || left > time.Hour {
		t.Errorf("the next time is in %s", left)
	}
}

// The loop looks at once, and ends with its context.
func TestRun_LooksAtOnceAndEnds(t *testing.T) {
	s := newStory(t)
	s.host.show("open", "a1", 1)
	s.deliverEvent(s.rule, hubEvent("opened", 12, "a1", 1))
	s.push("a")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx, nil) }()
	for begun := time.Now(); time.Since(begun) < time.Minute; time.Sleep(10 * time.Millisecond) {
		if _, found := s.find("hub-12"); found {
			break
		}
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if _, found := s.find("hub-12"); !found {
		t.Error("nothing was made")
	}
}
