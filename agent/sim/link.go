package sim

import (
	"time"

	"github.com/nullops/nullops/agent/wire"
)

// link models the connections between agent and control plane. Each is ordered;
// what an old one still holds may be delivered late, and must be ignored.
type link struct {
	number int
	up     bool
	// swallows one direction: half-open.
	swallowsUp, swallowsDown bool
	// last is when the last message of each direction arrives.
	lastUp, lastDown time.Duration
}

// connectLink is the control plane dialing the agent until it succeeds.
func (w *world) connectLink() {
	retry := func() {
		w.scheduleEvent(w.randomBetween(500*time.Millisecond, 3*time.Second), "dial", w.connectLink)
	}
	if w.link.up {
		return
	}
	if !w.agent.alive || w.plane.down || w.injectFault(100, "dial fails") {
		retry()
		return
	}
	w.link = link{number: w.link.number + 1, up: true, lastUp: w.now, lastDown: w.now}
	n := w.link.number
	w.agent.session, w.agent.sending = n, false
	w.plane.session, w.plane.greeted = n, false
	w.appendTrace("connected", formatInt(n))
	w.toPlane(n, welcome{last: w.agent.last})
}

// dropLink ends the connection for both, sooner or later.
func (w *world) dropLink(why string) {
	if !w.link.up {
		return
	}
	w.link.up = false
	w.appendTrace("cut", why)
	n := w.link.number
	w.scheduleEvent(w.randomBetween(0, time.Second), "agent notices", func() {
		if w.agent.session == n {
			w.agent.session = 0
		}
	})
	w.scheduleEvent(w.randomBetween(0, 2*time.Second), "dial", w.connectLink)
}

// halfOpen loses one direction, until pings find out.
func (w *world) halfOpen() {
	if !w.link.up || w.link.swallowsUp || w.link.swallowsDown {
		return
	}
	w.met["half-open"]++
	n := w.link.number
	w.link.swallowsUp = w.oneIn(50)
	w.link.swallowsDown = !w.link.swallowsUp
	w.scheduleEvent(w.randomBetween(10*time.Second, 15*time.Second), "no pong", func() {
		if w.link.number == n {
			w.dropLink("half-open")
		}
	})
}

// welcome is what the agent says first.
type welcome struct{ last int64 }

// toPlane sends a report up.
func (w *world) toPlane(n int, message any) {
	l := &w.link
	if n != l.number {
		return
	}
	at := max(l.lastUp, w.now) + w.randomBetween(time.Millisecond, 20*time.Millisecond)
	l.lastUp = at
	lost := l.swallowsUp
	hear := func() {
		// A message of a closed connection is lost.
		if !lost && w.plane.session == n && w.link.up && w.link.number == n {
			w.plane.receiveReport(w, n, message)
		}
	}
	w.scheduleEvent(at-w.now, "up", hear)
	if _, event := message.(wire.Event); event && w.injectFault(20, "duplicate") {
		w.scheduleEvent(at-w.now+w.randomBetween(0, 5*time.Second), "up again", hear)
	}
}

// toAgent sends a command down.
func (w *world) toAgent(n int, message any) {
	l := &w.link
	if n != l.number {
		return
	}
	at := max(l.lastDown, w.now) + w.randomBetween(time.Millisecond, 20*time.Millisecond)
	if w.injectFault(30, "slow link") {
		at += w.randomBetween(time.Second, 10*time.Second)
	}
	l.lastDown = at
	lost, life := l.swallowsDown, w.agent.life
	w.scheduleEvent(at-w.now, "down", func() {
		if lost {
			return
		}
		// A message sent on an old connection may arrive after a newer connection has taken over.
		w.receiveCommand(life, n, message)
	})
	if g, ok := message.(wire.Goals); ok && !g.Full && w.injectFault(60, "duplicate") {
		w.scheduleEvent(at-w.now+w.randomBetween(0, 20*time.Second), "down again", func() {
			w.receiveCommand(life, n, message)
		})
	}
}

// receiveCommand handles a command on the agent. One of an overtaken session is dropped.
func (w *world) receiveCommand(life, session int, message any) {
	if !w.isAlive(life) {
		return
	}
	if w.agent.session != session && !w.hasDefect("hear a replaced session") {
		w.met["late command"]++
		return
	}
	switch c := message.(type) {
	case wire.Goals:
		w.postTask(life, func() { w.takeGoals(c.Goals, c.Full) })
	case wire.Secrets:
		w.postTask(life, func() { w.takeSecrets(c) })
	case wire.Ack:
		if !w.agent.sending {
			w.agent.sending, w.agent.sent = true, c.Seq
		}
		w.sendReports()
	}
}

// sendReports sends all events there are, and asks for secrets.
func (w *world) sendReports() {
	a := &w.agent
	if !a.alive || a.session == 0 || a.session != w.link.number || !w.link.up {
		return
	}
	if a.sending {
		for _, e := range a.outbox {
			if e.Seq > a.sent {
				a.sent = e.Seq
				w.toPlane(a.session, e)
			}
		}
	}
	for _, m := range a.machines {
		asked := w.now-m.asked < 5*time.Second
		if w.hasDefect("ask for secrets once") {
			asked = m.asked >= 0
		}
		if m.wanted != "" && !asked {
			m.asked = w.now
			w.toPlane(a.session, wire.SecretsWanted{Deployment: m.of.id, Generation: m.number,
				Run: m.wanted})
		}
	}
}

// flushEverySecond is the sender's once-a-second look.
func (w *world) flushEverySecond() {
	w.sendReports()
	w.scheduleEvent(time.Second, "tick", w.flushEverySecond)
}
