package engine_test

import (
	"slices"
	"testing"
	"time"

	"github.com/nullops/nullops/agent/engine"
	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/pipeline"
)

// A missing relay is recreated although every service runs: without it they cannot be reached. So
// is a network, and its services restart.
func TestReady_RelayIsMissed(t *testing.T) {
	t.Parallel()
	p := pipeline.Pipeline{Format: 1, Order: []pipeline.StepKey{"web"}, Steps: []pipeline.Step{
		{Key: "web", Service: &pipeline.ServiceStep{Name: "web", Image: &pipeline.Image{}}}}}
	now := time.Unix(1_700_000_000, 0)
	m := engine.New("d")
	stepAndCheck(t, m, now, engine.GoalSet{Goal: wire.Goal{Deployment: "d", Generation: 1, Run: "r",
		Want: wire.WantPresent, Ready: true, Pipeline: p}})
	whole := engine.ObjectsListed{Network: true, Relay: true, Running: []pipeline.StepKey{"web"}}
	look := func(l engine.ObjectsListed) (did []engine.StartOperation) {
		now = now.Add(time.Second)
		l.Began = now
		for _, e := range stepAndCheck(t, m, now, l) {
			if do, ok := e.(engine.StartOperation); ok {
				did = append(did, do)
			}
		}
		return did
	}
	if did := look(whole); len(did) > 0 {
		t.Fatalf("nothing is missing, and it does %+v", did)
	}
	relayless := whole
	relayless.Relay = false
	did := look(relayless)
	if len(did) != 1 || did[0].Kind != engine.Prepare {
		t.Fatalf("without a relay it does %+v", did)
	}
	stepAndCheck(t, m, now, engine.OperationEnded{Op: did[0].Op,
		Result: engine.Result{Outcome: engine.OutcomeOK}})
	if did := look(whole); len(did) > 0 {
		t.Errorf("it is there again, and still it does %+v", did)
	}
	if did := look(relayless); len(did) != 1 || did[0].Kind != engine.Prepare {
		t.Errorf("the second time it does %+v", did)
	}
}

// newReadyRun returns a machine whose deployment is ready and runs: a database, a plugin and a
// service after it.
func newReadyRun(t *testing.T) *asker {
	t.Helper()
	g, _ := newMovableRun(t)
	g.Ready = true
	a := &asker{t: t, m: engine.New("d"), now: time.Unix(1_700_000_000, 0)}
	a.feed(engine.GoalSet{Goal: g})
	a.feed(engine.SecretsArrived{Run: "r"})
	a.look(engine.ObjectsListed{Network: true, Running: []pipeline.StepKey{"db", "web"}})
	if a.last.Kind != "" {
		t.Fatalf("nothing is wrong, and it did %+v", a.last)
	}
	return a
}

// look takes in a listing of now, with a relay.
func (a *asker) look(l engine.ObjectsListed) {
	a.now = a.now.Add(time.Second)
	l.Began, l.Relay = a.now, true
	a.feed(l)
}

// wakes returns after which time the machine asked to be woken; zero if it did not.
func (a *asker) wakes() time.Duration {
	for _, e := range a.out {
		if w, ok := e.(engine.Wake); ok {
			return w.At.Sub(a.now)
		}
	}
	return 0
}

// A service is started again a second after it was seen to be down, for which the machine asks to
// be woken. What was removed from outside waits no longer the second time.
func TestReady_StartsAgainASecondLater(t *testing.T) {
	t.Parallel()
	for name, l := range map[string]engine.ObjectsListed{
		"its container was removed": {Network: true, Running: []pipeline.StepKey{"db"},
			Missing: []pipeline.StepKey{"web"}},
		"the network was removed": {Running: []pipeline.StepKey{"db"}},
	} {
		a := newReadyRun(t)
		for i := range 3 {
			a.look(l)
			a.ends() // a network is made at once
			if wait := a.wakes(); wait != time.Second {
				t.Errorf("%s, for the %d. time: it waits for %s", name, i+1, wait)
			}
			a.now = a.now.Add(time.Second)
			a.feed(engine.Tick{})
			if did := a.ends(); !slices.Contains(did, engine.Start) {
				t.Errorf("%s, for the %d. time: it did %v", name, i+1, did)
			}
		}
	}
}

