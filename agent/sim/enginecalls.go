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
	do        engine.StartOperation
	canceled  bool
	done      bool
	container *object
}

// isAbandoned reports whether the operation has ended or the agent that started it is gone.
func (w *world) isAbandoned(o *op) bool { return o.done || !w.isAlive(o.life) }

// beginOperation starts an operation: the agent sends a request to the engine, unless
// it is canceled already.
func (w *world) beginOperation(m *machine, do engine.StartOperation, canceled bool) {
	o := &op{life: w.agent.life, m: m, of: m.of, do: do}
	if work := m.m.CurrentGoal(); work != nil {
		o.run = work.Run
	}
	m.ops = append(m.ops, o)
	w.appendTrace("begin", m.of.id, string(do.Kind), string(do.Step), do.Action, formatInt(do.Attempt))
	if canceled {
		w.met["canceled before it began"]++
		o.canceled = true
		w.deliverResult(o, engine.Result{Outcome: engine.OutcomeUnknown, Code: engine.CodeCanceled})
		return
	}
	w.checkOperation(o)
	if do.Kind == engine.EvaluatePrompt || do.Kind == engine.EvaluateAnswer {
		w.completeApproval(o)
		return
	}
	if o.isScript() {
		w.runScript(o)
		return
	}
	delay := w.randomBetween(2*time.Millisecond, 60*time.Millisecond)
	if w.injectFault(25, "slow call") {
		delay = w.randomBetween(time.Second, 25*time.Second)
	}
	w.scheduleEvent(delay, "call", func() { w.arriveAtEngine(o) })
}

// arriveAtEngine is the request's arrival at the engine.
func (w *world) arriveAtEngine(o *op) {
	d := &w.docker
	switch {
	case w.isAbandoned(o) && w.oneIn(50):
		// It never got there.
	case d.down:
		w.deliverResult(o, engine.Result{Outcome: engine.OutcomeUnknown, Message: "connection refused"})
	case d.frozen:
		d.waiting = append(d.waiting, func() { w.arriveAtEngine(o) })
		w.scheduleEvent(callTimeout, "deadline", func() {
			w.deliverResult(o, engine.Result{Outcome: engine.OutcomeUnknown, Message: "no answer"})
		})
	case w.injectFault(30, "error before effect"):
		w.deliverResult(o, engine.Result{Outcome: engine.OutcomeUnknown, Message: "EOF"})
	case o.do.Kind != engine.Probe && w.injectFault(8, "refusal"):
		w.refuseCall(o)
	default:
		w.applyCall(o)
	}
}

// refuseCall answers with a refusal before any effect. For a plugin's run that cannot be
// known, so the outcome is unknown.
func (w *world) refuseCall(o *op) {
	r := engine.Result{Outcome: engine.OutcomeNo, Code: "conflict", Message: "409"}
	if o.do.Kind == engine.Run {
		r.Outcome = engine.OutcomeUnknown
	}
	w.deliverResult(o, r)
}

// applyCall is the effect.
func (w *world) applyCall(o *op) {
	switch o.do.Kind {
	case engine.Prepare:
		w.prepareNetwork(o)
	case engine.Pull:
		w.pullImage(o)
	case engine.Start:
		w.createAndStart(o)
	case engine.Probe:
		w.probeService(o)
	case engine.Stop:
		w.stopJob(o)
	case engine.Precreate:
		w.prepareSandbox(o)
	case engine.Run:
		w.runPlugin(o)
	case engine.Remove:
		w.removeContainers(o)
	case engine.RemoveAll:
		w.removeAll(o)
	}
}

// deliverResult brings the outcome home, unless it is lost on the way.
func (w *world) deliverResult(o *op, r engine.Result) {
	mayBeLost := o.do.Kind != engine.Probe && o.do.Kind != engine.Precreate
	if r.Outcome == engine.OutcomeOK && mayBeLost && w.injectFault(25, "lost answer") {
		r = engine.Result{Outcome: engine.OutcomeUnknown, Message: "lost answer"}
	}
	w.scheduleEvent(w.randomBetween(0, 5*time.Millisecond), "answer", func() {
		if w.isAbandoned(o) {
			return
		}
		o.done = true
		for i, other := range o.m.ops {
			if other == o {
				o.m.ops = append(o.m.ops[:i:i], o.m.ops[i+1:]...)
				break
			}
		}
		w.appendTrace("end", o.of.id, string(o.do.Kind), string(o.do.Step), string(r.Outcome), r.Code)
		w.postTask(o.life, func() { w.stepMachine(o.m, engine.OperationEnded{Op: o.do.Op, Result: r}) })
	})
}

