package lifecycle_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/lifecycle"
	"github.com/nullops/nullops/pipeline"
)

// stages bring a deployment to where it is wanted, by the ways there are.
var stages = map[string]func(*rig, controlplane.DeploymentID){
	"queued": func(*rig, controlplane.DeploymentID) {},
	"applying": func(r *rig, id controlplane.DeploymentID) {
		r.applyStatuses(id, controlplane.Applying)
	},
	"ready": func(r *rig, id controlplane.DeploymentID) {
		r.applyStatuses(id, controlplane.Applying, controlplane.Ready)
	},
	"undoing after a failure": func(r *rig, id controlplane.DeploymentID) {
		r.applyStatuses(id, controlplane.Applying, controlplane.Undoing)
	},
	"failed": func(r *rig, id controlplane.DeploymentID) {
		r.applyStatuses(id, controlplane.Applying, controlplane.Failed)
	},
	"removing": func(r *rig, id controlplane.DeploymentID) {
		r.applyStatuses(id, controlplane.Applying, controlplane.Ready)
		r.removeDeployment(id)
	},
	"undoing because canceled": func(r *rig, id controlplane.DeploymentID) {
		r.applyStatuses(id, controlplane.Applying)
		r.removeDeployment(id)
	},
	"stuck": func(r *rig, id controlplane.DeploymentID) {
		r.applyStatuses(id, controlplane.Applying, controlplane.Ready)
		r.removeDeployment(id)
		r.applyStatuses(id, controlplane.Stuck)
	},
	"removed": func(r *rig, id controlplane.DeploymentID) {
		r.applyStatuses(id, controlplane.Applying, controlplane.Ready)
		r.removeDeployment(id)
		r.applyStatuses(id, controlplane.Removed)
	},
	"canceled": func(r *rig, id controlplane.DeploymentID) {
		r.applyStatuses(id, controlplane.Applying)
		r.removeDeployment(id)
		r.applyStatuses(id, controlplane.Removed)
	},
}

// reported lists what an agent says.
var reported = []controlplane.DeploymentStatus{controlplane.Applying, controlplane.Ready,
	controlplane.Undoing, controlplane.Failed, controlplane.Removing, controlplane.Removed,
	controlplane.Stuck}

// becomes is what a report makes of a deployment; what is not listed changes nothing.
var becomes = map[string]map[controlplane.DeploymentStatus]controlplane.DeploymentStatus{
	"queued": {controlplane.Applying: controlplane.Applying,
		controlplane.Undoing: controlplane.Undoing, controlplane.Failed: controlplane.Failed},
	"applying": {controlplane.Ready: controlplane.Ready,
		controlplane.Undoing: controlplane.Undoing, controlplane.Failed: controlplane.Failed},
	"ready": {controlplane.Removing: controlplane.Removing},
	"undoing after a failure": {controlplane.Failed: controlplane.Failed,
		controlplane.Stuck: controlplane.Stuck},
	"failed": {controlplane.Removing: controlplane.Removing,
		controlplane.Removed: controlplane.Removed},
	"removing": {controlplane.Removed: controlplane.Removed, controlplane.Stuck: controlplane.Stuck},
	"undoing because canceled": {controlplane.Removed: controlplane.Canceled,
		controlplane.Failed: controlplane.Canceled, controlplane.Stuck: controlplane.Stuck},
	"stuck": {controlplane.Removing: controlplane.Removing},
}

func TestApply_MovesTheStatusOnlyAsTheTransitionRulesAllow(t *testing.T) {
	r := newRig(t)
	n := 0
	for stage, reach := range stages {
		var d controlplane.Deployment
		for _, says := range reported {
			if d.ID == "" {
				n++
				d = r.createDeployment(fmt.Sprintf("d-%d", n))
				reach(r, d.ID)
				d = r.get(d.ID)
			}
			want, moves := becomes[stage][says]
			if !moves {
				want = d.Status
			}
			got := r.applyStatuses(d.ID, says)
			if got.Status != want {
				t.Errorf("%s, and the node says %s: it is %s, not %s", stage, says, got.Status, want)
			}
			if !moves && got.Revision != d.Revision {
				t.Errorf("%s, and the node says %s: the row was written", stage, says)
			}
			if got.Status != d.Status {
				d = controlplane.Deployment{}
			}
		}
	}
}