// One that ends again and again waits longer each time, and no longer once it has run for a minute.
func TestReady_WaitsLongerInACrashLoop(t *testing.T) {
	t.Parallel()
	a := newReadyRun(t)
	for i, c := range []struct{ ran, wait time.Duration }{{0, time.Second}, {0, 2 * time.Second},
		{0, 4 * time.Second}, {2 * time.Minute, time.Second}, {0, 2 * time.Second}} {
		a.now = a.now.Add(c.ran)
		a.look(engine.ObjectsListed{Network: true, Running: []pipeline.StepKey{"db"}})
		if wait := a.wakes(); wait != c.wait {
			t.Errorf("after end %d it waits for %s, want %s", i+1, wait, c.wait)
		}
		a.now = a.now.Add(a.wakes())
		a.feed(engine.Tick{})
		a.ends()
	}
}

// A service that somebody else has started meanwhile is not started again.
func TestReady_LeavesWhatRunsAgain(t *testing.T) {
	t.Parallel()
	a := newReadyRun(t)
	a.look(engine.ObjectsListed{Network: true, Running: []pipeline.StepKey{"db"}})
	a.look(engine.ObjectsListed{Network: true, Running: []pipeline.StepKey{"db", "web"}})
	a.now = a.now.Add(time.Minute)
	if a.feed(engine.Tick{}); a.last.Kind != "" {
		t.Errorf("it did %+v", a.last)
	}
}

// While services wait for one that was started again, it is asked later and later, not at once.
func TestReady_AsksAgainLater(t *testing.T) {
	t.Parallel()
	a := newRestartedRun(t)
	started := a.now
	if a.last.Kind != engine.Probe {
		t.Fatalf("it did %+v", a.last)
	}
	for _, took := range []time.Duration{0, 4 * time.Second} {
		a.now = a.now.Add(took)
		a.answerLast(engine.Result{Outcome: engine.OutcomeOK, Health: wire.HealthUnhealthy})
		if want := max(a.now.Sub(started)/16, 10*time.Millisecond); a.last.Kind != "" ||
			a.wakes() != want {
			t.Fatalf("it does %q, and wakes in %s instead of %s", a.last.Kind, a.wakes(), want)
		}
		a.now = a.now.Add(a.wakes())
		if a.feed(engine.Tick{}); a.last.Kind != engine.Probe || a.last.Step != "db" {
			t.Fatalf("then it does %+v", a.last)
		}
	}
}

// A copy of the volumes ends the questions to a service that was started again: afterwards it is
// started first.
func TestReady_ForgetsItsQuestionsForACopy(t *testing.T) {
	t.Parallel()
	a := newRestartedRun(t)
	a.answerLast(engine.Result{Outcome: engine.OutcomeOK, Health: wire.HealthUnhealthy})
	goal := *a.m.CurrentGoal()
	goal.Generation, goal.Still = 2, true
	a.feed(engine.GoalSet{Goal: goal})
	if did := a.ends(); !slices.Equal(did, []engine.Kind{engine.Stop, engine.Stop}) ||
		a.m.QuiescedAt() == 0 {
		t.Fatalf("it did %v, and is still at %d", did, a.m.QuiescedAt())
	}
	goal.Generation, goal.Still = 3, false
	if a.feed(engine.GoalSet{Goal: goal}); a.last.Kind != engine.Start || a.last.Step != "db" {
		t.Errorf("then it does %+v", a.last)
	}
}

// newRestartedRun is ready, and has just started a service again that had ended.
func newRestartedRun(t *testing.T) *asker {
	t.Helper()
	a := newReadyRun(t)
	a.look(engine.ObjectsListed{Network: true})
	a.now = a.now.Add(time.Second)
	a.feed(engine.Tick{})
	for range 3 { // network, image and container
		a.answerLast(engine.Result{Outcome: engine.OutcomeOK})
	}
	return a
}