// cancelOperation ends an operation soon. What was made by then stays.
func (w *world) cancelOperation(o *op) {
	if o.canceled {
		return
	}
	o.canceled = true
	c := o.container
	w.scheduleEvent(w.randomBetween(0, 400*time.Millisecond), "canceled", func() {
		switch {
		case w.isAbandoned(o):
		case c != nil && c.op == o && !w.docker.down && !w.docker.frozen:
			c.stopProcess()
			w.endPlugin(c, engine.Result{Outcome: engine.OutcomeNo, Code: engine.CodeCanceled})
		default:
			if c != nil && c.op == o {
				c.op = nil
			}
			w.deliverResult(o, engine.Result{Outcome: engine.OutcomeUnknown, Code: engine.CodeCanceled})
		}
	})
}

func (w *world) prepareNetwork(o *op) {
	if w.docker.findObject(o.of, network, "", "") == nil {
		w.docker.addObject(&object{of: o.of, kind: network})
	}
	w.scheduleEvent(w.randomBetween(10*time.Millisecond, 300*time.Millisecond), "relay", func() {
		if w.docker.findObject(o.of, network, "", "") == nil {
			w.deliverResult(o, engine.Result{Outcome: engine.OutcomeUnknown, Message: "the network is gone"})
			return
		}
		g := w.docker.findObject(o.of, relay, "", "")
		if g == nil {
			g = w.docker.addObject(&object{of: o.of, kind: relay})
		}
		if !w.isAbandoned(o) {
			g.state = running
		}
		w.deliverResult(o, engine.Result{Outcome: engine.OutcomeOK})
	})
}

func (w *world) pullImage(o *op) {
	took := w.randomBetween(20*time.Millisecond, 2*time.Second)
	if w.injectFault(40, "slow pull") {
		took = w.randomBetween(5*time.Second, 60*time.Second)
	}
	w.scheduleEvent(
		took,
		"pulled",
		func() { w.deliverResult(o, engine.Result{Outcome: engine.OutcomeOK}) },
	)
}

// createAndStart makes the service's container, then starts it: two calls.
func (w *world) createAndStart(o *op) {
	if w.docker.findObject(o.of, network, "", "") == nil {
		w.deliverResult(o, engine.Result{Outcome: engine.OutcomeNo, Code: "start", Message: "no network"})
		return
	}
	c := w.docker.findObject(o.of, service, o.do.Step, "")
	if c != nil && w.startWaiting(o, c) {
		return
	}
	// What is left of a sandbox never began.
	if c != nil && (!c.begun && c.state != created || o.isJob() && c.run != o.run) {
		w.removeContainer(c)
		c = nil
	}
	if c == nil {
		c = w.docker.addObject(&object{of: o.of, kind: service, step: o.do.Step, run: o.run})
	}
	if w.isAbandoned(o) || o.canceled {
		// The agent that would send the second request is gone.
		w.deliverResult(o, engine.Result{Outcome: engine.OutcomeUnknown})
		return
	}
	w.scheduleEvent(w.randomBetween(5*time.Millisecond, 60*time.Millisecond), "start", func() {
		switch {
		case c.gone || w.docker.down:
			w.deliverResult(o, engine.Result{Outcome: engine.OutcomeUnknown, Message: "no such container"})
			return
		case (w.isAbandoned(o) || o.canceled) && w.oneIn(70):
		case o.isJob() && c.state != created && !w.hasDefect("start an ended job again"):
		case c.state != running:
			w.startService(o, c)
		}
		w.deliverResult(o, engine.Result{Outcome: engine.OutcomeOK})
	})
}

