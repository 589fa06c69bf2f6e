package sweep_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/agent/wire/wiretest"
	"github.com/nullops/nullops/pipeline"
)

// plane is a control plane with one node and one deployment: it dials for ever,
// keeps what is reported, and answers for secrets.
type plane struct {
	t        testing.TB
	address  string
	identity *wire.Identity
	token    wire.Token

	mu      sync.Mutex
	changed chan struct{}
	goal    wire.Goal
	session *wire.Session
	events  []wire.Event
	// base is the number before the first report's.
	base, last int64
}

func newPlane(t testing.TB, address string) *plane {
	id := wiretest.NewIdentity(t)
	return &plane{t: t, address: address, identity: id, token: wire.NewToken(id.SPKI()),
		changed: make(chan struct{})}
}

// run keeps a session open, as long as the agent answers.
func (p *plane) run(ctx context.Context) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for ctx.Err() == nil {
		if s, err := p.dial(ctx); err == nil {
			p.serve(ctx, s)
			_ = s.Close(wire.CodeGone, "the control plane goes")
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

func (p *plane) dial(ctx context.Context) (*wire.Session, error) {
	conn, err := wire.Dial(ctx, wire.DialConfig{Address: p.address, Identity: p.identity,
		NodeID: wiretest.NodeID, Kid: p.token.Kid, Key: p.token.Key(), Epoch: 1, Build: "sweep"})
	if err != nil {
		return nil, err
	}
	return wire.OpenSession(ctx, conn)
}

func (p *plane) serve(ctx context.Context, s *wire.Session) {
	for {
		r, err := s.Receive(ctx)
		if err != nil {
			return
		}
		switch r := r.(type) {
		case wire.Welcome:
			err = p.greet(ctx, s, r.FirstSeq)
		case wire.Event:
			p.update(func() { p.commit(r) })
			err = errors.Join(s.Send(ctx, wire.Ack{Seq: r.Seq}), p.approve(ctx, s, r))
		case wire.SecretsWanted:
			err = s.Send(ctx, p.bundle(r))
		}
		if err != nil {
			return
		}
	}
}

// greet sends how far we have applied reports. An agent that died before its first report was on
// disk may have used numbers, and says where it begins.
func (p *plane) greet(ctx context.Context, s *wire.Session, first int64) error {
	p.mu.Lock()
	p.session = s
	if len(p.events) == 0 {
		p.base, p.last = first-1, first-1
	}
	last, goals := p.last, wire.Goals{Full: true, Goals: []wire.Goal{p.goal}}
	p.mu.Unlock()
	if err := s.Send(ctx, wire.Ack{Seq: last}); err != nil {
		return err
	}
	return s.Send(ctx, goals)
}

// commit keeps a report once. One that comes again must say the same.
func (p *plane) commit(e wire.Event) {
	switch {
	case e.Seq == p.last+1:
		p.last = e.Seq
		p.events = append(p.events, e)
	case e.Seq > p.last:
		p.t.Errorf("report %d came after %d", e.Seq, p.last)
	default:
		was := p.events[e.Seq-1-p.base]
		if was.Phase != e.Phase || was.Step != e.Step || was.Status != e.Status {
			p.t.Errorf("report %d was %s%s%s, and is %s%s%s now", e.Seq, was.Phase, was.Step,
				was.Status, e.Phase, e.Step, e.Status)
		}
	}
}

// approve answers what the agent asks. The answer stays with the goal.
func (p *plane) approve(ctx context.Context, s *wire.Session, e wire.Event) error {
	if e.Status != pipeline.StepWaiting {
		return nil
	}
	p.mu.Lock()
	if p.goal.Want == wire.WantPresent {
		p.goal.Answers = map[pipeline.StepKey]wire.Answer{e.Step: {Approved: true, By: "ada"}}
	}
	g := p.goal
	p.mu.Unlock()
	return s.Send(ctx, wire.Goals{Goals: []wire.Goal{g}})
}

func (p *plane) bundle(w wire.SecretsWanted) wire.Secrets {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := wire.Secrets{Run: w.Run, Generation: w.Generation, Key: make([]byte, 32),
		Outputs: map[pipeline.StepKey][]byte{}}
	for _, e := range p.events {
		if len(e.Sealed) > 0 {
			s.Outputs[e.Step] = e.Sealed
		}
	}
	return s
}

// want changes the goal, and notifies the listeners.
func (p *plane) want(g wire.Goal) {
	p.mu.Lock()
	p.goal = g
	s := p.session
	p.mu.Unlock()
	if s != nil {
		// A session that is over is followed by one that reports everything.
		_ = s.Send(p.t.Context(), wire.Goals{Goals: []wire.Goal{g}})
	}
}

// ends are the phases in which a deployment that is wanted like that rests.
func (p *plane) ends() []wire.Phase {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.goal.Want == wire.WantGone {
		return []wire.Phase{wire.PhaseRemoved}
	}
	return []wire.Phase{wire.PhaseReady, wire.PhaseFailed}
}

func (p *plane) update(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
	close(p.changed)
	p.changed = make(chan struct{})
}

// await waits for the deployment to be in one of some phases. It is false when
// something else ends the wait.
func (p *plane) await(died <-chan struct{}, phases ...wire.Phase) bool {
	p.t.Helper()
	deadline := time.After(patience)
	for {
		p.mu.Lock()
		changed := p.changed
		phase := p.phaseLocked()
		p.mu.Unlock()
		if slices.Contains(phases, phase) {
			return true
		}
		select {
		case <-changed:
		case <-died:
			return false
		case <-deadline:
			p.t.Fatalf("none of %v came:%s", phases, p.story())
		}
	}
}

func (p *plane) phaseLocked() (last wire.Phase) {
	for _, e := range p.events {
		if e.Phase != "" {
			last = e.Phase
		}
	}
	return last
}

func (p *plane) story() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	text := ""
	for _, e := range p.events {
		text += fmt.Sprintf("\n%d %s %s%s %s %s %s", e.Seq, e.At.Format("05.000"), e.Phase, e.Step,
			e.Status, e.Code, e.Message)
	}
	return text
}
