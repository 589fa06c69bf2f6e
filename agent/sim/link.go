package sim

import (
	"time"

	"github.com/nullops/nullops/agent/wire"
)

// link models the connections between agent and control plane. Each is ordered;
// what an old one still holds may be delivered late, and must not be heard.
type link struct {
	number int
	up     bool
	// swallows one direction: half-open.
	swallowsUp, swallowsDown bool
	// last is when the last message of each direction arrives.
	lastUp, lastDown time.Duration
}

// connectLink is the control plane dialing the agent until it succeeds.
func (w *world) connect() {
	retry := func() { w.after(w.between(500*time.Millisecond, 3*time.Second), "dial", w.connect) }
	if w.link.up {
		return
	}
	if !w.agent.alive || w.plane.down || w.fault(100, "dial fails") {
		retry()
		return
	}
	w.link = link{number: w.link.number + 1, up: true, lastUp: w.now, lastDown: w.now}
	n := w.link.number
	w.agent.session, w.agent.sending = n, false
	w.plane.session, w.plane.greeted = n, false
	w.note("connected", itoa(n))
	w.toPlane(n, welcome{last: w.agent.last})
}

// dropLink ends the connection for both, sooner or later.
func (w *world) dropLink(why string) {
	if !w.link.up {
		return
	}
	w.link.up = false
	w.note("cut", why)
	n := w.link.number
	w.after(w.between(0, time.Second), "agent notices", func() {
		if w.agent.session == n {
			w.agent.session = 0
		}
	})
	w.after(w.between(0, 2*time.Second), "dial", w.connect)
}

// halfOpen loses one direction, until pings find out.
func (w *world) halfOpen() {
	if !w.link.up || w.link.swallowsUp || w.link.swallowsDown {
		return
	}
	w.met["half-open"]++
	n := w.link.number
	w.link.swallowsUp = w.percent(50)
	w.link.swallowsDown = !w.link.swallowsUp
	w.after(w.between(10*time.Second, 15*time.Second), "no pong", func() {
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
	at := max(l.lastUp, w.now) + w.between(time.Millisecond, 20*time.Millisecond)
	l.lastUp = at
	lost := l.swallowsUp
	hear := func() {
		// A message of a closed connection is lost.
		if !lost && w.plane.session == n && w.link.up && w.link.number == n {
			w.plane.hear(w, n, message)
		}
	}
	w.after(at-w.now, "up", hear)
	if _, event := message.(wire.Event); event && w.fault(20, "duplicate") {
		w.after(at-w.now+w.between(0, 5*time.Second), "up again", hear)
	}
}

// toAgent sends a command down.
func (w *world) toAgent(n int, message any) {
	l := &w.link
	if n != l.number {
		return
	}
	at := max(l.lastDown, w.now) + w.between(time.Millisecond, 20*time.Millisecond)
	if w.fault(30, "slow link") {
		at += w.between(time.Second, 10*time.Second)
	}
	l.lastDown = at
	lost, life := l.swallowsDown, w.agent.life
	w.after(at-w.now, "down", func() {
		if lost {
			return
		}
		// What was sent on a connection that is over may still come out of it,
		// after a newer one has taken over.
		w.hear(life, n, message)
	})
	if g, ok := message.(wire.Goals); ok && !g.Full && w.fault(60, "duplicate") {
		w.after(at-w.now+w.between(0, 20*time.Second), "down again", func() {
			w.hear(life, n, message)
		})
	}
}

// receiveCommand handles a command on the agent. One of an overtaken session is dropped.
func (w *world) hear(life, session int, message any) {
	if !w.lives(life) {
		return
	}
	if w.agent.session != session && !w.has("hear a replaced session") {
		w.met["late command"]++
		return
	}
	switch c := message.(type) {
	case wire.Goals:
		w.post(life, func() { w.takeGoals(c.Goals, c.Full) })
	case wire.Secrets:
		w.post(life, func() { w.takeSecrets(c) })
	case wire.Ack:
		if !w.agent.sending {
			w.agent.sending, w.agent.sent = true, c.Seq
		}
		w.flush()
	}
}

// flush sends all events there are, and asks for secrets.
func (w *world) flush() {
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
		if w.has("ask for secrets once") {
			asked = m.asked >= 0
		}
		if m.wanted != "" && !asked {
			m.asked = w.now
			w.toPlane(a.session, wire.SecretsWanted{Deployment: m.of.id, Generation: m.number,
				Run: m.wanted})
		}
	}
}

// ticks is the sender's once-a-second look.
func (w *world) ticks() {
	w.flush()
	w.after(time.Second, "tick", w.ticks)
}
