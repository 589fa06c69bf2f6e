package engine_test

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/nullops/nullops/agent/engine"
	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/pipeline"
)

// carried is a machine whose operations end at once.
type carried struct {
	t *testing.T
	*engine.Machine
	now   time.Time
	did   []string
	phase wire.Phase
	// ended are services that do not run when they are stopped or asked.
	ended []pipeline.StepKey
}

func (c *carried) step(ev engine.Event) {
	c.now = c.now.Add(time.Second)
	events := []engine.Event{ev}
	for len(events) > 0 {
		next := events[0]
		events = events[1:]
		for _, e := range stepAndCheck(c.t, c.Machine, c.now, next) {
			switch e := e.(type) {
			case engine.WantSecrets:
				events = append(events, engine.SecretsArrived{Run: e.Run})
			case engine.Report:
				if e.Event.Phase != "" {
					c.phase = e.Event.Phase
				}
			case engine.StartOperation:
				c.did = append(c.did, string(e.Kind)+" "+string(e.Step)+e.Action)
				events = append(events, engine.OperationEnded{Op: e.Op,
					Result: engine.Result{Outcome: engine.OutcomeOK, Health: wire.HealthHealthy,
						StartedAt: c.now.Add(-time.Minute),
						Exited:    slices.Contains(c.ended, e.Step)}})
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

func newMovableRun(t *testing.T) (wire.Goal, *carried) {
	return wire.Goal{Deployment: "d", Generation: 1, Run: "r", Want: wire.WantPresent,
		Pipeline: pipeline.Pipeline{Format: 1, Order: []pipeline.StepKey{"db", "seed", "web"},
			Steps: []pipeline.Step{
				{Key: "db", Service: &pipeline.ServiceStep{Name: "db", Image: &pipeline.Image{}}},
				{Key: "seed", Plugin: &pipeline.PluginStep{Name: "seed", Image: &pipeline.Image{},
					Component: &pipeline.Component{Actions: []string{"create", "delete"}}}},
				{Key: "web", Service: &pipeline.ServiceStep{Name: "web", Image: &pipeline.Image{}}}}},
	}, &carried{t: t, Machine: engine.New("d"), now: time.Unix(1_700_000_000, 0)}
}

// listObjects returns a listing of now.
func (c *carried) listObjects(running ...pipeline.StepKey) {
	c.step(engine.ObjectsListed{Network: true, Relay: true, Running: running,
		Began: c.now.Add(time.Second)})
}

// The node that a deployment comes from stops its services and, when it goes
// nowhere, starts them again; when it has gone, no plugin is asked to delete.
func TestElsewhere_LeavesItsNode(t *testing.T) {
	t.Parallel()
	g, m := newMovableRun(t)
	g.Ready = true
	m.step(engine.GoalSet{Goal: g})
	m.listObjects("db", "web")
	m.has(t)
	g.Generation, g.Still = 2, true
	m.step(engine.GoalSet{Goal: g})
	m.has(t, "stop web", "stop db")
	m.listObjects()
	m.step(engine.Tick{})
	m.has(t)
	m.still(t, true)
	m.listObjects("db")
	m.has(t, "stop db")
	g.Generation, g.Still = 3, false
	m.step(engine.GoalSet{Goal: g})
	m.has(t, "prepare ", "pull db", "start db", "probe db", "pull web", "start web")
	m.still(t, false)
	if n := m.RestartCount("db") + m.RestartCount("web"); n != 0 {
		t.Errorf("our own stops count as %d restarts", n)
	}
	g.Generation, g.Still = 4, true
	m.step(engine.GoalSet{Goal: g})
	m.has(t, "stop web", "stop db")
	m.step(engine.GoalSet{Goal: wire.Goal{Deployment: "d", Generation: 5, Run: "r",
		Want: wire.WantGone, Elsewhere: true}})
	m.has(t, "remove webcreate", "remove seedcreate", "remove dbcreate", "remove_all ")
	if m.phase != wire.PhaseRemoved {
		t.Errorf("in the end it is %s", m.phase)
	}
}

func (c *carried) still(t *testing.T, want bool) {
	t.Helper()
	if (c.QuiescedAt() != 0) != want {
		t.Errorf("it says %t that it is still", !want)
	}
}

// Of services that are never restarted, those come back that the stop ended, also
// when the agent died meanwhile. Jobs that had ended do not run again.
func TestElsewhere_CalledOffBringsJobsBack(t *testing.T) {
	t.Parallel()
	g, m := newMovableRun(t)
	g.Ready = true
	for _, key := range []pipeline.StepKey{"job", "late", "done"} {
		g.Pipeline.Order = append([]pipeline.StepKey{key}, g.Pipeline.Order...)
		g.Pipeline.Steps = append(g.Pipeline.Steps, pipeline.Step{Key: key,
			Service: &pipeline.ServiceStep{Name: "job", Image: &pipeline.Image{},
				Restart: pipeline.RestartNever}})
	}
	m.ended = []pipeline.StepKey{"done", "late"}
	m.step(engine.GoalSet{Goal: g})
	g.Generation, g.Still = 2, true
	m.step(engine.GoalSet{Goal: g})
	m.has(t, "stop web", "stop db")
	m.still(t, false)
	m.listObjects("job", "late")
	m.has(t, "stop job", "stop late", "stop done")
	m.listObjects()
	m.still(t, true)

	m.Machine = engine.Replay("d", m.Snapshot())
	m.ended = []pipeline.StepKey{"done", "late", "job", "web", "db"}
	m.step(engine.AgentRestarted{})
	m.has(t, "stop web", "stop db", "stop job")
	m.still(t, false)
	m.listObjects()
	m.has(t, "stop late", "stop done")
	m.still(t, true)
	if jobs := m.StoppedForCopy(); !slices.Equal(jobs, []pipeline.StepKey{"job"}) {
		t.Errorf("of the jobs the stop ended %q", jobs)
	}
	g.Generation, g.Still = 3, false
	m.ended = []pipeline.StepKey{"done", "late", "job"}
	m.step(engine.GoalSet{Goal: g})
	m.has(t, "prepare ", "pull job", "start job", "probe job", "pull db", "start db", "probe db",
		"pull web", "start web")
	m.listObjects("db", "web")
	m.step(engine.Tick{})
	m.has(t)
	// Somebody may have started a job meanwhile that had ended: the next copy stops all of them.
	g.Generation, g.Still = 4, true
	m.step(engine.GoalSet{Goal: g})
	m.has(t, "stop web", "stop db", "stop job", "stop late", "stop done")
	m.still(t, true)
}

// The node that a deployment goes to pulls and waits, then starts services and runs
// no plugin; it looks after what plugins made once the deployment is its own.
func TestElsewhere_ArrivesOnItsNode(t *testing.T) {
	t.Parallel()
	g, m := newMovableRun(t)
	g.Elsewhere, g.Still = true, true
	m.step(engine.GoalSet{Goal: g})
	m.has(t, "prepare ", "pull db", "pull web")
	m.still(t, true)
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

// Of services that are never restarted, those continue where the deployment goes that were ended
// where it comes from, also when the agent dies as it is told. Others do not.
func TestElsewhere_JobsGoOnThere(t *testing.T) {
	t.Parallel()
	g, m := newMovableRun(t)
	for _, key := range []pipeline.StepKey{"job", "done"} {
		g.Pipeline.Order = append([]pipeline.StepKey{key}, g.Pipeline.Order...)
		g.Pipeline.Steps = append(g.Pipeline.Steps, pipeline.Step{Key: key,
			Service: &pipeline.ServiceStep{Name: "job", Image: &pipeline.Image{},
				Restart: pipeline.RestartNever}})
	}
	g.Elsewhere, g.Still = true, true
	m.step(engine.GoalSet{Goal: g})
	m.has(t, "prepare ", "pull db", "pull web")
	g.Generation, g.Still, g.Resume = 2, false, []pipeline.StepKey{"job", "seed", "unknown"}
	m.step(engine.GoalSet{Goal: g})
	m.has(t, "pull job", "start job", "probe job", "start db", "probe db", "start web",
		"probe web")
	m.Machine = engine.Replay("d", m.Snapshot())
	m.step(engine.AgentRestarted{})
	g.Generation, g.Elsewhere, g.Ready = 3, false, true
	m.step(engine.GoalSet{Goal: g})
	m.listObjects("db", "web")
	m.step(engine.Tick{})
	if m.phase != wire.PhaseReady || slices.Contains(m.did, "start job") {
		t.Errorf("it is %s after %q", m.phase, m.did)
	}
}

// A job that was continued and has ended is not begun again, with whatever generation the goal
// comes while a later step is waited for.
func TestElsewhere_AJobGoesOnOnce(t *testing.T) {
	t.Parallel()
	g, _ := newMovableRun(t)
	g.Pipeline.Order = append([]pipeline.StepKey{"job"}, g.Pipeline.Order...)
	g.Pipeline.Steps = append(g.Pipeline.Steps, pipeline.Step{Key: "job",
		Service: &pipeline.ServiceStep{Name: "job", Image: &pipeline.Image{},
			Restart: pipeline.RestartNever}})
	s := newStory(t, map[string]func(int) engine.Result{
		"pull web": func(int) engine.Result { return engine.Result{} }})
	g.Elsewhere, g.Still = true, true
	s.play(g, wire.PhaseApplying)
	g.Generation, g.Still, g.Resume = 2, false, []pipeline.StepKey{"job"}
	s.play(g, wire.PhaseApplying)
	g.Generation = 3
	s.play(g, wire.PhaseApplying)
	if s.counts["start job"] != 1 || s.Status("job") != pipeline.StepDone {
		t.Errorf("the job is %s, and it did %v", s.Status("job"), s.counts)
	}
}

// Volumes are not written before the network is there: an operation is still to come.
func TestElsewhere_IsNotStillBeforeItIsPrepared(t *testing.T) {
	t.Parallel()
	g, _ := newMovableRun(t)
	g.Elsewhere, g.Still = true, true
	s := newStory(t, map[string]func(int) engine.Result{"prepare": until(1, lost, yes)})
	s.play(g, wire.PhaseApplying)
	if s.QuiescedAt() != 0 {
		t.Error("it is still while it waits to make the network")
	}
	s.pass(g)
	if s.QuiescedAt() == 0 {
		t.Error("with a network it is not still")
	}
}

// An agent that lost its memory does not take volumes that may be empty for copied
// ones.
func TestElsewhere_ForgotTheCopy(t *testing.T) {
	t.Parallel()
	g, m := newMovableRun(t)
	g.Generation, g.Elsewhere = 2, true
	m.step(engine.GoalSet{Goal: g})
	if m.phase != wire.PhaseFailed {
		t.Errorf("it is %s after %q", m.phase, m.did)
	}
}

// However often a deployment is stopped for its volumes and continues again, and whatever fails or
// dies on the way: what says that it is still has nothing running, and in the end that runs which
// ran, and no job ran twice.
func TestElsewhere_ComesBackWhateverHappens(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		var p pipeline.Pipeline
		done := map[pipeline.StepKey]bool{}
		w.network = true
		for _, key := range []pipeline.StepKey{"a", "b", "c"} {
			s := &pipeline.ServiceStep{Name: "s"}
			w.containers[string(key)+"/"] = true
			if rapid.Bool().Draw(t, "job") {
				s.Restart = pipeline.RestartNever
				done[key] = rapid.Bool().Draw(t, "done")
				w.stopped[string(key)+"/"] = done[key]
			}
			p.Steps = append(p.Steps, pipeline.Step{Key: key, Service: s})
			p.Order = append(p.Order, key)
		}
		g := presentGoal(p)
		g.Ready = true
		w.goal(g)
		for range rapid.IntRange(0, 60).Draw(t, "events") {
			if rapid.IntRange(0, 9).Draw(t, "turn") == 0 {
				g.Generation++
				g.Still = !g.Still
				w.goal(g)
			}
			w.chaos()
			for _, key := range p.Order {
				if w.m.QuiescedAt() != 0 && w.runs(key) {
					t.Fatalf("it is still, and %s runs", key)
				}
			}
			if w.m.QuiescedAt() != 0 && len(w.running) > 0 {
				t.Fatalf("it is still, and does %v", w.running)
			}
		}
		g.Generation++
		g.Still = false
		w.goal(g)
		w.heal()
		for _, key := range p.Order {
			if w.runs(key) == done[key] {
				t.Fatalf("in the end it is %t that %s runs: %v", !done[key], key, w.ledger)
			}
		}
	})
}
