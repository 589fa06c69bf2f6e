package engine_test

import (
	"slices"
	"testing"
	"time"

	"github.com/nullops/nullops/agent/engine"
	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/pipeline"
)

// carried is a machine that is told what it does, and does it at once.
type carried struct {
	*engine.Machine
	now   time.Time
	did   []string
	phase wire.Phase
}

func (c *carried) step(ev engine.Event) {
	c.now = c.now.Add(time.Second)
	events := []engine.Event{ev}
	for len(events) > 0 {
		next := events[0]
		events = events[1:]
		for _, e := range c.Step(c.now, next) {
			switch e := e.(type) {
			case engine.WantSecrets:
				events = append(events, engine.SecretsArrived{Run: e.Run})
			case engine.Report:
				if e.Event.Phase != "" {
					c.phase = e.Event.Phase
				}
			case engine.Do:
				c.did = append(c.did, string(e.Kind)+" "+string(e.Step)+e.Action)
				events = append(events, engine.Ended{Op: e.Op,
					Result: engine.Result{Outcome: engine.OK, Health: wire.HealthHealthy}})
			}
		}
	}
}

// has reports what it did since it was asked last.
func (c *carried) has(t *testing.T, want ...string) {
	t.Helper()
	if !slices.Equal(c.did, want) {
		t.Errorf("it did %q instead of %q", c.did, want)
	}
	c.did = nil
}

func movable() (wire.Goal, *carried) {
	return wire.Goal{Deployment: "d", Generation: 1, Run: "r", Want: wire.WantPresent,
		Pipeline: pipeline.Pipeline{Format: 1, Order: []pipeline.StepKey{"db", "seed", "web"},
			Steps: []pipeline.Step{
				{Key: "db", Service: &pipeline.ServiceStep{Name: "db", Image: &pipeline.Image{}}},
				{Key: "seed", Plugin: &pipeline.PluginStep{Name: "seed", Image: &pipeline.Image{},
					Component: &pipeline.Component{Actions: []string{"create", "delete"}}}},
				{Key: "web", Service: &pipeline.ServiceStep{Name: "web", Image: &pipeline.Image{}}}}},
	}, &carried{Machine: engine.New("d"), now: time.Unix(1_700_000_000, 0)}
}

// The node that a deployment comes from takes its services away and, when it goes
// nowhere, starts them again; when it has gone, no plugin is asked to delete.
func TestElsewhere_LeavesItsNode(t *testing.T) {
	t.Parallel()
	g, m := movable()
	g.Ready = true
	m.step(engine.GoalSet{Goal: g})
	m.step(engine.Listed{Network: true, Gate: true, Began: m.now.Add(time.Second),
		Running: []pipeline.StepKey{"db", "web"}})
	m.has(t)
	g.Generation, g.Still = 2, true
	m.step(engine.GoalSet{Goal: g})
	m.has(t, "remove web", "remove db")
	gone := engine.Listed{Network: true, Gate: true, Missing: []pipeline.StepKey{"db", "web"}}
	gone.Began = m.now.Add(time.Second)
	m.step(gone)
	m.step(engine.Tick{})
	m.has(t)
	g.Generation, g.Still = 3, false
	m.step(engine.GoalSet{Goal: g})
	m.step(engine.Tick{})
	m.has(t, "prepare ", "pull db", "start db", "probe db", "pull web", "start web")
	g.Generation, g.Still = 4, true
	m.step(engine.GoalSet{Goal: g})
	m.has(t, "remove web", "remove db")
	m.step(engine.GoalSet{Goal: wire.Goal{Deployment: "d", Generation: 5, Run: "r",
		Want: wire.WantGone, Elsewhere: true}})
	m.has(t, "remove webcreate", "remove seedcreate", "remove dbcreate", "remove_all ")
	if m.phase != wire.PhaseRemoved {
		t.Errorf("in the end it is %s", m.phase)
	}
}

// The node that a deployment goes to pulls and waits, then starts services and runs
// no plugin; it looks after what plugins made once the deployment is its own.
func TestElsewhere_ArrivesOnItsNode(t *testing.T) {
	t.Parallel()
	g, m := movable()
	g.Elsewhere, g.Still = true, true
	m.step(engine.GoalSet{Goal: g})
	m.has(t, "prepare ", "pull db", "pull web")
	g.Generation, g.Still = 2, false
	m.step(engine.GoalSet{Goal: g})
	m.has(t, "start db", "probe db", "start web", "probe web")
	if m.phase != wire.PhaseReady {
		t.Errorf("it is %s", m.phase)
	}
	g.Generation, g.Elsewhere, g.Ready = 3, false, true
	m.step(engine.GoalSet{Goal: g})
	m.has(t)
	m.step(engine.GoalSet{Goal: wire.Goal{Deployment: "d", Generation: 4, Run: "r",
		Want: wire.WantGone}})
	m.has(t, "remove webcreate", "remove seedcreate", "pull seed", "run seeddelete",
		"remove dbcreate", "remove_all ")
}

// An agent that lost its memory does not take volumes that may be empty for copied
// ones.
func TestElsewhere_ForgotTheCopy(t *testing.T) {
	t.Parallel()
	g, m := movable()
	g.Generation, g.Elsewhere = 2, true
	m.step(engine.GoalSet{Goal: g})
	if m.phase != wire.PhaseFailed {
		t.Errorf("it is %s after %q", m.phase, m.did)
	}
}
