package sim

import (
	"time"

	"github.com/nullops/nullops/agent/engine"
	"github.com/nullops/nullops/agent/wire"
)

// isJob reports whether the operation is about a job.
func (o *op) isJob() bool {
	s, _ := o.of.graph.Step(o.do.Step)
	return s.Job != nil
}

// runJob is the job's process, which ends by itself unless it is killed before.
func (w *world) runJob(o *op, c *object) {
	h, life := o.of.habits[o.do.Step], c.life
	w.scheduleEvent(h.works, "job ends", func() {
		if c.life != life {
			return
		}
		c.stopProcess()
		if c.code = 0; h.fails {
			c.code = 3
		} else if o.run == o.of.run {
			o.of.ok[o.do.Step] = true
		}
	})
}

// probeJob reports whether the job has ended. One whose container does not exist, or was never
// started, is not found.
func (w *world) probeJob(o *op, c *object) {
	r := engine.Result{Outcome: engine.OutcomeOK, Health: wire.HealthHealthy}
	switch {
	case c == nil || c.state == created:
		r = engine.Result{Outcome: engine.OutcomeNo, Code: "probe", Message: "not found"}
	case c.state == exited:
		code := c.code
		r.Exited, r.Health, r.ExitCode = true, wire.HealthStopped, &code
	}
	w.deliverResult(o, r)
}

// stopJob sends the job's process a signal and waits for its end.
func (w *world) stopJob(o *op) {
	c := w.docker.findObject(o.of, service, o.do.Step, "")
	r := engine.Result{Outcome: engine.OutcomeOK, Exited: c == nil || c.state != running}
	if r.Exited {
		w.deliverResult(o, r)
		return
	}
	w.met["job stopped"]++
	w.scheduleEvent(w.randomBetween(0, 3*time.Second), "job stopped", func() {
		if !w.docker.down && !w.docker.frozen {
			c.stopProcess()
			w.deliverResult(o, r)
			return
		}
		w.deliverResult(o, engine.Result{Outcome: engine.OutcomeUnknown, Message: "EOF"})
	})
}