func TestApply_StaleGenerationUpdatesStepsButNeverTheStatus(t *testing.T) {
	r := newRig(t)
	d := r.createDeployment("d")
	r.applyStatuses(d.ID, controlplane.Applying)
	ready := r.newReport(d.ID, controlplane.Ready)
	done := r.stepReport(d.ID, "api", pipeline.StepDone)
	removed := r.removeDeployment(d.ID)
	if removed.Generation <= ready.Generation {
		t.Fatalf("removing left generation %d at %d", ready.Generation, removed.Generation)
	}
	r.apply(ready, done)
	got := r.get(d.ID)
	if got.Status != controlplane.Undoing || got.Detail != removed.Detail {
		t.Errorf("a report about generation %d made it %s: %q", ready.Generation, got.Status,
			got.Detail)
	}
	if s := r.stepStatuses(d.ID)["api"]; s != pipeline.StepDone {
		t.Errorf("what happened to the step was lost: %s", s)
	}
}

func TestApply_DoubledOrOlderReportChangesNothing(t *testing.T) {
	r := newRig(t)
	d := r.createDeployment("d")
	first := r.newReport(d.ID, controlplane.Applying)
	second := r.newReport(d.ID, "")
	r.apply(first)
	was := r.get(d.ID)
	for _, seq := range []int64{first.Seq, first.Seq - 1} {
		again := first
		again.Seq, again.Status = seq, controlplane.Failed
		r.apply(again)
		// The same number twice in one batch, too.
		r.apply(again, again)
	}
	if got := r.get(d.ID); got.Revision != was.Revision || got.Status != controlplane.Applying {
		t.Errorf("it is %s, revision %d instead of %d", got.Status, got.Revision, was.Revision)
	}
	second.Status = controlplane.Ready
	failed := second
	failed.Status = controlplane.Removing
	r.apply(second, failed)
	if got := r.get(d.ID); got.Status != controlplane.Ready {
		t.Errorf("of two with one number in a batch, the second counted: %s", got.Status)
	}
}

// threat: T38
func TestApply_IgnoresReportsFromANodeThatDoesNotHaveTheDeployment(t *testing.T) {
	r := newRig(t)
	d := r.createDeployment("d")
	other := r.addNode("node-2", controlplane.NodeSettings{})
	if r.get(d.ID).NodeID == other {
		t.Fatal("it is on the node that was added later")
	}
	status, step := r.newReport(d.ID, controlplane.Applying), r.stepReport(d.ID, "api",
		pipeline.StepRunning)
	status.Node, step.Node = other, other
	before, err := r.Routes(t.Context(), system)
	r.failOnError(nil, err)
	r.apply(status, step)
	after, err := r.Routes(t.Context(), system)
	r.failOnError(nil, err)
	if len(before) == 0 || before[0].Node == other || !reflect.DeepEqual(before, after) {
		t.Errorf("the routes were %+v, and are %+v", before, after)
	}
	if got := r.get(d.ID); got.Status != controlplane.Queued || got.Revision != d.Revision {
		t.Errorf("another node made it %s", got.Status)
	}
	if s := r.stepStatuses(d.ID)["api"]; s != pipeline.StepPending {
		t.Errorf("another node made its step %s", s)
	}
}

func TestApply_IgnoresStepsOfAnotherDeploymentsRun(t *testing.T) {
	r := newRig(t)
	a, b := r.createDeployment("a"), r.createDeployment("b")
	mixed := r.stepReport(a.ID, "api", pipeline.StepDone)
	mixed.Run = b.RunID
	r.apply(mixed)
	for _, id := range []controlplane.DeploymentID{a.ID, b.ID} {
		if s := r.stepStatuses(id)["api"]; s != pipeline.StepPending {
			t.Errorf("%s: step is %s", r.get(id).Name, s)
		}
	}
}

func TestApply_StoresABatchWholeOrNotAtAll(t *testing.T) {
	r := newRig(t)
	d := r.createDeployment("d")
	batch := []lifecycle.Report{r.newReport(d.ID, controlplane.Applying),
		r.stepReport(d.ID, "api", pipeline.StepDone), r.newReport(d.ID, controlplane.Undoing)}
	r.failAt = "report.commit"
	if err := r.Apply(t.Context(), system, batch...); !errors.Is(err, errInjected) {
		t.Fatalf("it ended with %v", err)
	}
	if got := r.get(d.ID); got.Status != controlplane.Queued || len(r.ended) != 0 {
		t.Fatalf("a batch that failed made it %s, and told of %v", got.Status, r.ended)
	}
	r.apply(batch...)
	if got := r.get(d.ID); got.Status != controlplane.Undoing {
		t.Errorf("sent again, it made it %s", got.Status)
	}
	if !slices.Equal(r.ended, []pipeline.StepKey{"api"}) {
		t.Errorf("steps that ended: %v", r.ended)
	}
	_, last, err := r.NodeGoals(t.Context(), system, r.node)
	if err != nil || last != batch[2].Seq {
		t.Errorf("the last report is %d, %v; not %d", last, err, batch[2].Seq)
	}
}

