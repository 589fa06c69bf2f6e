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
	relay
	service
	plugin
)

// state is a container's.
type state int8

const (
	created state = iota
	// waiting is a sandbox: its container is started, and nothing of the image runs.
	waiting
	running
	exited
)

// object is one thing in the engine, by its deterministic name.
type object struct {
	of     *deployment
	kind   kind
	step   pipeline.StepKey
	action string
	// run is that of a service's or a job's container.
	run   string
	state state
	// code is the exit code of a process that ended.
	code int
	// ready is when a running service answers its probes.
	ready time.Duration
	// life distinguishes one run of a container's process from the next.
	life int
	gone bool
	// op waits for a plugin's end.
	op *op
	// agent is the life of the agent that holds the stream on which a sandbox waits; signals counts
	// its go signals.
	agent   int
	signals int
	// begun: something of the image has run.
	begun bool
}

// exitKilled is the exit code of a process that was killed.
const exitKilled = 137

// docker models a container engine.
type docker struct {
	down   bool
	frozen bool
	// waiting are requests that a frozen engine will serve when it thaws.
	waiting []func()
	objects []*object
}

func (d *docker) findObject(of *deployment, k kind, step pipeline.StepKey, action string) *object {
	for _, o := range d.objects {
		if o.of == of && o.kind == k && o.step == step && o.action == action {
			return o
		}
	}
	return nil
}

func (d *docker) addObject(o *object) *object {
	d.objects = append(d.objects, o)
	return o
}

func (d *docker) dropObject(o *object) {
	for i, other := range d.objects {
		if other == o {
			o.gone = true
			d.objects = append(d.objects[:i:i], d.objects[i+1:]...)
			return
		}
	}
}

// stopProcess ends a container's process, if one runs.
func (o *object) stopProcess() {
	if o.state == running || o.state == waiting {
		o.state, o.code = exited, exitKilled
		o.life++
	}
}

// listEngine returns the engine's objects, in every state.
func (w *world) listEngine() (objects []object, ok bool) {
	if w.docker.down || w.docker.frozen || w.injectFault(40, "list error") {
		return nil, w.hasDefect("delete on a failed list")
	}
	for _, o := range w.docker.objects {
		if o.state == waiting && (w.hasDefect("forget a sandbox") && o.kind == plugin ||
			w.hasDefect("forget a service's sandbox") && o.kind == service) {
			continue
		}
		if w.hasDefect("list without stopped containers") && o.kind >= relay && o.state != running {
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
	if w.oneIn(40) {
		w.docker.frozen = true
		w.met["docker frozen"]++
		w.appendTrace("docker freezes")
		w.scheduleEvent(w.randomBetween(time.Second, 40*time.Second), "thaw", w.thawEngine)
		return
	}
	w.docker.down = true
	w.met["docker killed"]++
	w.appendTrace("docker dies")
	for _, o := range w.docker.objects {
		if o.op != nil {
			// The stream is cut; the plugin keeps running without a reader.
			waits := o.op
			o.op = nil
			w.deliverResult(waits, engine.Result{Outcome: engine.OutcomeUnknown})
		}
	}
	w.scheduleEvent(
		w.randomBetween(300*time.Millisecond, 20*time.Second),
		"docker starts",
		w.startDocker,
	)
}

// startDocker starts the engine. Without live-restore, containers that outlived a kill -9
// of the engine are stopped when it starts again.
func (w *world) startDocker() {
	w.docker.down = false
	if w.oneIn(30) {
		return
	}
	for _, o := range w.docker.objects {
		o.stopProcess()
	}
}

func (w *world) thawEngine() {
	w.docker.frozen = false
	waiting := w.docker.waiting
	w.docker.waiting = nil
	for _, serve := range waiting {
		w.scheduleEvent(w.randomBetween(0, 50*time.Millisecond), "thawed call", serve)
	}
}

// disturbObject removes or stops an object from outside.
func (w *world) disturbObject() {
	if len(w.docker.objects) == 0 || w.docker.down || w.docker.frozen {
		return
	}
	o := w.docker.objects[w.random.IntN(len(w.docker.objects))]
	w.met["stranger"]++
	w.appendTrace("stranger", formatInt(o.kind), o.of.id, string(o.step))
	if o.kind == network && w.hasRunningContainer(o.of) {
		return
	}
	w.endPlugin(o, engine.Result{Outcome: engine.OutcomeNo, Code: "killed_by_stranger"})
	o.stopProcess()
	if o.kind == network || w.oneIn(60) {
		if name := o.run + "/" + string(o.step); !o.of.launched[name] {
			o.of.taken[name] = true
		}
		w.docker.dropObject(o)
	}
}

// hasRunningContainer reports whether a container of the deployment runs: its network
// cannot be removed then.
func (w *world) hasRunningContainer(d *deployment) bool {
	for _, o := range w.docker.objects {
		waits := o.state == waiting && !w.hasDefect("forget a sandbox") &&
			!w.hasDefect("forget a service's sandbox")
		if o.of == d && o.kind != network && (o.state == running || waits) {
			return true
		}
	}
	return false
}

// endPlugin delivers the result to the operation that waits for a plugin's end.
func (w *world) endPlugin(o *object, r engine.Result) {
	if waits := o.op; waits != nil {
		o.op = nil
		w.deliverResult(waits, r)
	}
}
