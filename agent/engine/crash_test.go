package engine_test

import (
	"testing"
	"time"

	"github.com/nullops/nullops/agent/engine"
	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/pipeline"
)

// newHeldStory plays a run until the image of its last step is being pulled: the database before
// it is up. It returns the goal as well.
func newHeldStory(t *testing.T, restart pipeline.Restart,
	answers map[string]func(int) engine.Result) (*story, wire.Goal) {
	t.Helper()
	answers["pull web"] = func(int) engine.Result { return engine.Result{} }
	s := newStory(t, answers)
	g := presentGoal(pipeline.Pipeline{Order: []pipeline.StepKey{"db", "web"}, Steps: []pipeline.Step{
		{Key: "db", Service: &pipeline.ServiceStep{Name: "db", Restart: restart}},
		{Key: "web", Service: &pipeline.ServiceStep{Name: "web"}}}})
	s.play(g, wire.PhaseApplying)
	if s.Status("db") != pipeline.StepDone {
		t.Fatalf("the database is %s", s.Status("db"))
	}
	return s, g
}

// listDown lists that the database does not run.
func (s *story) listDown(g wire.Goal) {
	s.events = append(s.events, engine.ObjectsListed{Began: s.now, Network: true, Relay: true})
	s.play(g, wire.PhaseApplying)
}

// pass lets time pass.
func (s *story) pass(g wire.Goal) {
	s.now = s.now.Add(time.Minute)
	s.events = append(s.events, engine.Tick{})
	s.play(g, wire.PhaseApplying)
}

// A listing that was begun before a service was started says nothing about it; a later one does.
func TestCrash_AnOlderListingIsNoNews(t *testing.T) {
	s, g := newHeldStory(t, pipeline.RestartAlways, map[string]func(int) engine.Result{})
	s.listDown(g)
	s.pass(g)
	if s.counts["start db"] != 1 || s.RestartCount("db") != 0 {
		t.Fatalf("an old listing made it do %v", s.counts)
	}
	s.listDown(g)
	s.pass(g)
	s.pass(g)
	if s.counts["start db"] != 2 || s.RestartCount("db") != 1 {
		t.Errorf("it did %v, and counts %d restarts", s.counts, s.RestartCount("db"))
	}
}

// A service that cannot be started again is tried until it starts, which is one restart.
func TestCrash_IsTriedUntilItStarts(t *testing.T) {
	s, g := newHeldStory(t, pipeline.RestartAlways, map[string]func(int) engine.Result{
		"start db": func(n int) engine.Result {
			if n == 2 {
				return lost(n)
			}
			return yes(n)
		}})
	s.pass(g)
	s.listDown(g)
	for range 4 {
		s.pass(g)
	}
	if s.counts["start db"] != 3 || s.RestartCount("db") != 1 {
		t.Errorf("it did %v, and counts %d restarts", s.counts, s.RestartCount("db"))
	}
}

// A run is not ready while a service is down that has to be started again at once.
func TestCrash_IsMendedBeforeTheRunIsReady(t *testing.T) {
	hold := func(int) engine.Result { return engine.Result{} }
	s, g := newHeldStory(t, pipeline.RestartAlways, map[string]func(int) engine.Result{
		"start db": until(1, yes, hold), "probe web": hold})
	s.events = append(s.events, engine.OperationEnded{Op: s.held["pull web"],
		Result: engine.Result{Outcome: engine.OutcomeOK}})
	s.pass(g)
	s.listDown(g)
	s.pass(g)
	s.events = append(s.events, engine.OperationEnded{Op: s.held["probe web"],
		Result: engine.Result{Outcome: engine.OutcomeOK, Health: wire.HealthHealthy,
			StartedAt: s.begin}})
	s.play(g, wire.PhaseApplying, wire.PhaseReady)
	if s.State().Phase != wire.PhaseApplying || s.counts["start db"] != 2 ||
		s.Status("web") != pipeline.StepDone {
		t.Errorf("it is %s after %v", s.State().Phase, s.counts)
	}
}

// What was waited for until the engine told how a service ended does not lengthen the next wait.
func TestCrash_DelaysNothingAfterwards(t *testing.T) {
	s, g := newHeldStory(t, pipeline.RestartNever, map[string]func(int) engine.Result{
		"start web": until(1, lost, yes),
		"probe db": func(n int) engine.Result {
			r := engine.Result{Outcome: engine.OutcomeOK, Exited: true, ExitCode: new(int)}
			switch n {
			case 1:
				r = runs(n)
				r.StartedAt = time.Unix(1, 0)
			case 2, 3:
				r = lost(n)
			}
			return r
		}})
	s.pass(g)
	s.listDown(g)
	if s.counts["probe db"] != 2 {
		t.Errorf("the engine does not answer, and it did %v", s.counts)
	}
	s.pass(g)
	s.pass(g)
	s.events = append(s.events, engine.OperationEnded{Op: s.held["pull web"],
		Result: engine.Result{Outcome: engine.OutcomeOK}})
	s.play(g, wire.PhaseReady)
	if at := s.timesOf("start web"); s.counts["probe db"] != 4 || at != "180 181" {
		t.Errorf("it did %v, and started the next service at %s", s.counts, at)
	}
}
