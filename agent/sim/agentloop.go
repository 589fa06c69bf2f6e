package sim

import (
	"time"

	"github.com/nullops/nullops/agent/engine"
	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/pipeline"
)

// disk is what survives the agent's process.
type disk struct {
	entries []entry
	// events is the outbox, in order; it is a view of entries.
	events []wire.Event
}

// entry is one frame of the journal.
type entry struct {
	deployment *deployment
	records    []engine.Record
	events     []wire.Event
	forget     bool
}

// agentModel models package agent: the loop, the journal, the outbox.
type agentModel struct {
	alive bool
	// life distinguishes one process from the next.
	life       int
	machines   []*machine
	inbox      []func()
	batch      []entry
	todo       []pending
	committing bool
	outbox     []wire.Event
	last       int64
	// session is the newest connection, zero for none.
	session int
	sending bool
	sent    int64
	asked   bool
	listing bool
}

// machine is a deployment's in one life of the agent.
type machine struct {
	of     *deployment
	m      *engine.Machine
	ops    []*op
	wakes  int
	wanted string
	number int64
	asked  time.Duration
	refuse int
}

type pending struct {
	m      *machine
	effect engine.Effect
}

// engineTime is the time as machines see it.
func (w *world) engineTime() time.Time { return time.Unix(1_000_000_000, 0).Add(w.now) }

// bootAgent starts the agent on what is on its disk.
func (w *world) bootAgent() {
	life := w.agent.life + 1
	w.agent = agentModel{alive: true, life: life}
	a := &w.agent
	a.outbox = append(a.outbox, w.disk.events...)
	a.last = int64(len(a.outbox))
	if w.hasDefect("forget events on restart") {
		a.outbox = nil
	}
	w.appendTrace("boot", formatInt(life))
	for _, d := range w.deployments {
		var records []engine.Record
		known := false
		for _, e := range w.disk.entries {
			switch {
			case e.deployment != d:
			case e.forget:
				records, known = nil, false
			default:
				records, known = append(records, e.records...), true
			}
		}
		if known {
			m := &machine{of: d, m: engine.Replay(d.id, records)}
			m.m.LimitSandboxes(mostSandboxes)
			w.plantDefect(m.m)
			a.machines = append(a.machines, m)
		}
	}
	a.inbox = append(a.inbox, func() {
		for _, m := range a.machines {
			w.stepMachine(m, engine.AgentRestarted{})
		}
	})
	w.runTasks()
	w.scheduleEvent(w.randomBetween(0, time.Second), "list", func() { w.listRegularly(life) })
}

// crashAgent ends the process: kill -9.
func (w *world) crashAgent() {
	if !w.agent.alive {
		return
	}
	a := &w.agent
	if a.committing {
		// What was being written got as far as it got.
		n := w.random.IntN(len(a.batch) + 1)
		w.persistEntries(a.batch[:n])
	}
	a.alive = false
	w.appendTrace("agent dies")
	w.endSandboxes(a.life)
	w.dropLink("the agent died")
	w.scheduleEvent(w.randomBetween(200*time.Millisecond, 5*time.Second), "start", w.bootAgent)
}

// isAlive reports whether that process still is.
func (w *world) isAlive(life int) bool { return w.agent.alive && w.agent.life == life }

// postTask passes a task to the agent's loop.
func (w *world) postTask(life int, task func()) {
	if !w.isAlive(life) {
		return
	}
	w.agent.inbox = append(w.agent.inbox, task)
	w.runTasks()
}

// runTasks takes all tasks there are, and commits what follows from them.
func (w *world) runTasks() {
	a := &w.agent
	if a.committing || len(a.inbox) == 0 {
		return
	}
	tasks := a.inbox
	a.inbox = nil
	for _, task := range tasks {
		task()
	}
	w.commitBatch()
}

