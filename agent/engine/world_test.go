package engine_test

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/nullops/nullops/agent/engine"
	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/pipeline"
)

// world is a model of everything around one machine: a container engine that
// may fail or lose answers, an agent that may die, a control plane.
type world struct {
	t       *rapid.T
	m       *engine.Machine
	now     time.Time
	journal []engine.Record
	reports []wire.Event
	running map[int64]engine.StartOperation
	wanted  string
	// What exists: containers by step and action, and the network.
	containers map[string]bool
	network    bool
	// stopped are containers without a process.
	stopped map[string]bool
	// outside are effects of plugins beyond the engine.
	outside map[pipeline.StepKey]bool
	// ledger lists every execution: "create a", "delete a", "start s".
	ledger []string
	// jobRuns counts how often the container of a job was started.
	jobRuns map[pipeline.StepKey]int
	// stubborn plugins say no to delete.
	stubborn map[pipeline.StepKey]bool
	// alive are plugins that may still run: nobody has seen them end.
	alive  map[pipeline.StepKey]bool
	goals  []wire.Goal
	forgot bool
	healed bool
	// asleep is set while the machine asked for no tick.
	asleep bool
}

func newWorld(t *rapid.T) *world {
	m := engine.New("d")
	m.LimitSandboxes(3)
	return &world{
		t:          t,
		m:          m,
		now:        time.Unix(1e9, 0),
		running:    map[int64]engine.StartOperation{},
		containers: map[string]bool{},
		stopped:    map[string]bool{},
		jobRuns:    map[pipeline.StepKey]int{},
		outside:    map[pipeline.StepKey]bool{},
		stubborn:   map[pipeline.StepKey]bool{},
		alive:      map[pipeline.StepKey]bool{},
	}
}

func (w *world) goal(g wire.Goal) {
	w.goals = append(w.goals, g)
	w.feed(engine.GoalSet{Goal: g})
}

// feed lets the machine take one event, and does what it says. The agent may
// die before the batch is on disk, or after it and before the effects.
func (w *world) feed(ev engine.Event) {
	effects := stepAndCheck(w.t, w.m, w.now, ev)
	fate := 0
	if !w.healed {
		fate = rapid.SampledFrom([]int{0, 0, 0, 0, 0, 0, 1, 2}).Draw(w.t, "fate")
	}
	if fate != 1 {
		w.persist(effects)
	}
	if fate != 0 {
		w.crash()
		return
	}
	w.asleep = true
	for _, e := range effects {
		w.do(e)
	}
}

func (w *world) persist(effects []engine.Effect) {
	for _, e := range effects {
		switch e := e.(type) {
		case engine.Record:
			w.journal = append(w.journal, e)
		case engine.Report:
			w.reports = append(w.reports, e.Event)
		}
	}
}

// crash forgets all but the journal. What ran in the container engine may have
// got anywhere. Goals come again when the control plane connects.
func (w *world) crash() {
	for _, op := range sortedOps(w.running) {
		w.effect(w.running[op], rapid.Bool().Draw(w.t, "effect"))
	}
	w.running, w.wanted = map[int64]engine.StartOperation{}, ""
	w.m = engine.Replay("d", w.journal)
	w.m.LimitSandboxes(3)
	w.replayEvent(engine.AgentRestarted{})
	if n := len(w.goals); n > 0 {
		w.replayEvent(engine.GoalSet{Goal: w.goals[n-1]})
	}
}

// replayEvent feeds without another crash, so that drawing ends.
func (w *world) replayEvent(ev engine.Event) {
	effects := stepAndCheck(w.t, w.m, w.now, ev)
	w.persist(effects)
	w.asleep = true
	for _, e := range effects {
		w.do(e)
	}
}

