package engine_test

import (
	"testing"
	"time"

	"github.com/nullops/nullops/agent/engine"
	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/pipeline"
)

// asker is a machine with one approval, and what it did.
type asker struct {
	t       *testing.T
	m       *engine.Machine
	now     time.Time
	journal []engine.Record
	out     []engine.Effect
	last    engine.StartOperation
}

func approvalGoal(run string, answers map[pipeline.StepKey]wire.Answer) wire.Goal {
	return wire.Goal{Deployment: "d", Generation: 1, Want: wire.WantPresent, Run: run,
		Answers: answers, Pipeline: pipeline.Pipeline{Order: []pipeline.StepKey{"ask"},
			Steps: []pipeline.Step{{Key: "ask", Approval: &pipeline.ApprovalStep{Prompt: "?",
				TimeoutSeconds: 60}}}}}
}

func answerWith(approved bool, by string) map[pipeline.StepKey]wire.Answer {
	return map[pipeline.StepKey]wire.Answer{"ask": {Approved: approved, By: by}}
}

func (a *asker) feed(ev engine.Event) {
	a.out = stepAndCheck(a.t, a.m, a.now, ev)
	for _, e := range a.out {
		if r, ok := e.(engine.Record); ok {
			a.journal = append(a.journal, r)
		}
		if do, ok := e.(engine.StartOperation); ok {
			a.last = do
		}
	}
}

// endOperation ends the operation that was begun last, which has to be of the kind.
func (a *asker) endOperation(kind engine.Kind) engine.StartOperation {
	a.t.Helper()
	d := a.last
	if d.Kind != kind {
		a.t.Fatalf("began %q, want %q", d.Kind, kind)
	}
	a.feed(
		engine.OperationEnded{
			Op:     d.Op,
			Result: engine.Result{Outcome: engine.OutcomeOK, Message: "go on?"},
		},
	)
	return d
}

// newWaitingRun brings a machine to where it waits for a person.
func newWaitingRun(t *testing.T) *asker {
	t.Helper()
	a := &asker{t: t, m: engine.New("d"), now: time.Unix(1e9, 0)}
	a.feed(engine.GoalSet{Goal: approvalGoal("r", nil)})
	a.feed(engine.SecretsArrived{Run: "r"})
	a.endOperation(engine.Prepare)
	a.endOperation(engine.EvaluatePrompt)
	a.status(pipeline.StepWaiting)
	return a
}

func (a *asker) status(want pipeline.StepStatus) {
	a.t.Helper()
	if got := a.m.Status("ask"); got != want {
		a.t.Fatalf("the approval is %s, want %s", got, want)
	}
}

// restart is kill -9, and the start on what was journaled.
func (a *asker) restart() {
	a.m = engine.Replay("d", a.journal)
	a.feed(engine.AgentRestarted{})
}

func (a *asker) event(t *testing.T) wire.Event {
	t.Helper()
	for _, e := range a.out {
		if r, ok := e.(engine.Report); ok && r.Event.Step == "ask" {
			return r.Event
		}
	}
	t.Fatalf("nothing was reported of the approval: %v", a.out)
	return wire.Event{}
}

func TestApproval_TellsQuestionAndDeadline(t *testing.T) {
	a := newWaitingRun(t)
	e := a.event(t)
	if e.Message != "go on?" || !e.Deadline.Equal(a.now.Add(time.Minute)) {
		t.Errorf("reported %+v", e)
	}
	for _, e := range a.out {
		if w, ok := e.(engine.Wake); ok && w.At.Equal(a.now.Add(time.Minute)) {
			return
		}
	}
	t.Error("nobody wakes it at its deadline")
}

// The first answer counts, whatever comes later and how often it comes.
func TestApproval_FirstAnswerCounts(t *testing.T) {
	a := newWaitingRun(t)
	a.restart()
	a.feed(engine.GoalSet{Goal: approvalGoal("another", answerWith(false, "eve"))})
	a.feed(engine.GoalSet{Goal: approvalGoal("r", answerWith(true, "ada"))})
	a.restart()
	a.feed(engine.GoalSet{Goal: approvalGoal("r", answerWith(false, "bob"))})
	a.feed(engine.SecretsArrived{Run: "r"})
	a.endOperation(engine.Prepare)
	if d := a.endOperation(engine.EvaluateAnswer); d.Reply == nil || d.Reply.By != "ada" {
		t.Errorf("took %+v", d.Reply)
	}
	a.status(pipeline.StepDone)
	if phase := a.m.State().Phase; phase != wire.PhaseReady {
		t.Errorf("the run is %s", phase)
	}
}

// What comes between an answer and its use is tried again by itself: nobody has to
// answer twice.
func TestApproval_AnswerOutlivesAFailedPrepare(t *testing.T) {
	a := newWaitingRun(t)
	a.restart()
	a.feed(engine.GoalSet{Goal: approvalGoal("r", answerWith(true, "ada"))})
	a.feed(engine.SecretsArrived{Run: "r"})
	a.feed(engine.OperationEnded{Op: a.last.Op, Result: engine.Result{Outcome: engine.OutcomeUnknown}})
	for _, e := range a.out {
		if w, ok := e.(engine.Wake); ok {
			a.now = w.At
		}
	}
	a.feed(engine.Tick{})
	a.endOperation(engine.Prepare)
	a.endOperation(engine.EvaluateAnswer)
	a.status(pipeline.StepDone)
}

