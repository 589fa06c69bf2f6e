package engine_test

import (
	"testing"

	"github.com/nullops/nullops/agent/engine"
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
