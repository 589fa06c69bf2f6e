package review

import (
	"strings"
	"testing"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/catalog"
	"github.com/nullops/nullops/controlplane/lifecycle"
	"github.com/nullops/nullops/pipeline"
)

const worker1 = "worker-1"

// newKeepStory is a story whose updates keep the data of a database, while a cache is not kept.
func newKeepStory(t *testing.T) *story {
	t.Helper()
	s := newStory(t)
	s.putDatabase(pipeline.Volume{Name: "data", Path: "/data"},
		pipeline.Volume{Name: "cache", Path: "/cache", Stays: true})
	s.rule = s.putRule("hub", controlplane.ReviewGitHub, func(p *RulePut) {
		p.Rule.APIURL, p.Rule.Data = s.host.URL, controlplane.DataKeep
	})
	s.readyReview()
	return s
}

// putDatabase gives the project a second service, with these volumes.
func (s *story) putDatabase(volumes ...pipeline.Volume) {
	s.t.Helper()
	ctx := s.t.Context()
	_, err := s.Catalog.PutService(ctx, system, catalog.ServicePut{Name: "db", Registry: "local",
		Image: "shop/db", TagMode: pipeline.Pinned, Tag: "1.0"})
	s.failOnError(err)
	s.images["shop/db:1.0"] = "sha256:" + strings.Repeat("0", 64)
	step := func(name string) pipeline.Step {
		return pipeline.Step{Key: pipeline.StepKey(name), Service: &pipeline.ServiceStep{Name: name,
			Resources: pipeline.Resources{CPU: 0.1, MemoryMiB: 64},
			Ports:     []pipeline.Port{{Name: "http", Port: 8080, Expose: name == "api"}},
			Ready:     &pipeline.Readiness{TCP: &pipeline.TCPProbe{Port: 8080}}}}
	}
	db := step("db")
	db.Service.Volumes = volumes
	_, err = s.Catalog.SavePipeline(ctx, system, "shop", pipeline.Pipeline{Format: 1,
		Steps: []pipeline.Step{db, step("api")}}, "with a database")
	s.failOnError(err)
}

func (s *story) claimFill() controlplane.FillTask {
	s.t.Helper()
	f, err := s.Lifecycle.ClaimFill(s.t.Context(), system, worker1)
	s.failOnError(err)
	return f
}

// startsWithData has an update get the data of what runs, as the worker does.
func (s *story) startsWithData(f controlplane.FillTask) {
	s.t.Helper()
	s.failOnError(s.Lifecycle.StopSource(s.t.Context(), system, f))
	s.failOnError(s.Lifecycle.FinishFill(s.t.Context(), system, f, worker1))
}

func (s *story) expectStill(id controlplane.DeploymentID, still bool) {
	s.t.Helper()
	if o := s.goal(id); o.Still != still {
		s.t.Fatalf("that nothing of %s runs is %v, want %v", id, o.Still, still)
	}
}

