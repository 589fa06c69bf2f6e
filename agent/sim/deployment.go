package sim

import (
	"time"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/pipeline"
)

// stepBehaviour is how the things of one step behave.
type stepBehaviour struct {
	// A plugin: fails answers no, with or without an effect; hangs runs until
	// its timeout; stubborn answers no to delete.
	fails, effect, hangs, stubborn, hangsDelete bool
	// A service is ready after a while, or never, and may end by itself.
	ready time.Duration
	ends  time.Duration
	// A job works for a while, or for ever, and then ends.
	works time.Duration
}

// deployment is the real state of one deployment, whatever the agent or the control plane believe.
type deployment struct {
	id     string
	graph  pipeline.Pipeline
	habits map[pipeline.StepKey]*stepBehaviour
	// outside are effects of plugins beyond the container engine.
	outside map[pipeline.StepKey]bool
	// of the present run
	run     string
	ok      map[pipeline.StepKey]bool
	started map[pipeline.StepKey]bool
	runs    map[string]int
	// launched are jobs that the agent has on disk as started, by run and step; taken are
	// those whose container a stranger removed before.
	launched map[string]bool
	taken    map[string]bool
	undoing  int
	wasReady bool
	// gone: the agent has on disk that it is to go.
	gone bool
	// newest is the generation that the agent accepted last.
	newest int64
	// deadline is that of the question asked last.
	deadline time.Time
}

// beginRun forgets what was true of the run before.
func (d *deployment) beginRun(run string) {
	if d.run == run {
		return
	}
	d.run, d.ok, d.started = run, map[pipeline.StepKey]bool{}, map[pipeline.StepKey]bool{}
	d.undoing, d.wasReady = len(d.graph.Steps), false
}

func (d *deployment) indexOf(key pipeline.StepKey) int {
	for i, s := range d.graph.Steps {
		if s.Key == key {
			return i
		}
	}
	return -1
}

func (d *deployment) hasUndo(key pipeline.StepKey) bool {
	s, _ := d.graph.Step(key)
	c := s.Declares()
	return c != nil && c.CanUndo()
}

func (d *deployment) newGoal(generation int64, want wire.Want, run string, ready bool,
	answers map[pipeline.StepKey]wire.Answer) wire.Goal {
	return wire.Goal{Deployment: d.id, Generation: generation, Want: want, Run: run,
		Ready: ready, Pipeline: d.graph, Answers: answers}
}

// newDeployment draws a pipeline of up to five steps.
func (w *world) newDeployment(id string) *deployment {
	d := &deployment{id: id, habits: map[pipeline.StepKey]*stepBehaviour{},
		outside: map[pipeline.StepKey]bool{}, runs: map[string]int{},
		launched: map[string]bool{}, taken: map[string]bool{}}
	keys := []pipeline.StepKey{"a", "b", "c", "d", "e"}
	for i := range 1 + w.random.IntN(5) {
		s := pipeline.Step{Key: keys[i]}
		switch n := w.random.IntN(100); {
		case n < 12:
			s.Approval = &pipeline.ApprovalStep{Prompt: "go on?",
				TimeoutSeconds: 20 + w.random.IntN(60)}
		case n < 30:
			s.Job = &pipeline.JobStep{TimeoutSeconds: 30 + w.random.IntN(60)}
		case n < 60:
			s.Service = &pipeline.ServiceStep{Name: string(keys[i]),
				Ready: &pipeline.Readiness{IntervalSeconds: 1, Retries: 15}}
		case n < 66:
			s.Script = &pipeline.ScriptStep{Removes: w.oneIn(50)}
		default:
			c := &pipeline.Component{Idempotent: w.oneIn(40), Network: w.oneIn(50),
				Actions: []string{"create"}}
			if w.oneIn(85) {
				c.Actions = append(c.Actions, "delete")
			}
			s.Plugin = &pipeline.PluginStep{Name: string(keys[i]), Component: c}
		}
		d.graph.Steps = append(d.graph.Steps, s)
		d.graph.Order = append(d.graph.Order, s.Key)
		d.habits[s.Key] = w.newHabit()
	}
	return d
}

func (w *world) newHabit() *stepBehaviour {
	h := &stepBehaviour{effect: true, ready: w.randomBetween(50*time.Millisecond, 8*time.Second),
		works: w.randomBetween(10*time.Millisecond, 2*time.Second)}
	if w.oneIn(30) {
		h.works = w.randomBetween(2*time.Second, 28*time.Second)
	}
	switch n := w.random.IntN(100); {
	case n < 6:
		h.fails, h.effect = true, w.oneIn(60)
	case n < 10:
		h.hangs = true
	case n < 13:
		h.stubborn = true
	case n < 15:
		h.hangsDelete = true
	case n < 18:
		h.ready, h.works = time.Hour, time.Hour
	case n < 21:
		h.ends = w.randomBetween(time.Second, 40*time.Second)
	}
	return h
}

// repairHabits makes everything of it well-behaved, as a person who repairs it does.
func (d *deployment) repairHabits() {
	for _, s := range d.graph.Steps {
		h := d.habits[s.Key]
		h.stubborn, h.hangsDelete = false, false
	}
}
