package fleet

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/pipeline"
)

func drawOrders(t *rapid.T) (all []controlplane.NodeGoal) {
	for i := range rapid.IntRange(0, 40).Draw(t, "orders") {
		all = append(all, controlplane.NodeGoal{
			Deployment: controlplane.DeploymentID(fmt.Sprintf("d-%d", i)),
			Generation: rapid.Int64Range(1, 3).Draw(t, "generation"),
			Goal: rapid.SampledFrom([]controlplane.Goal{controlplane.GoalPresent,
				controlplane.GoalGone}).Draw(t, "goal"),
			Status:    rapid.SampledFrom(controlplane.DeploymentStatuses()).Draw(t, "status"),
			Elsewhere: rapid.Bool().Draw(t, "elsewhere"),
		})
	}
	return all
}

// What was sent is not sent again; a new generation, a run that became ready and a new
// answer are.
func TestChangedGoals_SendsExactlyWhatTheAgentDoesNotKnow(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		orders := drawOrders(t)
		if got := changedGoals(orders, nil); len(got) != len(orders) {
			t.Fatalf("to an agent that knows nothing, %d of %d were sent", len(got), len(orders))
		}
		sent := goalMarks(orders)
		if got := changedGoals(orders, sent); len(got) != 0 {
			t.Fatalf("sent again: %+v", got)
		}
		if len(orders) == 0 {
			return
		}
		o := &orders[rapid.IntRange(0, len(orders)-1).Draw(t, "changed")]
		switch rapid.IntRange(0, 2).Draw(t, "change") {
		case 0:
			o.Generation++
		case 1:
			o.Answers = map[pipeline.StepKey]controlplane.Answer{"ask": {Approved: true, By: "uma"}}
		default:
			was := isReady(*o)
			o.Goal, o.Status, o.Elsewhere = controlplane.GoalPresent, controlplane.Ready, false
			if was {
				o.Status = controlplane.Applying
			}
		}
		got := changedGoals(orders, sent)
		if len(got) != 1 || got[0].Deployment != string(o.Deployment) ||
			got[0].Generation != o.Generation || len(got[0].Answers) != len(o.Answers) {
			t.Fatalf("after %s changed, %+v was sent", o.Deployment, got)
		}
	})
}

// A full set that comes in parts has each goal once, in order, and is complete with its
// last part only; an agent would otherwise remove what the missing part lists.
func TestSplitGoals_OnlyTheLastPartOfAFullSetIsComplete(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		goals := changedGoals(drawOrders(t), nil)
		full := rapid.Bool().Draw(t, "full")
		parts := splitGoals(goals, full)
		if full && len(parts) == 0 {
			t.Fatal("an empty full set was not sent: the agent would keep what nobody wants")
		}
		n := 0
		for i, p := range parts {
			last := i == len(parts)-1
			if p.Full != full || p.More != (full && !last) || len(p.Goals) > maxGoals ||
				!full && len(p.Goals) == 0 {
				t.Fatalf("part %d of %d: full %v, more %v, %d goals", i+1, len(parts), p.Full, p.More,
					len(p.Goals))
			}
			for _, g := range p.Goals {
				if g.Deployment != goals[n].Deployment {
					t.Fatalf("%s is in the place of %s", g.Deployment, goals[n].Deployment)
				}
				n++
			}
		}
		if n != len(goals) {
			t.Fatalf("%d of %d goals were sent", n, len(goals))
		}
	})
}

// An agent without memory undoes a run that had begun, and continues only what is ready:
// nothing that ran already may run twice.
func TestNewGoal_SaysWhatAnAgentWithoutMemoryHasToDo(t *testing.T) {
	t.Parallel()
	begun := map[controlplane.DeploymentStatus]bool{controlplane.Applying: true,
		controlplane.Undoing: true, controlplane.Stuck: true}
	for _, s := range controlplane.DeploymentStatuses() {
		o := controlplane.NodeGoal{Deployment: "d", Goal: controlplane.GoalPresent, Status: s}
		if g := newGoal(o); g.Ready != (s == controlplane.Ready) || g.Begun != begun[s] {
			t.Errorf("%s: ready %v, begun %v", s, g.Ready, g.Begun)
		}
		gone, moving := o, o
		gone.Goal, moving.Elsewhere = controlplane.GoalGone, true
		if g := newGoal(gone); g.Ready || g.Begun || g.Want != wire.WantGone {
			t.Errorf("%s, and wanted gone: %+v", s, g)
		}
		if g := newGoal(moving); g.Ready || g.Begun || !g.Elsewhere {
			t.Errorf("%s, and on another node: %+v", s, g)
		}
	}
}

func TestRequestedRuns_CountsOnlyRunsThatTheAgentHasToStart(t *testing.T) {
	t.Parallel()
	got := requestedRuns([]wire.Goal{{Want: wire.WantPresent, Run: "a"},
		{Want: wire.WantPresent, Run: "b", Ready: true}, {Want: wire.WantGone, Run: "c"},
		{Want: wire.WantPresent, Run: "d", Elsewhere: true}})
	if len(got) != 1 || got[0] != "a" {
		t.Errorf("it counts %v", got)
	}
}

// Each wait is between half of its limit and all of it; limits double up to ten seconds,
// however long the failures last, and begin again after a reset.
func TestBackoff_DoublesUpToItsLimitAndBeginsAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var b backoff
		waited := func() time.Duration {
			began := time.Now()
			if !b.wait(t.Context(), nil) {
				t.Fatal("it gave up")
			}
			return time.Since(began)
		}
		limit := firstWait
		for i := range 100 {
			if got := waited(); got < limit/2 || got > limit {
				t.Fatalf("wait %d took %v of %v", i+1, got, limit)
			}
			limit = min(2*limit, longestWait)
		}
		b.reset()
		if got := waited(); got > firstWait {
			t.Errorf("after a reset it waited %v", got)
		}
	})
}