func (w *world) do(e engine.Effect) {
	switch e := e.(type) {
	case engine.StartOperation:
		w.running[e.Op] = e
		w.checkTurn(e)
		if e.Kind == engine.Run && w.alive[e.Step] {
			w.t.Fatalf("%s of %s runs beside an older one: %v", e.Action, e.Step, w.ledger)
		}
		w.alive[e.Step] = w.alive[e.Step] || e.Kind == engine.Run
		if e.Kind == engine.Run || e.Kind == engine.Start {
			w.ledger = append(w.ledger, fmt.Sprintf("%s%s %s", e.Kind, e.Action, e.Step))
		}
	case engine.WantSecrets:
		w.wanted = e.Run
	case engine.Wake:
		w.asleep = false
	case engine.Forget:
		w.forgot = true
	}
}

// checkTurn: during a run, a step starts when all before it are done.
func (w *world) checkTurn(d engine.StartOperation) {
	starts := d.Kind == engine.Start || d.Kind == engine.Run && d.Action == "create"
	if !starts || w.m.State().Phase != wire.PhaseApplying {
		return
	}
	for _, key := range w.m.CurrentGoal().Pipeline.Order {
		if key == d.Step {
			return
		}
		// promise: N-047
		// promise: N-048
		if status := w.m.Status(key); status != pipeline.StepDone {
			w.t.Fatalf("%s starts while %s is %s", d.Step, key, status)
		}
	}
}

// effect changes the world as an operation does.
func (w *world) effect(d engine.StartOperation, happened bool) {
	if d.Kind == engine.Remove && happened {
		w.alive[d.Step] = false
	}
	if !happened {
		return
	}
	name := string(d.Step) + "/" + d.Action
	switch d.Kind {
	case engine.Prepare:
		w.network = true
	case engine.Start:
		if w.isJob(d.Step) && !w.containers[string(d.Step)+"/"] {
			w.jobRuns[d.Step]++
		}
		w.containers[string(d.Step)+"/"] = true
		delete(w.stopped, string(d.Step)+"/")
	case engine.Precreate:
		w.containers[name] = true
	case engine.Run:
		w.outside[d.Step] = d.Action == "create"
	case engine.Stop:
		w.stopped[string(d.Step)+"/"] = true
	case engine.Remove:
		delete(w.containers, name)
		delete(w.containers, string(d.Step)+"/")
	case engine.RemoveAll:
		w.containers, w.network = map[string]bool{}, false
	}
}

// finish ends an operation in one of the ways it can.
func (w *world) finish(op int64, outcome engine.Outcome, happened bool) {
	d := w.running[op]
	delete(w.running, op)
	if d.Kind == engine.Run && d.Action == "delete" && w.stubborn[d.Step] {
		outcome, happened = engine.OutcomeNo, false
	}
	ran := w.runs(d.Step)
	w.effect(d, happened)
	if d.Kind == engine.Run && outcome != engine.OutcomeUnknown {
		w.alive[d.Step] = false
	}
	r := engine.Result{Outcome: outcome, Message: "m",
		Exited: outcome == engine.OutcomeOK && d.Kind == engine.Stop && !ran}
	if outcome == engine.OutcomeOK && d.Kind == engine.Probe {
		// It has run for long enough: how long, no test here is about.
		r.Health, r.StartedAt = wire.HealthHealthy, w.now.Add(-time.Minute)
		if w.isJob(d.Step) {
			r.Health, r.Exited, r.ExitCode = wire.HealthStopped, true, new(int)
		}
	}
	w.feed(engine.OperationEnded{Op: op, Result: r})
}

// answer is a person's, to the approval that waits. It reports whether anything waited for it: a
// step that still waits behind its answer waits for something else, so that anyone who heals must
// let time pass. A machine that died on the way finds the answer in the goal that comes again.
func (w *world) answer(approved bool) bool {
	if len(w.goals) == 0 {
		return false
	}
	g := w.goals[len(w.goals)-1]
	for _, key := range g.Pipeline.Order {
		if w.m.Status(key) != pipeline.StepWaiting || g.Want != wire.WantPresent {
			continue
		}
		if _, said := g.Answers[key]; said {
			return false
		}
		answers := map[pipeline.StepKey]wire.Answer{key: {Approved: approved, By: "ada"}}
		maps.Copy(answers, g.Answers)
		g.Answers = answers
		w.goals[len(w.goals)-1] = g
		w.feed(engine.GoalSet{Goal: g})
		return true
	}
	return false
}

