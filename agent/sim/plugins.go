package sim

import (
	"time"

	"github.com/nullops/nullops/agent/engine"
)

// runPlugin creates and starts the container, and follows it to its end.
func (w *world) runPlugin(o *op) {
	step, _ := o.of.graph.Step(o.do.Step)
	if step.Plugin.Component.Network && w.docker.findObject(o.of, network, "", "") == nil {
		w.deliverResult(o, engine.Result{Outcome: engine.OutcomeUnknown, Message: "no network"})
		return
	}
	c := w.findSandbox(o)
	w.scheduleEvent(w.randomBetween(5*time.Millisecond, 60*time.Millisecond), "start", func() {
		if c.gone || w.docker.down || w.isAbandoned(o) || o.canceled {
			// Nothing is started for a caller that is gone.
			w.deliverResult(o, engine.Result{Outcome: engine.OutcomeUnknown, Message: "no such container"})
			return
		}
		if c.state == running {
			w.failWorld("plugin %s/%s is started while it runs", o.of.id, o.do.Step)
			return
		}
		w.giveSignal(o, c)
	})
}

// runPluginProcess is the plugin's process: its effect, and its end.
func (w *world) runPluginProcess(o *op, c *object) {
	h, life := o.of.habits[o.do.Step], c.life
	creates := o.do.Action == "create"
	fails, effect, hangs := h.stubborn, !h.stubborn, h.hangsDelete
	if creates {
		fails, effect, hangs = h.fails, h.effect, h.hangs
	}
	works := w.randomBetween(20*time.Millisecond, 5*time.Second)
	if w.injectFault(30, "slow plugin") {
		works = w.randomBetween(5*time.Second, 30*time.Second)
	}
	ends := works + w.randomBetween(time.Millisecond, time.Second)
	if hangs {
		ends, fails = pluginTimeout, true
		effect = effect && creates
	}
	w.scheduleEvent(works, "effect", func() {
		if c.life == life && effect {
			o.of.outside[o.do.Step] = creates
			w.appendTrace("outside", o.of.id, string(o.do.Step), o.do.Action)
		}
	})
	w.scheduleEvent(ends, "plugin ends", func() {
		if c.life == life {
			w.onPluginEnds(o, c, fails)
		}
	})
}

func (w *world) onPluginEnds(o *op, c *object, fails bool) {
	c.stopProcess()
	waits := c.op != nil
	r := engine.Result{Outcome: engine.OutcomeOK, Sealed: []byte{1}, Outputs: map[string]any{}}
	if fails {
		r = engine.Result{Outcome: engine.OutcomeNo, Code: "plugin_failed"}
	} else if o.do.Action == "create" && o.run == o.of.run {
		o.of.ok[o.do.Step] = true
	}
	w.endPlugin(c, r)
	if waits && !w.isAbandoned(o) && !w.injectFault(30, "container stays") {
		w.scheduleEvent(w.randomBetween(0, 300*time.Millisecond), "sweep", func() {
			if !c.gone && c.state == exited {
				w.docker.dropObject(c)
			}
		})
	}
}