// An agent that lost its memory runs the steps before once more, and asks; the
// answer is there already.
func TestApproval_AnswerFromBefore(t *testing.T) {
	a := &asker{t: t, m: engine.New("d"), now: time.Unix(1e9, 0)}
	a.feed(engine.GoalSet{Goal: approvalGoal("r", answerWith(true, "ada"))})
	a.feed(engine.SecretsArrived{Run: "r"})
	a.endOperation(engine.Prepare)
	a.endOperation(engine.EvaluatePrompt)
	a.endOperation(engine.EvaluateAnswer)
	a.status(pipeline.StepDone)
}

// The end of the wait needs nobody: neither secrets nor a control plane.
func TestApproval_EndsByItsOwnClock(t *testing.T) {
	a := newWaitingRun(t)
	a.now = a.now.Add(59 * time.Second)
	a.restart()
	a.status(pipeline.StepWaiting)
	a.now = a.now.Add(time.Second)
	a.feed(engine.Tick{})
	// promise: B-37
	if e := a.event(t); e.Status != pipeline.StepFailed || e.Code != engine.CodeUnanswered {
		t.Errorf("reported %+v", e)
	}
	a.feed(engine.GoalSet{Goal: approvalGoal("r", answerWith(true, "ada"))})
	a.endOperation(engine.RemoveAll)
	if phase := a.m.State().Phase; phase != wire.PhaseFailed {
		t.Errorf("the run is %s", phase)
	}
}

// A question that cannot be asked, such as one whose reference has no value, fails the run.
func TestApproval_WithoutAQuestionFailsTheRun(t *testing.T) {
	a := &asker{t: t, m: engine.New("d"), now: time.Unix(1e9, 0)}
	a.feed(engine.GoalSet{Goal: approvalGoal("r", nil)})
	a.feed(engine.SecretsArrived{Run: "r"})
	a.endOperation(engine.Prepare)
	a.answerLast(engine.Result{Outcome: engine.OutcomeNo, Code: "bad", Message: "it says no"})
	if e := a.event(t); e.Status != pipeline.StepFailed || e.Code != "bad" ||
		e.Message != "it says no" {
		t.Errorf("reported %+v", e)
	}
	a.endOperation(engine.RemoveAll)
	if phase := a.m.State().Phase; phase != wire.PhaseFailed {
		t.Errorf("the run is %s", phase)
	}
}

// A question or an answer whose evaluation was lost is tried again a second later, and a goal that
// comes again is no news.
func TestApproval_AsksAgainLater(t *testing.T) {
	a := &asker{t: t, m: engine.New("d"), now: time.Unix(1e9, 0)}
	a.feed(engine.GoalSet{Goal: approvalGoal("r", nil)})
	a.feed(engine.SecretsArrived{Run: "r"})
	a.endOperation(engine.Prepare)
	if a.answerLast(engine.Result{Outcome: engine.OutcomeUnknown}); a.last.Kind != "" ||
		a.wakes() != time.Second {
		t.Errorf("it did %+v, and wakes in %s", a.last, a.wakes())
	}
	before := len(a.journal)
	a.feed(engine.GoalSet{Goal: approvalGoal("r", nil)})
	if len(a.journal) != before {
		t.Errorf("a repeated goal was recorded: %+v", a.journal[before:])
	}
	a = newWaitingRun(t)
	a.feed(engine.GoalSet{Goal: approvalGoal("r", answerWith(true, "ada"))})
	if kind := a.answerLast(engine.Result{Outcome: engine.OutcomeUnknown}); a.last.Kind != "" ||
		a.wakes() != time.Second || kind != engine.EvaluateAnswer {
		t.Errorf("after %q it did %+v, and wakes in %s", kind, a.last, a.wakes())
	}
}

// A run that is removed while it waits for another try is undone at once.
func TestUndo_WaitsForNoTryOfTheRun(t *testing.T) {
	a := &asker{t: t, m: engine.New("d"), now: time.Unix(1e9, 0)}
	a.feed(engine.GoalSet{Goal: approvalGoal("r", nil)})
	a.feed(engine.SecretsArrived{Run: "r"})
	a.answerLast(engine.Result{Outcome: engine.OutcomeUnknown})
	if a.feed(engine.GoalSet{Goal: goneGoal(2)}); a.last.Kind != engine.RemoveAll {
		t.Errorf("it did %+v, and wakes in %s", a.last, a.wakes())
	}
}

func TestApproval_RejectedFailsTheRun(t *testing.T) {
	a := newWaitingRun(t)
	a.restart()
	a.feed(engine.GoalSet{Goal: approvalGoal("r", answerWith(false, "ada"))})
	if e := a.event(t); e.Code != engine.CodeRejected || e.Message != "ada rejected it" {
		t.Errorf("reported %+v", e)
	}
}

func TestApproval_CanceledWhileWaiting(t *testing.T) {
	a := newWaitingRun(t)
	gone := approvalGoal("r2", nil)
	gone.Generation, gone.Want = 2, wire.WantGone
	a.feed(engine.GoalSet{Goal: gone})
	// promise: B-37
	if e := a.event(t); e.Status != pipeline.StepSkipped || e.Code != engine.CodeCanceled {
		t.Errorf("reported %+v", e)
	}
	a.endOperation(engine.RemoveAll)
	if phase := a.m.State().Phase; phase != wire.PhaseRemoved {
		t.Errorf("the deployment is %s", phase)
	}
}
