package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/pipeline"
)

// counters are what all agents together saw and did.
type counters struct {
	sessions atomic.Int64
	// synced counts sessions that got the full set of goals, in this round.
	synced atomic.Int64
	round  atomic.Int64
	events atomic.Int64
	acked  atomic.Int64
	lost   atomic.Int64
	// flood is set while agents with deployments report as fast as they are
	// answered.
	flood atomic.Bool
}

// agent is everything of an agent that the control plane sees: the listener with its certificate,
// proof and session. The rest is simulated.
type agent struct {
	name     string
	address  string
	build    wire.Build
	counters *counters
	vitals   time.Duration
	memory   memory
	identity *wire.Identity

	mu    sync.Mutex
	seq   int64
	acked int64
	// counted is the round in which this agent was counted as synced.
	counted int64
}

// memory is what an agent must remember of its control plane.
type memory struct {
	token wire.Token
	key   wire.Key
	mu    sync.Mutex
	node  string
	epoch uint64
}

var _ wire.Verifier = (*memory)(nil)

func (m *memory) Trusts(key wire.SPKI) bool { return m.token.MadeBy(key) }

func (m *memory) Key(kid string, _ wire.SPKI) (wire.Key, bool, error) {
	if kid != m.token.Kid {
		return wire.Key{}, false, wire.ErrUnknownKid
	}
	return m.key, false, nil
}

func (m *memory) Admit(_ context.Context, p wire.Peer) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.node != "" && m.node != p.NodeID:
		return wire.ErrOtherNode
	case p.Epoch < m.epoch:
		return wire.ErrStaleEpoch
	}
	m.node, m.epoch = p.NodeID, p.Epoch
	return nil
}

// listen serves until the context ends.
func (a *agent) listen(ctx context.Context, d *door) error {
	listener := wire.NewListener(d.at(a.address), wire.ListenConfig{Identity: a.identity,
		Verifier: &a.memory, Build: a.build, Log: slog.New(slog.DiscardHandler)})
	server := &http.Server{ConnContext: wire.ConnContext, ReadHeaderTimeout: 10 * time.Second,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			a.serve(ctx, w, r)
		})}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) &&
		!errors.Is(err, net.ErrClosed) {
		return fmt.Errorf("agent %s: %w", a.name, err)
	}
	return nil
}

func (a *agent) serve(ctx context.Context, w http.ResponseWriter, r *http.Request) {
	session, err := wire.ServeSession(w, r)
	if err != nil {
		a.counters.lost.Add(1)
		return
	}
	defer func() { _ = session.Close(wire.CodeGone, "the load is over") }()
	if r.URL.Path == wire.PathRunLogs {
		<-session.Done()
		return
	}
	a.counters.sessions.Add(1)
	defer a.counters.sessions.Add(-1)
	if err := a.greet(ctx, session); err != nil {
		a.counters.lost.Add(1)
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	tell := a.reportVitals(ctx, session)
	defer tell.stop()
	a.obey(ctx, session, tell)
}

func (a *agent) greet(ctx context.Context, session *wire.AgentSession) error {
	a.mu.Lock()
	seq := a.seq
	a.mu.Unlock()
	return session.Send(ctx, wire.Welcome{Build: string(a.build), At: time.Now(),
		FirstSeq: seq + 1, LastSeq: seq, Rests: true,
		Inventory: wire.Inventory{Hostname: a.name, OS: "load",
			Kernel: "load", Arch: "amd64", EngineVersion: "20.10.24", APIVersion: "1.41",
			CPU: 8, Memory: 32 << 30, Disk: 100 << 30, Subnets: 1000}})
}

// obey takes commands until the session ends.
func (a *agent) obey(ctx context.Context, session *wire.AgentSession, tell *vitals) {
	for {
		c, err := session.Receive(ctx)
		if err != nil {
			return
		}
		switch c := c.(type) {
		case wire.Goals:
			if c.Full && !c.More {
				a.sync()
			}
			for _, g := range c.Goals {
				go a.work(ctx, session, g)
			}
		case wire.Ack:
			a.mu.Lock()
			fresh := max(0, c.Seq-a.acked)
			a.acked += fresh
			a.mu.Unlock()
			a.counters.acked.Add(fresh)
		case wire.Watch:
			tell.watch(c)
		case wire.RefuseToken:
			_ = session.Send(ctx, wire.TokenRefused(c))
		}
	}
}

// sync counts each agent once in a round.
func (a *agent) sync() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if now := a.counters.round.Load(); a.counted != now {
		a.counted = now
		a.counters.synced.Add(1)
	}
}

// work reports on a goal: the deployment is applied, and while there is a flood
// its first step reports again and again, as fast as the reports are taken.
func (a *agent) work(ctx context.Context, session *wire.AgentSession, g wire.Goal) {
	if g.Want != wire.WantPresent || g.Ready || len(g.Pipeline.Order) == 0 {
		return
	}
	event := func(e wire.Event) bool {
		a.mu.Lock()
		a.seq++
		e.Seq = a.seq
		a.mu.Unlock()
		e.Deployment, e.Generation, e.Run, e.At = g.Deployment, g.Generation, g.Run, time.Now()
		a.counters.events.Add(1)
		return session.Send(ctx, e) == nil
	}
	if !event(wire.Event{Phase: "applying"}) {
		return
	}
	for n := 0; ctx.Err() == nil; n++ {
		if !a.counters.flood.Load() {
			time.Sleep(50 * time.Millisecond)
			continue
		}
		status := []pipeline.StepStatus{pipeline.StepPulling, pipeline.StepRunning}[n%2]
		if !event(wire.Event{Step: g.Pipeline.Order[0], Status: status,
			Message: fmt.Sprintf("report %d", n)}) {
			return
		}
		for a.waits() && ctx.Err() == nil {
			time.Sleep(time.Millisecond)
		}
	}
}

// waits reports whether the last event is not answered yet.
func (a *agent) waits() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.seq-a.acked > 10
}
