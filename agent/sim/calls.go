package sim

import (
	"time"

	"github.com/nullops/nullops/agent/engine"
	"github.com/nullops/nullops/agent/wire"
)

// pluginTimeout is when a plugin that hangs is killed.
const pluginTimeout = 45 * time.Second

// callTimeout is when a call that the engine does not answer is given up.
const callTimeout = 30 * time.Second

// op is one operation of a machine, on its way.
type op struct {
	life      int
	m         *machine
	of        *deployment
	run       string
	do        engine.Do
	canceled  bool
	done      bool
	container *object
}

// isAbandoned reports whether the operation has ended or the agent that started it is gone.
func (w *world) dead(o *op) bool { return o.done || !w.lives(o.life) }

// begin starts an operation: the agent sends a request to the engine, unless
// it is canceled already.
func (w *world) begin(m *machine, do engine.Do, canceled bool) {
	o := &op{life: w.agent.life, m: m, of: m.of, do: do}
	if work := m.m.Work(); work != nil {
		o.run = work.Run
	}
	m.ops = append(m.ops, o)
	w.note("begin", m.of.id, string(do.Kind), string(do.Step), do.Action, itoa(do.Attempt))
	if canceled {
		w.met["canceled before it began"]++
		o.canceled = true
		w.answer(o, engine.Result{Outcome: engine.Unknown, Code: engine.CodeCanceled})
		return
	}
	w.witnessDo(o)
	if do.Kind == engine.Ask || do.Kind == engine.Answer {
		w.decide(o)
		return
	}
	delay := w.between(2*time.Millisecond, 60*time.Millisecond)
	if w.fault(25, "slow call") {
		delay = w.between(time.Second, 25*time.Second)
	}
	w.after(delay, "call", func() { w.reach(o) })
}

// reach is the request's arrival at the engine.
func (w *world) reach(o *op) {
	d := &w.docker
	switch {
	case w.dead(o) && w.percent(50):
		// It never got there.
	case d.down:
		w.answer(o, engine.Result{Outcome: engine.Unknown, Message: "connection refused"})
	case d.frozen:
		d.waiting = append(d.waiting, func() { w.reach(o) })
		w.after(callTimeout, "deadline", func() {
			w.answer(o, engine.Result{Outcome: engine.Unknown, Message: "no answer"})
		})
	case w.fault(30, "error before effect"):
		w.answer(o, engine.Result{Outcome: engine.Unknown, Message: "EOF"})
	case o.do.Kind != engine.Probe && w.fault(8, "refusal"):
		w.refuse(o)
	default:
		w.serve(o)
	}
}

// refuseCall answers with a refusal before any effect. For a plugin's run that cannot be
// known, so the outcome is unknown.
func (w *world) refuse(o *op) {
	r := engine.Result{Outcome: engine.No, Code: "conflict", Message: "409"}
	if o.do.Kind == engine.Run {
		r.Outcome = engine.Unknown
	}
	w.answer(o, r)
}

// serve is the effect.
func (w *world) serve(o *op) {
	switch o.do.Kind {
	case engine.Prepare:
		w.prepare(o)
	case engine.Pull:
		w.pull(o)
	case engine.Start:
		w.start(o)
	case engine.Probe:
		w.probe(o)
	case engine.CreateAhead:
		w.createAhead(o)
	case engine.Run:
		w.runPlugin(o)
	case engine.Remove:
		w.remove(o)
	case engine.RemoveAll:
		w.removeAll(o)
	}
}

// answer brings the outcome home, unless it is lost on the way.
func (w *world) answer(o *op, r engine.Result) {
	if r.Outcome == engine.OK && o.do.Kind != engine.Probe && w.fault(25, "lost answer") {
		r = engine.Result{Outcome: engine.Unknown, Message: "lost answer"}
	}
	w.after(w.between(0, 5*time.Millisecond), "answer", func() {
		if w.dead(o) {
			return
		}
		o.done = true
		for i, other := range o.m.ops {
			if other == o {
				o.m.ops = append(o.m.ops[:i:i], o.m.ops[i+1:]...)
				break
			}
		}
		w.note("end", o.of.id, string(o.do.Kind), string(o.do.Step), string(r.Outcome), r.Code)
		w.post(o.life, func() { w.feed(o.m, engine.Ended{Op: o.do.Op, Result: r}) })
	})
}

// cancel ends an operation soon. What was made by then stays.
func (w *world) cancel(o *op) {
	if o.canceled {
		return
	}
	o.canceled = true
	c := o.container
	w.after(w.between(0, 400*time.Millisecond), "canceled", func() {
		switch {
		case w.dead(o):
		case c != nil && c.op == o && !w.docker.down && !w.docker.frozen:
			c.stop()
			w.endPlugin(c, engine.Result{Outcome: engine.No, Code: engine.CodeCanceled})
		default:
			if c != nil && c.op == o {
				c.op = nil
			}
			w.answer(o, engine.Result{Outcome: engine.Unknown, Code: engine.CodeCanceled})
		}
	})
}

func (w *world) prepare(o *op) {
	if w.docker.find(o.of, network, "", "") == nil {
		w.docker.add(&object{of: o.of, kind: network})
	}
	w.after(w.between(10*time.Millisecond, 300*time.Millisecond), "gate", func() {
		if w.docker.find(o.of, network, "", "") == nil {
			w.answer(o, engine.Result{Outcome: engine.Unknown, Message: "the network is gone"})
			return
		}
		g := w.docker.find(o.of, gate, "", "")
		if g == nil {
			g = w.docker.add(&object{of: o.of, kind: gate})
		}
		if !w.dead(o) {
			g.state = running
		}
		w.answer(o, engine.Result{Outcome: engine.OK})
	})
}

