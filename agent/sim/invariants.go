package sim

import (
	"slices"

	"github.com/nullops/nullops/agent/engine"
	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/pipeline"
)

// maxRuns is how often an idempotent plugin may run in one run.
const maxRuns = 3

// checkRecord sees what the agent has on disk from now on.
func (w *world) checkRecord(d *deployment, r engine.Record) {
	if r.Next != nil {
		d.gone = r.Next.Want == wire.WantGone
		if r.Next.Generation < d.newest {
			w.failWorld("%s takes generation %d up after %d", d.id, r.Next.Generation, d.newest)
		}
		d.newest = r.Next.Generation
	}
	if r.Step != nil && !r.Step.Deadline.IsZero() {
		if s, _ := d.graph.Step(r.Step.Key); s.Job != nil {
			d.launched[d.run+"/"+string(s.Key)] = true
		}
	}
	if r.Work != nil {
		d.gone = r.Work.Want == wire.WantGone
		d.beginRun(r.Work.Run)
	}
}

// checkEvent holds a report to the truth.
func (w *world) checkEvent(d *deployment, e wire.Event) {
	w.checkQuestion(d, e)
	w.checkNothingHeld(d, e)
	w.checkNoneWaits(d, e)
	if e.Phase != wire.PhaseReady || e.Run != d.run {
		return
	}
	d.wasReady = true
	for _, s := range d.graph.Steps {
		if !d.ok[s.Key] {
			w.failWorld("%s is reported ready, and step %s never was", d.id, s.Key)
		}
	}
}

// checkOperation checks an operation when it begins.
func (w *world) checkOperation(o *op) {
	starts := o.do.Kind == engine.Start || o.do.Kind == engine.Run && o.do.Action == "create"
	if starts && o.of.gone {
		w.failWorld("%s: step %s begins after the cancel was acknowledged", o.of.id, o.do.Step)
	}
}

// checkStart checks that a process may start.
func (w *world) checkStart(o *op) {
	d, key := o.of, o.do.Step
	w.appendTrace("process", d.id, string(key), o.do.Action)
	if o.do.Action == "delete" {
		w.checkDelete(o)
		return
	}
	if o.run != d.run {
		// A command of an older run that arrives late meets its own removal.
		return
	}
	d.started[key] = true
	if !d.wasReady {
		for _, s := range d.graph.Steps[:d.indexOf(key)] {
			if !d.ok[s.Key] {
				w.failWorld("%s: step %s starts, and %s before it is not done", d.id, key, s.Key)
			}
		}
	}
	step, _ := d.graph.Step(key)
	if step.Service != nil {
		return
	}
	name := o.run + "/" + string(key)
	d.runs[name]++
	switch n := d.runs[name]; {
	case step.Job != nil:
		if n > 1 && !d.taken[name] {
			w.failWorld("%s: job %s ran %d times", d.id, name, n)
		}
	case n > 1 && !step.Declares().Idempotent:
		w.failWorld("%s: plugin %s ran %d times, and may run once", d.id, name, n)
	case n > maxRuns:
		w.failWorld("%s: plugin %s ran %d times", d.id, name, n)
	case o.do.Attempt < n:
		w.failWorld("%s: run %d of plugin %s says that it is attempt %d", d.id, n, name, o.do.Attempt)
	}
}

// checkDelete checks that undoing runs in reverse order and that nothing of a step runs
// beside its own undoing.
func (w *world) checkDelete(o *op) {
	d, at := o.of, o.of.indexOf(o.do.Step)
	for _, c := range w.docker.objects {
		mine := c.of == d && c.kind >= service && c.state == running && c.op != o
		if mine && d.indexOf(c.step) >= at {
			w.failWorld("%s: step %s is undone while step %s runs", d.id, o.do.Step, c.step)
		}
	}
	for _, s := range d.graph.Steps[at+1:] {
		h := d.habits[s.Key]
		if d.outside[s.Key] && d.hasUndo(s.Key) && !h.stubborn && !h.hangsDelete &&
			!slices.Contains(w.undoFailures(d), s.Key) {
			w.failWorld("%s: step %s is undone before step %s", d.id, o.do.Step, s.Key)
		}
	}
}

// undoFailures are steps whose undoing the agent has reported to be impossible.
func (w *world) undoFailures(d *deployment) []pipeline.StepKey {
	var keys []pipeline.StepKey
	for _, e := range w.disk.events {
		if e.Deployment == d.id && e.Code == engine.CodeUndoFailed {
			keys = append(keys, e.Step)
		}
	}
	return keys
}

// checkEnd checks what must be true once nothing changes any more.
func (w *world) checkEnd() {
	for _, d := range w.deployments {
		o := w.plane.orderOf(d)
		if o == nil {
			continue
		}
		switch o.status {
		case ready:
			w.checkReady(d)
		case stuck:
			w.checkStuck(d)
		default:
			w.checkGone(d, o)
		}
	}
	w.checkEvents()
}

func (w *world) checkReady(d *deployment) {
	for _, s := range d.graph.Steps {
		if s.Plugin != nil && !d.outside[s.Key] && d.habits[s.Key].effect {
			w.failWorld("%s is ready, and plugin %s has no effect", d.id, s.Key)
		}
	}
	for _, c := range w.docker.objects {
		if c.of == d && c.kind == plugin {
			w.failWorld("%s is ready, and a container of plugin %s is left", d.id, c.step)
		}
	}
}

func (w *world) checkStuck(d *deployment) {
	for _, e := range slices.Backward(w.plane.events) {
		if e.Deployment == d.id && e.Phase == wire.PhaseStuck {
			if len(e.Left) == 0 {
				w.failWorld("%s is stuck, and nobody is told on what", d.id)
			}
			return
		}
	}
	w.failWorld("%s is stuck, and no report says so", d.id)
}

// checkGone checks that nothing is left.
func (w *world) checkGone(d *deployment, o *order) {
	for _, c := range w.docker.objects {
		if c.of == d {
			w.failWorld("%s is %s, and left a %s%s behind", d.id, o.status,
				[]string{"network", "relay", "service ", "plugin "}[c.kind], c.step)
		}
	}
	for _, s := range d.graph.Steps {
		if d.outside[s.Key] && d.hasUndo(s.Key) {
			w.failWorld("%s is %s, and plugin %s was not undone", d.id, o.status, s.Key)
		}
	}
}

// checkEvents checks that events are contiguous, without duplicates, and the same on both
// sides.
func (w *world) checkEvents() {
	for i, e := range w.plane.events {
		if e.Seq != int64(i+1) {
			w.failWorld("report %d came as number %d", e.Seq, i+1)
			return
		}
		mine := w.disk.events[i]
		if mine.Deployment != e.Deployment || mine.Run != e.Run || mine.Step != e.Step ||
			mine.Phase != e.Phase || mine.Status != e.Status {
			w.failWorld("report %d says other things here and there", e.Seq)
		}
	}
	if len(w.plane.events) != len(w.disk.events) {
		w.failWorld("%d reports were made, and %d came", len(w.disk.events), len(w.plane.events))
	}
}