// stepMachine is the only way in which machines learn something.
func (w *world) stepMachine(m *machine, ev engine.Event) {
	e := entry{deployment: m.of}
	for _, effect := range m.m.Step(w.engineTime(), ev) {
		switch effect := effect.(type) {
		case engine.Record:
			e.records = append(e.records, effect)
		case engine.Report:
			e.events = append(e.events, effect.Event)
		case engine.Forget:
			e.forget = true
			w.agent.todo = append(w.agent.todo, pending{m, effect})
		default:
			w.agent.todo = append(w.agent.todo, pending{m, effect})
		}
	}
	if len(e.records) > 0 || len(e.events) > 0 || e.forget {
		w.agent.batch = append(w.agent.batch, e)
	}
}

// commitBatch makes the batch durable, however long that takes.
func (w *world) commitBatch() {
	a := &w.agent
	if len(a.batch) == 0 {
		w.performEffects()
		return
	}
	for i := range a.batch {
		for k := range a.batch[i].events {
			a.last++
			a.batch[i].events[k].Seq = a.last
		}
	}
	a.committing = true
	if w.hasDefect("acknowledge before fsync") {
		w.publishEvents()
		w.performEffects()
	}
	w.syncDisk(a.life)
}

// syncDisk is the disk at work.
func (w *world) syncDisk(life int) {
	took := w.randomBetween(time.Millisecond, 8*time.Millisecond)
	if w.injectFault(10, "slow disk") {
		took = w.randomBetween(time.Second, 20*time.Second)
	}
	w.scheduleEvent(took, "fsync", func() {
		if !w.isAlive(life) {
			return
		}
		if w.injectFault(5, "disk refuses") {
			w.scheduleEvent(time.Second, "retry the disk", func() {
				if w.isAlive(life) {
					w.syncDisk(life)
				}
			})
			return
		}
		w.onSynced()
	})
}

func (w *world) onSynced() {
	a := &w.agent
	w.persistEntries(a.batch)
	if !w.hasDefect("acknowledge before fsync") {
		w.publishEvents()
	}
	a.batch, a.committing = nil, false
	w.performEffects()
	w.sendReports()
	w.runTasks()
}

// publishEvents puts the batch's events into the outbox.
func (w *world) publishEvents() {
	for _, e := range w.agent.batch {
		w.agent.outbox = append(w.agent.outbox, e.events...)
	}
}

// persistEntries makes entries durable: they survive every later crash.
func (w *world) persistEntries(entries []entry) {
	for _, e := range entries {
		w.disk.entries = append(w.disk.entries, e)
		w.disk.events = append(w.disk.events, e.events...)
		for _, r := range e.records {
			w.checkRecord(e.deployment, r)
		}
		for _, ev := range e.events {
			w.appendTrace("journal", ev.Deployment, ev.Run, string(ev.Phase), string(ev.Step),
				string(ev.Status), ev.Code)
			w.checkEvent(e.deployment, ev)
		}
	}
}

// performEffects does what the machines asked for.
func (w *world) performEffects() {
	todo := w.agent.todo
	w.agent.todo = nil
	for i, p := range todo {
		m := p.m
		switch e := p.effect.(type) {
		case engine.StartOperation:
			w.beginOperation(m, e, canceledIn(todo[i+1:], m, e.Op))
		case engine.CancelOperation:
			for _, o := range m.ops {
				if o.do.Op == e.Op {
					w.cancelOperation(o)
				}
			}
		case engine.WantSecrets:
			m.wanted, m.number, m.refuse, m.asked = e.Run, e.Generation, 0, -time.Hour
			w.sendReports()
		case engine.DropSecrets:
			m.wanted = ""
		case engine.Wake:
			w.scheduleWake(m, e.At)
		case engine.Forget:
			w.forgetMachine(m)
		}
	}
}

// canceledIn reports whether an operation was taken back while the journal was
// written.
func canceledIn(todo []pending, m *machine, op int64) bool {
	for _, p := range todo {
		if c, ok := p.effect.(engine.CancelOperation); ok && p.m == m && c.Op == op {
			return true
		}
	}
	return false
}

