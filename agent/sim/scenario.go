package sim

import (
	"time"

	"github.com/nullops/nullops/agent/wire"
)

// setUp fills the world with things that are going to happen.
func (w *world) setUp() {
	for i := range 1 + w.random.IntN(2) {
		w.deployments = append(w.deployments, w.newDeployment("d"+formatInt(i+1)))
	}
	w.bootAgent()
	w.connectLink()
	w.flushEverySecond()
	length := w.randomBetween(20*time.Second, 150*time.Second)
	for _, d := range w.deployments {
		w.scheduleEvent(w.randomBetween(0, 10*time.Second), "person", func() { w.createOrder(d) })
		w.schedulePeople(d, length)
	}
	w.scheduleTroubles(length)
	w.scheduleEvent(length, "everything heals", w.endTroubles)
	w.scheduleEvent(length, "judge", w.checkAtRest)
}

// schedulePeople change their minds.
func (w *world) schedulePeople(d *deployment, length time.Duration) {
	with := func(do func(*order)) func() {
		return func() {
			if o := w.plane.orderOf(d); o != nil {
				do(o)
			}
		}
	}
	if w.oneIn(50) {
		w.scheduleEvent(w.randomBetween(0, length), "person", with(w.requestRemoval))
	}
	for range w.random.IntN(3) {
		w.scheduleEvent(w.randomBetween(0, length), "person", with(w.retryOrder))
	}
	if w.oneIn(30) {
		w.scheduleEvent(w.randomBetween(length/2, length), "person", with(w.requestRemoval))
	}
}

// scheduleTroubles are what goes wrong from outside.
func (w *world) scheduleTroubles(length time.Duration) {
	many := func(n int, what string, do func()) {
		for range w.random.IntN(n + 1) {
			w.scheduleEvent(w.randomBetween(0, length), what, do)
		}
	}
	many(5, "kill the agent", func() {
		w.met["agent killed"]++
		w.crashAgent()
	})
	many(3, "docker fails", w.failDocker)
	many(3, "stranger", w.disturbObject)
	many(3, "cut", func() { w.dropLink("cut") })
	many(2, "half-open", w.halfOpen)
	many(1, "control plane dies", w.failPlane)
}

// endTroubles ends all trouble; what is under way ends by itself.
func (w *world) endTroubles() {
	w.faulty, w.healed = false, w.now
}

// checkAtRest checks every second whether the world has come to rest.
func (w *world) checkAtRest() {
	w.scheduleEvent(judgeEvery, "judge", w.checkAtRest)
	if w.now-w.healed > settleWithin {
		w.failWorld("not settled %s after the last fault: %s", settleWithin, w.whyUnsettled())
		return
	}
	if w.whyUnsettled() != "" {
		return
	}
	if !w.isSteady() {
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
			d.repairHabits()
			if o := w.plane.orderOf(d); o != nil && (o.status == ready || o.status == stuck) {
				w.requestRemoval(o)
			}
		}
	default:
		w.over = true
	}
}

// isSteady reports whether nothing has changed for longer than the agent's listing
// interval.
func (w *world) isSteady() bool {
	if w.restAt == 0 {
		w.restAt = w.now
	}
	return w.now-w.restAt > quietPeriod
}

// quietPeriod is two of the agent's listings, and the time to act on one.
const quietPeriod = 25 * time.Second

// whyUnsettled says what is not at rest yet.
func (w *world) whyUnsettled() string {
	why := w.findActivity()
	if why != "" {
		w.restAt = 0
	}
	return why
}

func (w *world) findActivity() string {
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
		if len(m.ops) > 0 && !m.of.isFlaky() {
			return m.of.id + " works on " + string(m.ops[0].do.Kind)
		}
	}
	for _, o := range w.plane.orders {
		if o.status == queued || o.status == applying || o.status == undoing ||
			o.status == removing {
			return o.of.id + " is " + o.status + " in the database"
		}
		if key := w.stoppedService(o); key != "" {
			return o.of.id + " is ready, and service " + key + " does not run"
		}
	}
	if len(w.plane.orders) < len(w.deployments) {
		return "a deployment is not created yet"
	}
	return ""
}

// stoppedService is a service of a ready deployment that does not run, though it does
// not end by itself.
func (w *world) stoppedService(o *order) string {
	for _, s := range o.of.graph.Steps {
		if o.status != ready || s.Service == nil || o.of.habits[s.Key].ends > 0 {
			continue
		}
		if c := w.docker.findObject(o.of, service, s.Key, ""); c == nil || c.state != running {
			return string(s.Key)
		}
	}
	return ""
}

// isFlaky deployments have a service that ends again and again.
func (d *deployment) isFlaky() bool {
	for _, s := range d.graph.Steps {
		if s.Service != nil && d.habits[s.Key].ends > 0 {
			return true
		}
	}
	return false
}
