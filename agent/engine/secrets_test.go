package engine_test

import (
	"slices"
	"testing"

	"github.com/nullops/nullops/agent/engine"
	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/pipeline"
)

// A run's secrets are fetched when the run begins: not while it waits for the run
// before it to be undone.
func TestMachine_FetchesSecretsWhenTheRunBegins(t *testing.T) {
	a := newWaitingRun(t)
	next := approvalGoal("r2", nil)
	next.Generation = 2
	a.last = engine.StartOperation{}
	a.feed(engine.GoalSet{Goal: next})
	for undone := false; ; {
		for _, e := range a.out {
			// promise: N-115
			if w, ok := e.(engine.WantSecrets); ok && !undone {
				t.Fatalf("the secrets of %s were fetched while the run before it was there", w.Run)
			} else if ok && w.Run == "r2" {
				return
			}
		}
		do := a.last
		if do.Kind == "" {
			t.Fatal("the new run did not begin")
		}
		undone = do.Kind == engine.RemoveAll
		a.last = engine.StartOperation{}
		a.feed(engine.OperationEnded{Op: do.Op, Result: engine.Result{Outcome: engine.OutcomeOK}})
	}
}

// The secrets of a run that has ended are dropped, so a removal that needs them fetches them again.
func TestMachine_FetchesDroppedSecretsAgain(t *testing.T) {
	a := newForgottenRun(t, wire.WantPresent)
	a.feed(engine.SecretsArrived{Run: "r", Begun: []pipeline.StepKey{"db"}})
	a.undoes(wire.PhaseFailed)
	gone := *a.m.CurrentGoal()
	gone.Generation, gone.Want = 3, wire.WantGone
	a.last = engine.StartOperation{}
	a.feed(engine.GoalSet{Goal: gone})
	want := engine.Effect(engine.WantSecrets{Generation: 3, Run: "r"})
	if !slices.Contains(a.out, want) || a.last.Kind != "" {
		t.Errorf("it does %v", a.out)
	}
}