func (w *world) scheduleWake(m *machine, at time.Time) {
	m.wakes++
	life, number := w.agent.life, m.wakes
	w.scheduleEvent(max(0, at.Sub(w.engineTime())), "wake", func() {
		if number != m.wakes {
			return
		}
		w.postTask(life, func() { w.stepMachine(m, engine.Tick{}) })
	})
}

func (w *world) forgetMachine(m *machine) {
	for i, other := range w.agent.machines {
		if other == m {
			w.agent.machines = append(w.agent.machines[:i:i], w.agent.machines[i+1:]...)
			return
		}
	}
}

func (w *world) ensureMachine(d *deployment) *machine {
	for _, m := range w.agent.machines {
		if m.of == d {
			return m
		}
	}
	m := &machine{of: d, m: engine.New(d.id)}
	m.m.LimitSandboxes(mostSandboxes)
	w.plantDefect(m.m)
	w.agent.machines = append(w.agent.machines, m)
	return m
}

// takeGoals passes goals to the machines; a full set also removes deployments that it does
// not list.
func (w *world) takeGoals(goals []wire.Goal, full bool) {
	named := map[string]bool{}
	for _, g := range goals {
		named[g.Deployment] = true
		w.stepMachine(w.ensureMachine(w.findDeployment(g.Deployment)), engine.GoalSet{Goal: g})
	}
	if !full {
		return
	}
	w.agent.asked = true
	for _, m := range append([]*machine{}, w.agent.machines...) {
		if !named[m.of.id] {
			w.stepMachine(m, engine.GoalMissing{})
		}
	}
}

func (w *world) findDeployment(id string) *deployment {
	for _, d := range w.deployments {
		if d.id == id {
			return d
		}
	}
	return nil
}

// takeSecrets answers the wish for a run's bundle. A first refusal may be of an
// older question.
func (w *world) takeSecrets(s wire.Secrets) {
	for _, m := range w.agent.machines {
		if m.wanted != s.Run || m.number != s.Generation {
			continue
		}
		if s.Refused != "" && m.refuse == 0 {
			m.refuse++
			m.asked = -time.Hour
			return
		}
		m.wanted = ""
		if s.Refused != "" {
			w.stepMachine(m, engine.SecretsRefused{Run: s.Run, Generation: s.Generation,
				Reason: s.Refused})
			return
		}
		var keys []pipeline.StepKey
		for _, step := range m.of.graph.Steps {
			if s.Outputs[step.Key] != nil {
				keys = append(keys, step.Key)
			}
		}
		w.stepMachine(m, engine.SecretsArrived{Run: s.Run, Outputs: keys})
		return
	}
}

// listRegularly asks the engine for everything, again and again.
func (w *world) listRegularly(life int) {
	if !w.isAlive(life) {
		return
	}
	w.scheduleEvent(10*time.Second, "list", func() { w.listRegularly(life) })
	if w.agent.listing {
		return
	}
	w.agent.listing = true
	began := w.engineTime()
	took := w.randomBetween(5*time.Millisecond, 100*time.Millisecond)
	if w.injectFault(60, "slow list") {
		took = w.randomBetween(time.Second, 25*time.Second)
	}
	w.scheduleEvent(w.randomBetween(0, 2*time.Millisecond), "look", func() {
		objects, ok := w.listEngine()
		w.scheduleEvent(took, "listed", func() {
			if w.isAlive(life) {
				w.agent.listing = false
			}
			if ok {
				w.postTask(life, func() { w.takeListing(began, objects) })
			}
		})
	})
}

// takeListing feeds a complete list.
func (w *world) takeListing(began time.Time, objects []object) {
	for _, d := range w.deployments {
		l := engine.ObjectsListed{Began: began}
		found := false
		for _, o := range objects {
			if o.of != d {
				continue
			}
			found = true
			noteObject(&l, o)
		}
		known := false
		for _, m := range w.agent.machines {
			known = known || m.of == d
		}
		if !known && (!found || !w.agent.asked) {
			continue
		}
		m := w.ensureMachine(d)
		if !known {
			w.stepMachine(m, engine.GoalMissing{})
		}
		w.stepMachine(m, l)
	}
}
