package engine_test

import (
	"slices"
	"testing"
	"time"

	"github.com/nullops/nullops/agent/engine"
	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/pipeline"
)

// ends ends what the machine begins with success, until it begins nothing, and lists it.
func (a *asker) ends() (did []engine.Kind) {
	for a.last.Kind != "" {
		do := a.last
		did = append(did, do.Kind)
		a.last = engine.StartOperation{}
		a.feed(engine.OperationEnded{Op: do.Op, Result: engine.Result{Outcome: engine.OutcomeOK}})
	}
	return did
}

// Objects of which neither journal nor control plane know anything are removed, in silence, and
// a restart in between changes nothing.
func TestMachine_RemovesWhatNobodyKnows(t *testing.T) {
	a := &asker{t: t, m: engine.New("d"), now: time.Unix(1e9, 0)}
	a.feed(engine.GoalMissing{})
	if s := a.m.State(); !s.Abandoned || s.Phase != wire.PhaseRemoving {
		t.Fatalf("it is %+v", s)
	}
	a.last = engine.StartOperation{}
	a.restart()
	if s := a.m.State(); !s.Abandoned {
		t.Fatalf("a restart forgot that nobody knows it: %+v", s)
	}
	if did := a.ends(); !slices.Contains(did, engine.RemoveAll) {
		t.Errorf("it did %v", did)
	}
	if !slices.Contains(a.out, engine.Effect(engine.Forget{})) {
		t.Errorf("it does not forget it: %v", a.out)
	}
}

// A run that the control plane does not know any more is undone, which takes no word to it.
func TestMachine_UndoesARunThatNobodyKnows(t *testing.T) {
	a := newWaitingRun(t)
	a.last = engine.StartOperation{}
	a.feed(engine.GoalMissing{})
	if g := a.m.CurrentGoal(); g.Want != wire.WantGone || !a.m.State().Abandoned {
		t.Fatalf("it wants %s: %+v", g.Want, a.m.State())
	}
	if did := a.ends(); !slices.Contains(did, engine.RemoveAll) {
		t.Errorf("it did %v", did)
	}
}

// A run that has failed has nothing left to remove: when the control plane does not know it any
// more, it is forgotten, and nothing is told of it.
func TestMachine_ForgetsAFailedRunThatNobodyKnows(t *testing.T) {
	a := newWaitingRun(t)
	a.last = engine.StartOperation{}
	a.feed(engine.GoalSet{Goal: approvalGoal("r", answerWith(false, "ada"))})
	a.ends()
	a.feed(engine.GoalMissing{})
	if len(a.out) != 1 || a.out[0] != engine.Effect(engine.Forget{}) ||
		a.m.State().Phase != wire.PhaseFailed {
		t.Errorf("it is %s, and does %v", a.m.State().Phase, a.out)
	}
}

// A goal that waits for the one before it outlives a restart, also in the short form of the
// journal.
func TestSnapshot_KeepsTheNextGoal(t *testing.T) {
	a := newWaitingRun(t)
	next := approvalGoal("r2", nil)
	next.Generation = 2
	a.feed(engine.GoalSet{Goal: next})
	records := a.m.Snapshot()
	if last := records[len(records)-1]; last.Next == nil || last.Next.Run != "r2" {
		t.Fatalf("the snapshot ends with %+v", last)
	}
	a.m = engine.Replay("d", records)
	a.last = engine.StartOperation{}
	a.feed(engine.AgentRestarted{})
	a.ends()
	if g := a.m.CurrentGoal(); g.Run != "r2" {
		t.Errorf("after the restart it works on %s", g.Run)
	}
}

// An answer that comes twice, and other ones with it, does not lose the first.
func TestApproval_LaterAnswersKeepTheFirst(t *testing.T) {
	first := answerWith(true, "ada")
	a := &asker{t: t, m: engine.New("d"), now: time.Unix(1e9, 0)}
	a.feed(engine.GoalSet{Goal: approvalGoal("r", first)})
	again := approvalGoal("r", map[pipeline.StepKey]wire.Answer{
		"ask": {Approved: false, By: "bob"}, "other": {Approved: true, By: "bob"}})
	a.feed(engine.GoalSet{Goal: again})
	got := a.m.CurrentGoal().Answers
	if got["ask"].By != "ada" || !got["ask"].Approved || got["other"].By != "bob" {
		t.Errorf("the answers are %+v", got)
	}
}

// A refusal of another run's or generation's secrets, or one that comes late, ends nothing.
func TestMachine_HeedsRefusalsOfItsOwnSecretsOnly(t *testing.T) {
	goal := approvalGoal("r", nil)
	for name, refused := range map[string]engine.SecretsRefused{
		"another run":        {Run: "r0", Generation: 1, Reason: "no"},
		"another generation": {Run: "r", Generation: 2, Reason: "no"},
	} {
		a := &asker{t: t, m: engine.New("d"), now: time.Unix(1e9, 0)}
		a.feed(engine.GoalSet{Goal: goal})
		a.feed(refused)
		a.feed(engine.SecretsArrived{Run: "r"})
		a.endOperation(engine.Prepare)
		if p := a.m.State().Phase; p != wire.PhaseApplying {
			t.Errorf("%s: it is %s", name, p)
		}
	}
	a := newWaitingRun(t)
	a.feed(engine.SecretsRefused{Run: "r", Generation: 1, Reason: "no"})
	if p := a.m.State().Phase; p != wire.PhaseApplying {
		t.Errorf("late: it is %s", p)
	}
}
