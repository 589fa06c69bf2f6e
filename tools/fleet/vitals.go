package main

import (
	"context"
	"crypto/rand"
	"sync"
	"time"

	"github.com/nullops/nullops/agent/wire"
)

// vitals reports what an idle node uses, as an agent does: each measurement until the control plane
// says that the node may rest, and while somebody looks; otherwise one in each period of rest. Each
// comes with the samples since the last one.
type vitals struct {
	agent   *agent
	session *wire.AgentSession
	boot    string
	// timer takes no goroutine: this process has ten thousand of us.
	timer *time.Timer

	mu          sync.Mutex
	rest        time.Duration
	until, last time.Time
	number      int64
}

func (a *agent) reportVitals(ctx context.Context, session *wire.AgentSession) *vitals {
	v := &vitals{agent: a, session: session, boot: rand.Text(), last: time.Now()}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.timer = time.AfterFunc(a.vitals, func() { v.report(ctx) })
	return v
}

func (v *vitals) report(ctx context.Context) {
	v.mu.Lock()
	now := time.Now()
	message := wire.Vitals{At: now, CPU: 0.1, MemoryUsed: 1 << 30, DiskFree: 100 << 30,
		Pong: v.rest > 0, Samples: &wire.Samples{Boot: v.boot}}
	if v.rest > 0 {
		message.Within = int((v.rest + 2*v.agent.vitals).Seconds())
	}
	// A measurement every few seconds, whenever they are reported. At rest up to six are one sample,
	// as with the agent, since nothing changes here.
	atOnce := 1
	if v.rest > 0 && now.After(v.until) {
		atOnce = 6
	}
	for age := now.Sub(v.last); age > v.agent.vitals/2; {
		n := min(atOnce, int((age+v.agent.vitals/2)/v.agent.vitals))
		v.number += int64(n)
		message.Samples.Items = append(message.Samples.Items, wire.Sample{Number: v.number, Count: n,
			Age: (age - time.Duration(n)*v.agent.vitals/2).Milliseconds(), CPU: 0.1, Memory: 1 << 30,
			DiskFree: 100 << 30})
		age -= time.Duration(n) * v.agent.vitals
	}
	v.last = now
	next := v.agent.vitals
	if v.rest > 0 && now.After(v.until) {
		next, message.Pong = v.rest, false
	}
	v.mu.Unlock()
	if v.session.Send(ctx, message) == nil {
		v.timer.Reset(next)
	}
}

// watch follows a command. Whoever looks gets the next measurement, at the latest.
func (v *vitals) watch(w wire.Watch) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.rest = time.Duration(w.Rest) * time.Second
	v.until = time.Now().Add(time.Duration(w.Seconds) * time.Second)
	if w.Seconds > 0 {
		v.timer.Reset(v.agent.vitals)
	}
}

func (v *vitals) stop() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.timer.Stop()
}
