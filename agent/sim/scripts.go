package sim

import (
	"time"

	"github.com/nullops/nullops/agent/engine"
)

// isScript reports whether the operation calls a script.
func (o *op) isScript() bool {
	s, _ := o.of.graph.Step(o.do.Step)
	return o.do.Kind == engine.Run && s.Script != nil
}

// runScript calls a script's function. Its process is the agent's own child: it needs no
// engine, and ends with the agent.
func (w *world) runScript(o *op) {
	h := o.of.habits[o.do.Step]
	creates := o.do.Action == "create"
	fails, takes := h.stubborn, w.randomBetween(20*time.Millisecond, time.Second)
	if creates {
		fails = h.fails
	}
	if creates && h.hangs || !creates && h.hangsDelete {
		fails, takes = true, 10*time.Second
	}
	w.scheduleEvent(w.randomBetween(time.Millisecond, 20*time.Millisecond), "script starts", func() {
		if w.isAbandoned(o) || o.canceled {
			return
		}
		w.checkStart(o)
		w.scheduleEvent(takes, "script ends", func() {
			r := engine.Result{Outcome: engine.OutcomeOK, Sealed: []byte{1}, Outputs: map[string]any{}}
			switch {
			case w.isAbandoned(o) || o.canceled:
				return
			case fails:
				r = engine.Result{Outcome: engine.OutcomeNo, Code: "script_failed"}
			case creates && o.run == o.of.run:
				o.of.ok[o.do.Step] = true
			}
			w.met["script ended"]++
			w.deliverResult(o, r)
		})
	})
}