func TestApply_NeedsTheSystem(t *testing.T) {
	r := newRig(t)
	d := r.createDeployment("d")
	err := r.Apply(t.Context(), r.newProjectUser("full", controlplane.LevelFull),
		r.newReport(d.ID, controlplane.Ready))
	if controlplane.KindOf(err) != controlplane.Forbidden {
		t.Errorf("a person reported: %v", err)
	}
}

func TestApply_FailedSaysWhichStepFailedAndKeepsItsCode(t *testing.T) {
	r := newRig(t)
	d := r.createDeployment("d")
	r.applyStatuses(d.ID, controlplane.Applying)
	failed := r.stepReport(d.ID, "api", pipeline.StepFailed)
	failed.Code, failed.Message = "not_ready", "nothing listens on port 8080"
	ended := r.newReport(d.ID, controlplane.Failed)
	ended.Message = "all is undone"
	r.apply(failed, ended)
	got := r.get(d.ID)
	// promise: U-01
	if got.Status != controlplane.Failed ||
		got.Detail != "Step api failed: nothing listens on port 8080." {
		t.Errorf("it is %s: %q", got.Status, got.Detail)
	}
	if got.Failure == nil || got.Failure.Step != "api" || got.Failure.Code != "not_ready" {
		t.Errorf("its failure is %+v", got.Failure)
	}
}

func TestApply_GoneFreesNameAndHosts(t *testing.T) {
	r := newRig(t)
	for _, how := range []string{"removed", "canceled"} {
		first := r.createDeployment("d")
		stages[how](r, first.ID)
		n := r.queryCount("SELECT count(*) FROM deployment_hosts WHERE deployment_id = $1", first.ID)
		if n != 0 {
			t.Errorf("%s: it still has %d hosts", how, n)
		}
		second, err := r.Create(t.Context(), system, newRequest("d"))
		if err != nil {
			t.Fatalf("%s: its name is not free: %v", how, err)
		}
		stages["removed"](r, second.ID)
	}
}

func TestObserveHealth_DegradesOnlyWhatIsReadyAndOnThatNode(t *testing.T) {
	r := newRig(t)
	d := r.createDeployment("d")
	bad := []controlplane.ServiceHealth{{Deployment: d.ID, Step: "api", Health: "unhealthy",
		Detail: "connection refused"}}
	observe := func(node controlplane.NodeID, health []controlplane.ServiceHealth) string {
		r.failOnError(nil, r.ObserveHealth(t.Context(), system, node, health))
		return r.get(d.ID).Degraded
	}
	r.applyStatuses(d.ID, controlplane.Applying)
	if got := observe(r.node, bad); got != "" {
		t.Errorf("while it is applied it is degraded: %s", got)
	}
	ready := r.newReport(d.ID, controlplane.Ready)
	r.apply(r.stepReport(d.ID, "api", pipeline.StepDone))
	ready.Seq = r.seq + 1
	r.seq++
	r.apply(ready)
	if got := observe(r.addNode("node-2", controlplane.NodeSettings{}), bad); got != "" {
		t.Errorf("another node's measurement made it degraded: %s", got)
	}
	if got := observe(r.node, bad); got == "" {
		t.Error("with an unhealthy service it is not degraded")
	}
	bad[0].Health, bad[0].Detail = "healthy", ""
	if got := observe(r.node, bad); got != "" {
		t.Errorf("well again, it is degraded: %s", got)
	}
}

func TestAnswer_CountsOnceAndOnlyWhileAsked(t *testing.T) {
	r := newRig(t)
	d := r.createDeployment("d")
	reply := lifecycle.ApprovalReply{Run: d.Run, Step: "ask", Approved: true}
	answer := func(level controlplane.Level) string {
		_, err := r.AnswerQuestion(t.Context(), r.newProjectUser("uma", level), d.ID, reply)
		return controlplane.CodeOf(err)
	}
	r.applyStatuses(d.ID, controlplane.Applying)
	if got := answer(controlplane.LevelFull); got != "not_asked" {
		t.Errorf("before it asked: %q", got)
	}
	asked := r.stepReport(d.ID, "ask", pipeline.StepWaiting)
	asked.Message, asked.Deadline = "Go on?", time.Now().Add(time.Hour)
	r.apply(asked)
	if got := answer(controlplane.LevelNone); got != "not_found" {
		t.Errorf("by a stranger: %q", got)
	}
	if got := answer(controlplane.LevelRead); got == "" || got == "not_found" {
		t.Errorf("by a reader: %q", got)
	}
	if got := answer(controlplane.LevelFull); got != "" {
		t.Errorf("by a member: %q", got)
	}
	if got := answer(controlplane.LevelFull); got != "answered" {
		t.Errorf("a second time: %q", got)
	}
}