func (w *world) pull(o *op) {
	took := w.between(20*time.Millisecond, 2*time.Second)
	if w.fault(40, "slow pull") {
		took = w.between(5*time.Second, 60*time.Second)
	}
	w.after(took, "pulled", func() { w.answer(o, engine.Result{Outcome: engine.OK}) })
}

// start makes the service's container, then starts it: two calls.
func (w *world) start(o *op) {
	if w.docker.find(o.of, network, "", "") == nil {
		w.answer(o, engine.Result{Outcome: engine.No, Code: "start", Message: "no network"})
		return
	}
	c := w.docker.find(o.of, service, o.do.Step, "")
	if c == nil {
		c = w.docker.add(&object{of: o.of, kind: service, step: o.do.Step})
	}
	if w.dead(o) || o.canceled {
		// The agent that would send the second request is gone.
		w.answer(o, engine.Result{Outcome: engine.Unknown})
		return
	}
	w.after(w.between(5*time.Millisecond, 60*time.Millisecond), "start", func() {
		switch {
		case c.gone || w.docker.down:
			w.answer(o, engine.Result{Outcome: engine.Unknown, Message: "no such container"})
			return
		case (w.dead(o) || o.canceled) && w.percent(70):
		case c.state != running:
			w.startService(o, c)
		}
		w.answer(o, engine.Result{Outcome: engine.OK})
	})
}

func (w *world) startService(o *op, c *object) {
	h := o.of.habits[o.do.Step]
	c.state, c.ready = running, w.now+h.ready
	c.life++
	w.witnessStart(o)
	if h.ends > 0 {
		life := c.life
		w.after(h.ends, "service ends", func() {
			if c.life == life {
				c.stop()
			}
		})
	}
}

func (w *world) probe(o *op) {
	c := w.docker.find(o.of, service, o.do.Step, "")
	r := engine.Result{Outcome: engine.OK, Health: wire.HealthStarting}
	switch {
	case c == nil || c.state != running:
		r.Exited, r.Health = true, wire.HealthStopped
	case w.now >= c.ready:
		r.Health = wire.HealthHealthy
		o.of.ok[o.do.Step] = true
	}
	w.answer(o, r)
}

func (w *world) createAhead(o *op) {
	if w.docker.find(o.of, plugin, o.do.Step, o.do.Action) == nil {
		w.docker.add(&object{of: o.of, kind: plugin, step: o.do.Step, action: o.do.Action})
	}
	w.answer(o, engine.Result{Outcome: engine.OK})
}

// remove lists first, then removes what it saw.
func (w *world) remove(o *op) {
	objects, ok := w.look()
	if !ok {
		w.answer(o, engine.Result{Outcome: engine.Unknown, Message: "list"})
		return
	}
	w.after(w.between(5*time.Millisecond, 200*time.Millisecond), "remove", func() {
		if w.docker.down || w.docker.frozen {
			w.answer(o, engine.Result{Outcome: engine.Unknown, Message: "connection refused"})
			return
		}
		conflict := false
		for _, seen := range objects {
			if seen.of != o.of || seen.step != o.do.Step || seen.kind < service {
				continue
			}
			c := w.docker.find(seen.of, seen.kind, seen.step, seen.action)
			if c == nil {
				continue
			}
			if w.fault(40, "removal in progress") {
				conflict = true
				w.after(w.between(0, 2*time.Second), "removed late", func() { w.removeContainer(c) })
				continue
			}
			w.removeContainer(c)
		}
		if conflict {
			w.answer(o, engine.Result{Outcome: engine.No, Code: "remove", Message: "409"})
			return
		}
		w.answer(o, engine.Result{Outcome: engine.OK})
	})
}

func (w *world) removeContainer(c *object) {
	c.stop()
	w.endPlugin(c, engine.Result{Outcome: engine.No, Code: "killed_by_stranger"})
	w.docker.drop(c)
}

// removeAll removes containers, then the network, and looks what is left.
func (w *world) removeAll(o *op) {
	objects, ok := w.look()
	if !ok {
		w.answer(o, engine.Result{Outcome: engine.Unknown, Message: "list"})
		return
	}
	for _, seen := range objects {
		c := w.docker.find(seen.of, seen.kind, seen.step, seen.action)
		if seen.of == o.of && c != nil && c.kind != network && !w.fault(20, "stubborn container") {
			w.removeContainer(c)
		}
	}
	w.after(w.between(50*time.Millisecond, 300*time.Millisecond), "network", func() {
		if w.docker.down || w.docker.frozen {
			w.answer(o, engine.Result{Outcome: engine.Unknown, Message: "connection refused"})
			return
		}
		n := w.docker.find(o.of, network, "", "")
		if n != nil && !w.attached(o.of) && !w.has("leave the network") {
			w.docker.drop(n)
		}
		w.left(o)
	})
}

func (w *world) left(o *op) {
	objects, ok := w.look()
	if !ok {
		w.answer(o, engine.Result{Outcome: engine.Unknown, Message: "list"})
		return
	}
	r := engine.Result{Outcome: engine.OK}
	for _, seen := range objects {
		if seen.of == o.of && !(seen.kind == network && w.has("leave the network")) {
			r.Left = append(r.Left, itoa(seen.kind)+string(seen.step))
		}
	}
	if len(r.Left) > 0 {
		r.Outcome = engine.No
	}
	w.answer(o, r)
}