// An update waits until the deployment that runs has stopped and its volumes are copied. That one
// stands still until the switch, so that nothing that it writes is lost, and runs afterwards.
func TestKeep_AnUpdateBeginsWithTheData(t *testing.T) {
	s := newKeepStory(t)
	first, _ := s.find("hub-12")
	next := s.update(2)
	x := s.review()
	if !strings.Contains(x.Remark, "stay on their node: db/cache") {
		t.Errorf("of what is not kept, people read %q", x.Remark)
	}
	// Until the update has its images, what runs is not touched.
	s.expectStill(next.ID, true)
	s.expectStill(first.ID, false)
	if f := s.claimFill(); f.Deployment != "" {
		t.Fatalf("before its node takes it up, it is filled: %+v", f)
	}
	s.reportOf(next.ID, controlplane.Applying)
	f := s.claimFill()
	want := controlplane.VolumeName{Step: "db", Name: "data"}
	if f.Deployment != next.ID || f.Source != first.ID || len(f.Copies) != 1 ||
		f.Copies[0].SourceVolume != want || f.Copies[0].Volume != want {
		t.Fatalf("it is filled by %+v", f)
	}
	if o := s.goal(next.ID); !o.Attempt.Equal(f.Since) || !o.Still {
		t.Fatalf("its node is told of the attempt %s, not %s", o.Attempt, f.Since)
	}
	if again := s.claimFill(); again.Deployment != "" {
		t.Fatal("two workers fill it")
	}
	s.failOnError(s.Lifecycle.StopSource(t.Context(), system, f))
	s.expectStill(first.ID, true)
	s.failOnError(s.Lifecycle.FinishFill(t.Context(), system, f, worker1))
	s.expectStill(next.ID, false)
	s.expectStill(first.ID, true)
	s.failOnError(s.Lifecycle.EndLostSources(t.Context(), system))
	s.expectStill(first.ID, true)

	s.reportOf(next.ID, controlplane.Ready)
	x = s.look()
	s.expect(x, controlplane.ReviewReady, true, "")
	s.expectTold(laterComment, "stay on their node: db/cache", isSuccess)
	if now, _ := s.find("hub-12"); now.ID != next.ID || x.DeploymentID != next.ID {
		t.Fatalf("the name is of %s", now.ID)
	}
	s.expectStill(first.ID, false)
	routes, err := s.Lifecycle.Routes(t.Context(), system)
	s.failOnError(err)
	for _, r := range routes {
		if r.Deployment == next.ID && r.Formers != "" {
			t.Errorf("visitors stay at %+v, and lose what they write", r.Formers)
		}
	}
}

// If the update fails, or somebody removes it, the deployment that ran runs again with its own
// data. Trying again copies once more.
func TestKeep_AFailedUpdateLeavesTheData(t *testing.T) {
	s := newKeepStory(t)
	first, _ := s.find("hub-12")
	next := s.update(2)
	s.reportOf(next.ID, controlplane.Applying)
	f := s.claimFill()
	s.startsWithData(f)
	s.reportOf(next.ID, controlplane.Undoing, controlplane.Failed)
	s.failOnError(s.Lifecycle.EndLostSources(t.Context(), system))
	s.expectStill(first.ID, false)
	s.expect(s.look(), controlplane.ReviewFailed, true, "failed, and the earlier build still answers")

	_, err := s.Lifecycle.Retry(t.Context(), system, next.ID, lifecycle.RetryOptions{})
	s.failOnError(err)
	s.expectStill(next.ID, true)
	s.reportOf(next.ID, controlplane.Applying)
	again := s.claimFill()
	if again.Source != first.ID || again.Since.Equal(f.Since) {
		t.Fatalf("the second run is filled by %+v", again)
	}
	s.startsWithData(again)
	_, err = s.Lifecycle.Remove(t.Context(), system, next.ID)
	s.failOnError(err)
	s.failOnError(s.Lifecycle.EndLostSources(t.Context(), system))
	s.expectStill(first.ID, false)
}

// A copy that fails gives up the update, and says why.
func TestKeep_ACopyThatFailsChangesNothing(t *testing.T) {
	s := newKeepStory(t)
	first, _ := s.find("hub-12")
	next := s.update(2)
	s.reportOf(next.ID, controlplane.Applying)
	f := s.claimFill()
	s.failOnError(s.Lifecycle.StopSource(t.Context(), system, f))
	s.failOnError(s.Lifecycle.FailFill(t.Context(), system, next.ID, "the disk said no"))
	s.failOnError(s.Lifecycle.EndLostSources(t.Context(), system))
	s.expectStill(first.ID, false)
	if err := s.Lifecycle.FinishFill(t.Context(), system, f, worker1); err == nil {
		t.Error("a worker that was stuck goes on")
	}
	s.reportOf(next.ID, controlplane.Failed)
	s.expect(s.look(), controlplane.ReviewFailed, true, "The disk said no")
}

