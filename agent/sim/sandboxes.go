package sim

import (
	"time"

	"github.com/nullops/nullops/agent/engine"
	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/pipeline"
)

// mostSandboxes is the setting of every agent here.
const mostSandboxes = 2

// prepareSandbox makes a container, then starts it: two calls. What runs then is the helper, which
// waits on a stream that the agent holds.
func (w *world) prepareSandbox(o *op) {
	c := w.docker.findObject(o.of, o.kind(), o.do.Step, o.action())
	if c != nil && c.begun && c.kind == service {
		w.deliverResult(o, engine.Result{Outcome: engine.OutcomeNo, Message: "it is there"})
		return
	}
	if c != nil && c.state != created && !w.isKnownSandbox(c) {
		w.removeContainer(c)
		c = nil
	}
	if c == nil {
		c = w.docker.addObject(&object{of: o.of, kind: o.kind(), step: o.do.Step, action: o.action(),
			run: o.run})
	}
	if w.isAbandoned(o) || o.canceled {
		// The agent that would send the second request is gone.
		w.deliverResult(o, engine.Result{Outcome: engine.OutcomeUnknown})
		return
	}
	w.scheduleEvent(w.randomBetween(5*time.Millisecond, 60*time.Millisecond), "start",
		func() { w.startSandbox(o, c) })
}

func (w *world) startSandbox(o *op, c *object) {
	switch {
	case c.gone || w.docker.down || c.state != created:
		w.deliverResult(o, engine.Result{Outcome: engine.OutcomeUnknown, Message: "no such container"})
		return
	case w.isAbandoned(o) || o.canceled:
	case w.injectFault(25, "lost answer"):
		// It was started. The runtime hangs up on what it does not know, and so that ends.
		c.state = exited
		w.deliverResult(o, engine.Result{Outcome: engine.OutcomeUnknown, Message: "lost answer"})
		return
	default:
		c.state, c.agent = waiting, o.life
		w.met["sandbox of a "+[]string{service: "service", plugin: "plugin"}[c.kind]]++
		w.checkSandbox(o)
		if w.hasDefect("run a sandbox early") && c.kind == plugin ||
			w.hasDefect("run a service's sandbox early") && c.kind == service {
			w.checkStart(o)
		}
	}
	w.deliverResult(o, engine.Result{Outcome: engine.OutcomeOK})
}

// kind is that of the step's container.
func (o *op) kind() kind {
	if s, _ := o.of.graph.Step(o.do.Step); s.Container() != nil {
		return service
	}
	return plugin
}

// action is that of the step's container: those of services and jobs have none.
func (o *op) action() string {
	if o.kind() == service {
		return ""
	}
	return o.do.Action
}

// isKnownSandbox reports whether the agent holds the stdin of a sandbox that waits.
func (w *world) isKnownSandbox(c *object) bool {
	return c.state == waiting && w.isAlive(c.agent)
}

// findSandbox returns the container for a plugin's run: a sandbox that waits, or a new one.
func (w *world) findSandbox(o *op) *object {
	c := w.docker.findObject(o.of, plugin, o.do.Step, o.do.Action)
	used := c != nil && c.signals > 0 && w.hasDefect("use a sandbox twice")
	if c != nil && c.state != created && !w.isKnownSandbox(c) && !used {
		w.removeContainer(c)
		c = nil
	}
	if c == nil {
		c = w.docker.addObject(&object{of: o.of, kind: plugin, step: o.do.Step, action: o.do.Action})
	}
	return c
}

// giveSignal begins the plugin.
func (w *world) giveSignal(o *op, c *object) {
	if c.signals++; c.signals > 1 {
		w.failWorld("the sandbox of plugin %s/%s is used twice", o.of.id, o.do.Step)
		return
	}
	if c.state == waiting {
		w.met["sandbox used"]++
	}
	c.state, c.begun, c.op, o.container = running, true, o, c
	c.life++
	w.checkStart(o)
	w.runPluginProcess(o, c)
}

// startWaiting begins a service or a job whose sandbox waits, and reports whether it does.
func (w *world) startWaiting(o *op, c *object) bool {
	again := c.signals > 0 && c.state == running && w.hasDefect("use a service's sandbox twice")
	if !w.isKnownSandbox(c) && !again {
		return false
	}
	if w.isAbandoned(o) || o.canceled {
		w.deliverResult(o, engine.Result{Outcome: engine.OutcomeUnknown})
		return true
	}
	if c.signals++; c.signals > 1 {
		w.failWorld("the sandbox of %s/%s is used twice", o.of.id, o.do.Step)
		return true
	}
	w.met["service's sandbox used"]++
	w.startService(o, c)
	w.deliverResult(o, engine.Result{Outcome: engine.OutcomeOK})
	return true
}

// endSandboxes is what follows from the agent's death: stdin ends, and so does what waits on it.
func (w *world) endSandboxes(life int) {
	w.scheduleEvent(w.randomBetween(0, 100*time.Millisecond), "stdin ends", func() {
		for _, c := range w.docker.objects {
			if c.state == waiting && c.agent == life {
				c.stopProcess()
			}
		}
	})
}

// checkSandbox checks that no more sandboxes wait than there may. One more is about to be used.
func (w *world) checkSandbox(o *op) {
	if n := w.countSandboxes(o.of, o.do.Action); n > mostSandboxes+1 {
		w.failWorld("%s: %d sandboxes wait, and %d may", o.of.id, n, mostSandboxes)
	}
	for _, e := range w.disk.events {
		if e.Deployment == o.of.id && e.Run == o.of.run && e.Status == pipeline.StepWaiting {
			w.checkNothingHeld(o.of, e)
		}
	}
}

// checkNothingHeld fails if an approval waits for a person while sandboxes wait for it.
func (w *world) checkNothingHeld(d *deployment, e wire.Event) {
	if e.Status != pipeline.StepWaiting {
		return
	}
	for _, c := range w.docker.objects {
		if c.of == d && w.isKnownSandbox(c) && c.action != "delete" &&
			d.indexOf(c.step) > d.indexOf(e.Step) && !d.ok[e.Step] {
			w.failWorld("%s: a sandbox of %s waits behind the question of %s", d.id, c.step, e.Step)
		}
	}
}

// checkNoneWaits checks that nothing waits for a run that has ended.
func (w *world) checkNoneWaits(d *deployment, e wire.Event) {
	if e.Phase != wire.PhaseFailed && e.Phase != wire.PhaseRemoved || e.Run != d.run {
		return
	}
	for _, c := range w.docker.objects {
		if c.of == d && w.isKnownSandbox(c) {
			w.failWorld("%s is %s, and a sandbox of %s still waits", d.id, e.Phase, c.step)
		}
	}
}

func (w *world) countSandboxes(d *deployment, action string) (n int) {
	for _, c := range w.docker.objects {
		if c.of == d && w.isKnownSandbox(c) &&
			(c.action == action || c.kind == service && action == "create") {
			n++
		}
	}
	return n
}
