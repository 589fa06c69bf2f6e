package engine_test

import (
	"slices"
	"testing"
	"time"

	"github.com/nullops/nullops/agent/engine"
	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/pipeline"
)

// answerLast ends the operation that was begun last, and returns its kind; "" if there is none.
func (a *asker) answerLast(r engine.Result) engine.Kind {
	do := a.last
	a.last = engine.StartOperation{}
	if do.Kind != "" {
		a.feed(engine.OperationEnded{Op: do.Op, Result: r})
	}
	return do.Kind
}

// What appears after a run has failed is removed, once, and again if that did not work.
func TestFailed_RemovesStrays(t *testing.T) {
	ok := engine.Result{Outcome: engine.OutcomeOK}
	a := newWaitingRun(t)
	a.last = engine.StartOperation{}
	a.feed(engine.GoalSet{Goal: approvalGoal("r", answerWith(false, "ada"))})
	a.ends()
	if p := a.m.State().Phase; p != wire.PhaseFailed {
		t.Fatalf("it is %s", p)
	}
	a.now = a.now.Add(time.Second)
	a.feed(engine.ObjectsListed{Began: a.now, Objects: 1})
	if kind := a.answerLast(engine.Result{Outcome: engine.OutcomeUnknown}); kind != engine.RemoveAll {
		t.Fatalf("it did %q", kind)
	}
	if a.last.Kind != "" {
		t.Fatalf("it tried again at once: %q", a.last.Kind)
	}
	a.now = a.now.Add(time.Hour)
	a.feed(engine.Tick{})
	if kind := a.answerLast(ok); kind != engine.RemoveAll {
		t.Fatalf("it did not try again: %q", kind)
	}
	a.now = a.now.Add(time.Hour)
	a.feed(engine.Tick{})
	if a.last.Kind != "" {
		t.Errorf("all is gone, and it did %q", a.last.Kind)
	}
}

// A new run does not wait for the next try to remove what was left of the one before.
func TestFailed_StraysDelayNoNewRun(t *testing.T) {
	a := newWaitingRun(t)
	a.last = engine.StartOperation{}
	a.feed(engine.GoalSet{Goal: approvalGoal("r", answerWith(false, "ada"))})
	a.ends()
	a.now = a.now.Add(time.Second)
	a.feed(engine.ObjectsListed{Began: a.now, Objects: 1})
	a.answerLast(engine.Result{Outcome: engine.OutcomeUnknown})
	next := approvalGoal("next", nil)
	next.Generation = 2
	a.feed(engine.GoalSet{Goal: next})
	if a.feed(engine.SecretsArrived{Run: "next"}); a.last.Kind != engine.Prepare {
		t.Errorf("it did %+v, and wakes in %s", a.last, a.wakes())
	}
}

// A service that cannot be started may have lost its image: it is pulled before the next try,
// which comes later.
func TestReady_PullsBeforeTheNextTry(t *testing.T) {
	ok, no := engine.Result{Outcome: engine.OutcomeOK}, engine.Result{Outcome: engine.OutcomeNo}
	a := &asker{t: t, m: engine.New("d"), now: time.Unix(1e9, 0)}
	a.feed(engine.GoalSet{Goal: wire.Goal{Deployment: "d", Generation: 1, Run: "r",
		Want: wire.WantPresent, Ready: true, Pipeline: pipeline.Pipeline{Format: 1,
			Order: []pipeline.StepKey{"web"}, Steps: []pipeline.Step{{Key: "web",
				Service: &pipeline.ServiceStep{Name: "web", Image: &pipeline.Image{}}}}}}})
	a.feed(engine.SecretsArrived{Run: "r"})
	var did []engine.Kind
	for range 3 {
		a.now = a.now.Add(time.Hour)
		a.feed(engine.ObjectsListed{Began: a.now, Network: true, Relay: true})
		for a.last.Kind != "" && len(did) < 20 {
			result := ok
			if a.last.Kind == engine.Start {
				result = no
			}
			did = append(did, a.answerLast(result))
		}
	}
	starts := 0
	for i, kind := range did {
		if kind == engine.Start {
			if starts++; i == 0 || did[i-1] != engine.Pull {
				t.Errorf("it started without a pull: %v", did)
			}
		}
	}
	if starts < 2 || !slices.Contains(did, engine.Pull) {
		t.Errorf("it did %v", did)
	}
}

// The container of a plugin that outlived its run is removed once for each listing that shows it:
// a failure waits for the next one, and the end of a removal may come after a listing without it.
func TestReady_RemovesAPluginThatOutlivedItsRun(t *testing.T) {
	a := newReadyRun(t)
	seen := engine.ObjectsListed{Network: true, Running: []pipeline.StepKey{"db", "web"},
		Plugins: []pipeline.StepKey{"seed"}}
	for range 2 {
		a.look(seen)
		if a.last.Kind != engine.Remove || a.last.Step != "seed" || a.last.Action != "create" {
			t.Fatalf("it did %+v", a.last)
		}
		a.answerLast(engine.Result{Outcome: engine.OutcomeNo})
		if a.last.Kind != "" {
			t.Fatalf("it tried again at once: %+v", a.last)
		}
	}
	a.look(seen)
	seen.Plugins = nil
	a.look(seen)
	if a.answerLast(engine.Result{Outcome: engine.OutcomeOK}); a.last.Kind != "" {
		t.Errorf("nothing is left, and it did %+v", a.last)
	}
}
