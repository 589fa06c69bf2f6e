package sim

import (
	"time"

	"github.com/nullops/nullops/agent/wire"
)

// setUp fills the world with things that are going to happen.
func (w *world) setUp() {
	for i := range 1 + w.random.IntN(2) {
		w.deployments = append(w.deployments, w.newDeployment("d"+itoa(i+1)))
	}
	w.boot()
	w.connect()
	w.ticks()
	length := w.between(20*time.Second, 150*time.Second)
	for _, d := range w.deployments {
		w.after(w.between(0, 10*time.Second), "person", func() { w.create(d) })
		w.people(d, length)
	}
	w.troubles(length)
	w.after(length, "everything heals", w.heal)
	w.after(length, "judge", w.judge)
}

// people change their minds.
func (w *world) people(d *deployment, length time.Duration) {
	with := func(do func(*order)) func() {
		return func() {
			if o := w.plane.order(d); o != nil {
				do(o)
			}
		}
	}
	if w.percent(50) {
		w.after(w.between(0, length), "person", with(w.take))
	}
	for range w.random.IntN(3) {
		w.after(w.between(0, length), "person", with(w.retry))
	}
	if w.percent(30) {
		w.after(w.between(length/2, length), "person", with(w.take))
	}
}

// troubles are what goes wrong from outside.
func (w *world) troubles(length time.Duration) {
	many := func(n int, what string, do func()) {
		for range w.random.IntN(n + 1) {
			w.after(w.between(0, length), what, do)
		}
	}
	many(5, "kill the agent", func() {
		w.met["agent killed"]++
		w.crash()
	})
	many(3, "docker fails", w.failDocker)
	many(3, "stranger", w.stranger)
	many(3, "cut", func() { w.dropLink("cut") })
	many(2, "half-open", w.halfOpen)
	many(1, "control plane dies", w.failPlane)
}

// heal ends all trouble; what is under way ends by itself.
func (w *world) heal() {
	w.faulty, w.healed = false, w.now
}

// checkAtRest checks every second whether the world has come to rest.
func (w *world) judge() {
	w.after(judgeEvery, "judge", w.judge)
	if w.now-w.healed > settleWithin {
		w.fail("not settled %s after the last fault: %s", settleWithin, w.unsettled())
		return
	}
	if w.unsettled() != "" {
		return
	}
	if !w.steady() {
		return
	}
	w.settled = max(w.settled, w.restAt-w.healed)
	w.checkEnd()
	if w.err != nil {
		return
	}
	w.stage++
	switch w.stage {
	case 1, 2, 3:
		// What is ready goes; what is stuck is repaired and tried again.
		w.restAt, w.healed = 0, w.now
		for _, d := range w.deployments {
			d.obey()
			if o := w.plane.order(d); o != nil && (o.status == ready || o.status == stuck) {
				w.take(o)
			}
		}
	default:
		w.over = true
	}
}

// isSteady reports whether nothing has changed for longer than the agent's listing
// interval.
func (w *world) steady() bool {
	if w.restAt == 0 {
		w.restAt = w.now
	}
	return w.now-w.restAt > restFor
}

// restFor is two of the agent's listings, and the time to act on one.
const restFor = 25 * time.Second

// unsettled says what is not at rest yet.
func (w *world) unsettled() string {
	why := w.restless()
	if why != "" {
		w.restAt = 0
	}
	return why
}

func (w *world) restless() string {
	if !w.agent.alive || w.agent.committing || !w.link.up || !w.plane.greeted ||
		w.docker.down || w.docker.frozen || w.agent.session != w.link.number {
		return "something is down"
	}
	if w.plane.last != w.agent.last {
		return "reports are on their way"
	}
	for _, m := range w.agent.machines {
		phase := m.m.State().Phase
		if phase == wire.PhaseApplying || phase == wire.PhaseUndoing || phase == wire.PhaseRemoving {
			return m.of.id + " is " + string(phase)
		}
		if len(m.ops) > 0 && !m.of.flaky() {
			return m.of.id + " works on " + string(m.ops[0].do.Kind)
		}
	}
	for _, o := range w.plane.orders {
		if o.status == queued || o.status == applying || o.status == undoing ||
			o.status == removing {
			return o.of.id + " is " + o.status + " in the database"
		}
		if key := w.stopped(o); key != "" {
			return o.of.id + " is ready, and service " + key + " does not run"
		}
	}
	if len(w.plane.orders) < len(w.deployments) {
		return "a deployment is not created yet"
	}
	return ""
}

// stopped is a service of a ready deployment that does not run, though it does
// not end by itself.
func (w *world) stopped(o *order) string {
	for _, s := range o.of.graph.Steps {
		if o.status != ready || s.Service == nil || o.of.habits[s.Key].ends > 0 {
			continue
		}
		if c := w.docker.find(o.of, service, s.Key, ""); c == nil || c.state != running {
			return string(s.Key)
		}
	}
	return ""
}

// flaky deployments have a service that ends again and again.
func (d *deployment) flaky() bool {
	for _, s := range d.graph.Steps {
		if s.Service != nil && d.habits[s.Key].ends > 0 {
			return true
		}
	}
	return false
}
