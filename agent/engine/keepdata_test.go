package engine_test

import (
	"testing"

	"github.com/nullops/nullops/agent/engine"
	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/pipeline"
)

// A run that begins with the volumes of another deployment pulls and waits until they are
// written, and then does all its steps, whose plugins have not run yet.
func TestKeepData_WaitsWithItsImages(t *testing.T) {
	t.Parallel()
	g, m := newMovableRun(t)
	g.Still, g.Attempt = true, "one"
	m.step(engine.GoalSet{Goal: g})
	m.has(t, "prepare ", "pull db", "pull seed", "pull web")
	m.still(t, true)
	m.Machine = engine.Replay("d", m.Snapshot())
	m.still(t, false)
	m.step(engine.AgentRestarted{})
	m.has(t, "prepare ", "pull db", "pull seed", "pull web")
	m.still(t, true)
	g.Generation, g.Still, g.Attempt = 2, false, ""
	m.step(engine.GoalSet{Goal: g})
	m.has(t, "start db", "probe db", "run seedcreate", "start web", "probe web")
	m.still(t, false)
	if m.phase != wire.PhaseReady {
		t.Errorf("it is %s", m.phase)
	}
}

// Until all images are here, nothing is worth stopping for it. An image that cannot be had ends
// the run while it waits.
func TestKeepData_IsNotReadyWithoutAnImage(t *testing.T) {
	t.Parallel()
	g, _ := newMovableRun(t)
	g.Still, g.Attempt = true, "one"
	s := newStory(t, map[string]func(int) engine.Result{"pull web": until(1, lost, no)})
	s.play(g, wire.PhaseApplying)
	if s.QuiescedAt() != 0 {
		t.Error("it is still while an image is missing")
	}
	s.events = append(s.events, engine.Tick{})
	s.play(g, wire.PhaseFailed)
	if s.counts["start db"] != 0 || s.Status("web") != pipeline.StepFailed {
		t.Errorf("without an image it did %v", s.counts)
	}
}

// Nobody may write the volumes of a run that waits for no copy.
func TestKeepData_IsNotStillWithoutAttempt(t *testing.T) {
	t.Parallel()
	g, m := newMovableRun(t)
	g.Still = true
	m.step(engine.GoalSet{Goal: g})
	m.still(t, false)
}