// An update that is not ready a quarter of an hour after the copy is given up. One that is ready
// after the deployment that it was copied from has run again is not switched to: what was written
// since would be lost.
func TestKeep_IsNotLate(t *testing.T) {
	s := newKeepStory(t)
	first, _ := s.find("hub-12")
	next := s.update(2)
	s.reportOf(next.ID, controlplane.Applying)
	s.startsWithData(s.claimFill())
	s.execSQL("UPDATE volume_holds SET seen_at = now() - interval '16 minutes'")
	s.failOnError(s.Lifecycle.EndLostSources(t.Context(), system))
	s.expectStill(first.ID, false)
	if d, err := s.Lifecycle.Get(t.Context(), system, next.ID); err != nil ||
		d.Goal != controlplane.GoalGone {
		t.Fatalf("the late update is %+v: %v", d, err)
	}
	s.reportOf(next.ID, controlplane.Failed)
	s.look()

	s.pushCommit(3)
	s.look()
	s.reportOf(next.ID, controlplane.Removing, controlplane.Removed)
	third := s.look().NextID
	s.reportOf(third, controlplane.Applying)
	s.startsWithData(s.claimFill())
	s.failOnError(s.Lifecycle.EndVolumeHold(t.Context(), system, first.ID, string(third), "again"))
	s.reportOf(third, controlplane.Ready)
	s.expect(s.look(), controlplane.ReviewCreating, true, "ready too late")
	s.reportOf(third, controlplane.Removing, controlplane.Removed)
	x := s.look()
	if now, _ := s.find("hub-12"); now.ID != first.ID || x.Remark != outdatedRemark {
		t.Errorf("%s has the name, and the remark is %q", now.ID, x.Remark)
	}
}

// Data is not lost for want of room: instead of replacing what runs, the update waits, and then
// fails.
func TestKeep_WithoutRoomForTwoNothingIsReplaced(t *testing.T) {
	s := newKeepStory(t)
	first, _ := s.find("hub-12")
	s.execSQL("UPDATE nodes SET inventory = jsonb_set(inventory, '{memory}', '1048576')")
	s.pushCommit(2)
	s.expect(s.look(), controlplane.ReviewWaiting, false, "memory")
	s.endTime("1 minute")
	s.expect(s.look(), controlplane.ReviewFailed, false, "memory")
	if now, _ := s.find("hub-12"); now.ID != first.ID || now.Goal != controlplane.GoalPresent {
		t.Errorf("what ran is %+v", now)
	}
}

// Without volumes there is nothing to keep: the update is one like all others, and says so.
func TestKeep_WithoutVolumesSaysSo(t *testing.T) {
	s := newStory(t)
	s.rule = s.putRule("hub", controlplane.ReviewGitHub, func(p *RulePut) {
		p.Rule.APIURL, p.Rule.Data = s.host.URL, controlplane.DataKeep
	})
	s.readyReview()
	next := s.update(2)
	s.expectStill(next.ID, false)
	if x := s.review(); !strings.Contains(x.Remark, "has no volumes") {
		t.Errorf("the remark is %q", x.Remark)
	}
	s.reportOf(next.ID, controlplane.Applying, controlplane.Ready)
	s.expect(s.look(), controlplane.ReviewReady, true, "")
}

// What is to be stopped for its data waits until those who are there have gone.
func TestKeep_WaitsForVisitors(t *testing.T) {
	s := newKeepStory(t)
	first, _ := s.find("hub-12")
	s.execSQL("INSERT INTO deployment_visitors (deployment_id, visitor, kind, user_id, label) " +
		"VALUES ('" + string(first.ID) + "', 'somebody', 'guest', NULL, 'somebody')")
	s.pushCommit(2)
	x := s.look()
	s.expect(x, controlplane.ReviewCreating, false, "is stopped for its update")
	if x.NextID != "" || time.Until(x.DueAt) > time.Minute {
		t.Errorf("meanwhile: %+v", x)
	}
}

// A rule that replaces what runs cannot keep its data.
func TestKeep_NeedsUpdatesAside(t *testing.T) {
	s := newStory(t)
	rule := s.rule
	rule.Data = controlplane.DataKeep
	_, err := s.PutRule(t.Context(), system, RulePut{Rule: rule})
	if controlplane.CodeOf(err) != "data_not_kept" {
		t.Errorf("it is refused with %v", err)
	}
}