func (w *world) answerSecrets() {
	if w.wanted == "" {
		return
	}
	run := w.wanted
	w.wanted = ""
	w.feed(engine.SecretsArrived{Run: run})
}

func (w *world) runs(key pipeline.StepKey) bool {
	return w.containers[string(key)+"/"] && !w.stopped[string(key)+"/"]
}

func (w *world) isJob(key pipeline.StepKey) bool {
	s, _ := w.m.CurrentGoal().Pipeline.Step(key)
	return s.Job != nil
}

// list returns what really runs.
func (w *world) list() {
	l := engine.ObjectsListed{Began: w.now, Network: w.network, Relay: w.network}
	for _, key := range []pipeline.StepKey{"a", "b", "c", "d", "e"} {
		if w.runs(key) {
			l.Running = append(l.Running, key)
		}
	}
	w.feed(l)
}

// chaos is one random thing that happens.
func (w *world) chaos() {
	w.now = w.now.Add(time.Duration(rapid.IntRange(0, 5).Draw(w.t, "seconds")) * time.Second)
	switch rapid.IntRange(0, 8).Draw(w.t, "happens") {
	case 0:
		w.answerSecrets()
	case 1:
		w.list()
	case 2:
		w.feed(engine.Tick{})
	case 3:
		w.answer(rapid.IntRange(0, 4).Draw(w.t, "approved") > 0)
	default:
		if len(w.running) == 0 {
			w.answerSecrets()
			return
		}
		op := rapid.SampledFrom(sortedOps(w.running)).Draw(w.t, "op")
		outcome := rapid.SampledFrom([]engine.Outcome{engine.OutcomeOK, engine.OutcomeOK,
			engine.OutcomeOK, engine.OutcomeOK,
			engine.OutcomeOK, engine.OutcomeOK, engine.OutcomeNo, engine.OutcomeUnknown}).
			Draw(w.t, "outcome")
		happened := outcome == engine.OutcomeOK || rapid.Bool().Draw(w.t, "effect")
		w.finish(op, outcome, happened)
	}
}

// proceed lets one thing go well that needs no time, and reports whether there was
// any.
func (w *world) proceed() bool {
	if ops := sortedOps(w.running); len(ops) > 0 {
		w.finish(ops[0], engine.OutcomeOK, true)
		return true
	}
	if w.wanted != "" {
		w.answerSecrets()
		return true
	}
	return w.answer(true)
}

// heal lets everything succeed until no event is left.
func (w *world) heal() {
	w.healed = true
	for range 2000 {
		if w.proceed() {
			continue
		}
		switch w.m.State().Phase {
		case wire.PhaseApplying, wire.PhaseUndoing, wire.PhaseRemoving:
			if w.asleep {
				w.t.Fatalf("%s, and waits for nothing", w.m.State().Phase)
			}
		}
		before := len(w.journal)
		w.now = w.now.Add(time.Minute)
		w.list()
		w.now = w.now.Add(2 * time.Minute)
		w.feed(engine.Tick{})
		if len(w.running) == 0 && w.wanted == "" && before == len(w.journal) {
			return
		}
	}
	w.t.Fatalf("no end: phase %s, running %v, wanted %q", w.m.State().Phase, w.running, w.wanted)
}

func sortedOps(m map[int64]engine.StartOperation) []int64 {
	var ops []int64
	for op := range m {
		ops = append(ops, op)
	}
	slices.Sort(ops)
	return ops
}
