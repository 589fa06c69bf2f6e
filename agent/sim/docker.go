package sim

import (
	"time"

	"github.com/nullops/nullops/agent/engine"
	"github.com/nullops/nullops/pipeline"
)

// kind is what an object of the container engine is.
type kind int8

const (
	network kind = iota
	gate
	service
	plugin
)

// state is a container's.
type state int8

const (
	created state = iota
	running
	exited
)

// object is one thing in the engine, by its deterministic name.
type object struct {
	of     *deployment
	kind   kind
	step   pipeline.StepKey
	action string
	state  state
	// ready is when a running service answers its probes.
	ready time.Duration
	// life tells one run of a container's process from the next.
	life int
	gone bool
	// op waits for a plugin's end.
	op *op
}

// docker models a container engine.
type docker struct {
	down   bool
	frozen bool
	// waiting are requests that a frozen engine will serve when it thaws.
	waiting []func()
	objects []*object
}

func (d *docker) find(of *deployment, k kind, step pipeline.StepKey, action string) *object {
	for _, o := range d.objects {
		if o.of == of && o.kind == k && o.step == step && o.action == action {
			return o
		}
	}
	return nil
}

func (d *docker) add(o *object) *object {
	d.objects = append(d.objects, o)
	return o
}

func (d *docker) drop(o *object) {
	for i, other := range d.objects {
		if other == o {
			o.gone = true
			d.objects = append(d.objects[:i:i], d.objects[i+1:]...)
			return
		}
	}
}

// stop ends a container's process, if one runs.
func (o *object) stop() {
	if o.state == running {
		o.state = exited
		o.life++
	}
}

// listEngine returns the engine's objects, in every state.
func (w *world) look() (objects []object, ok bool) {
	if w.docker.down || w.docker.frozen || w.fault(40, "list error") {
		return nil, w.has("delete on a failed list")
	}
	for _, o := range w.docker.objects {
		if w.has("list without stopped containers") && o.kind >= gate && o.state != running {
			continue
		}
		objects = append(objects, *o)
	}
	return objects, true
}

// failDocker restarts or freezes the engine.
func (w *world) failDocker() {
	if w.docker.down || w.docker.frozen {
		return
	}
	if w.percent(40) {
		w.docker.frozen = true
		w.met["docker frozen"]++
		w.note("docker freezes")
		w.after(w.between(time.Second, 40*time.Second), "thaw", w.thaw)
		return
	}
	w.docker.down = true
	w.met["docker killed"]++
	w.note("docker dies")
	for _, o := range w.docker.objects {
		if o.op != nil {
			// The stream is cut; the plugin keeps running without a reader.
			waits := o.op
			o.op = nil
			w.answer(waits, engine.Result{Outcome: engine.Unknown})
		}
	}
	w.after(w.between(300*time.Millisecond, 20*time.Second), "docker starts", w.startDocker)
}

// startDocker starts the engine. Without live-restore, containers that outlived a kill -9
// of the engine are stopped when it starts again.
func (w *world) startDocker() {
	w.docker.down = false
	if w.percent(30) {
		return
	}
	for _, o := range w.docker.objects {
		o.stop()
	}
}

func (w *world) thaw() {
	w.docker.frozen = false
	waiting := w.docker.waiting
	w.docker.waiting = nil
	for _, serve := range waiting {
		w.after(w.between(0, 50*time.Millisecond), "thawed call", serve)
	}
}

// interfere removes or stops an object from outside.
func (w *world) stranger() {
	if len(w.docker.objects) == 0 || w.docker.down || w.docker.frozen {
		return
	}
	o := w.docker.objects[w.random.IntN(len(w.docker.objects))]
	w.met["stranger"]++
	w.note("stranger", itoa(o.kind), o.of.id, string(o.step))
	if o.kind == network && w.attached(o.of) {
		return
	}
	w.endPlugin(o, engine.Result{Outcome: engine.No, Code: "killed_by_stranger"})
	o.stop()
	if o.kind == network || w.percent(60) {
		w.docker.drop(o)
	}
}

// attached reports whether a container of the deployment runs: its network
// cannot be removed then.
func (w *world) attached(d *deployment) bool {
	for _, o := range w.docker.objects {
		if o.of == d && o.kind != network && o.state == running {
			return true
		}
	}
	return false
}

// endPlugin delivers the result to the operation that waits for a plugin's end.
func (w *world) endPlugin(o *object, r engine.Result) {
	if waits := o.op; waits != nil {
		o.op = nil
		w.answer(waits, r)
	}
}