func (w *world) startService(o *op, c *object) {
	h := o.of.habits[o.do.Step]
	c.state, c.begun, c.ready = running, true, w.now+h.ready
	c.life++
	w.checkStart(o)
	if o.isJob() {
		w.runJob(o, c)
		return
	}
	if h.ends > 0 {
		life := c.life
		w.scheduleEvent(h.ends, "service ends", func() {
			if c.life == life {
				c.stopProcess()
			}
		})
	}
}

func (w *world) probeService(o *op) {
	c := w.docker.findObject(o.of, service, o.do.Step, "")
	r := engine.Result{Outcome: engine.OutcomeOK, Health: wire.HealthStarting}
	if o.isJob() {
		w.probeJob(o, c)
		return
	}
	switch {
	case c == nil || c.state != running:
		r.Exited, r.Health = true, wire.HealthStopped
	case w.now >= c.ready:
		r.Health = wire.HealthHealthy
		o.of.ok[o.do.Step] = true
	}
	w.deliverResult(o, r)
}

// removeContainers lists first, then removes what it saw.
func (w *world) removeContainers(o *op) {
	objects, ok := w.listEngine()
	if !ok {
		w.deliverResult(o, engine.Result{Outcome: engine.OutcomeUnknown, Message: "list"})
		return
	}
	w.scheduleEvent(w.randomBetween(5*time.Millisecond, 200*time.Millisecond), "remove", func() {
		if w.docker.down || w.docker.frozen {
			w.deliverResult(o, engine.Result{Outcome: engine.OutcomeUnknown, Message: "connection refused"})
			return
		}
		conflict := false
		for _, seen := range objects {
			if seen.of != o.of || seen.step != o.do.Step || seen.kind < service {
				continue
			}
			c := w.docker.findObject(seen.of, seen.kind, seen.step, seen.action)
			if c == nil || o.do.Keep && w.isKnownSandbox(c) {
				continue
			}
			if w.injectFault(40, "removal in progress") {
				conflict = true
				w.scheduleEvent(
					w.randomBetween(0, 2*time.Second),
					"removed late",
					func() { w.removeContainer(c) },
				)
				continue
			}
			w.removeContainer(c)
		}
		if conflict {
			w.deliverResult(o, engine.Result{Outcome: engine.OutcomeNo, Code: "remove", Message: "409"})
			return
		}
		w.deliverResult(o, engine.Result{Outcome: engine.OutcomeOK})
	})
}

func (w *world) removeContainer(c *object) {
	c.stopProcess()
	w.endPlugin(c, engine.Result{Outcome: engine.OutcomeNo, Code: "killed_by_stranger"})
	w.docker.dropObject(c)
}

// removeAll removes containers, then the network, and looks what is left.
func (w *world) removeAll(o *op) {
	objects, ok := w.listEngine()
	if !ok {
		w.deliverResult(o, engine.Result{Outcome: engine.OutcomeUnknown, Message: "list"})
		return
	}
	for _, seen := range objects {
		c := w.docker.findObject(seen.of, seen.kind, seen.step, seen.action)
		if seen.of == o.of && c != nil && c.kind != network && !w.injectFault(20, "stubborn container") {
			w.removeContainer(c)
		}
	}
	w.scheduleEvent(w.randomBetween(50*time.Millisecond, 300*time.Millisecond), "network", func() {
		if w.docker.down || w.docker.frozen {
			w.deliverResult(o, engine.Result{Outcome: engine.OutcomeUnknown, Message: "connection refused"})
			return
		}
		n := w.docker.findObject(o.of, network, "", "")
		if n != nil && !w.hasRunningContainer(o.of) && !w.hasDefect("leave the network") {
			w.docker.dropObject(n)
		}
		w.reportLeft(o)
	})
}

func (w *world) reportLeft(o *op) {
	objects, ok := w.listEngine()
	if !ok {
		w.deliverResult(o, engine.Result{Outcome: engine.OutcomeUnknown, Message: "list"})
		return
	}
	r := engine.Result{Outcome: engine.OutcomeOK}
	for _, seen := range objects {
		if seen.of == o.of && !(seen.kind == network && w.hasDefect("leave the network")) {
			r.Left = append(r.Left, formatInt(seen.kind)+string(seen.step))
		}
	}
	if len(r.Left) > 0 {
		r.Outcome = engine.OutcomeNo
	}
	w.deliverResult(o, r)
}
