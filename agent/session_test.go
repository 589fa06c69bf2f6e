package agent_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/nullops/nullops/agent/dummy"
	"github.com/nullops/nullops/agent/wire"
)

// conversation is one session, with everything the agent said on it in order.
type conversation struct {
	*node
	session *wire.Session
	ctx     context.Context
	heard   []wire.Report
}

// hear receives until a report fits, and answers as a control plane does.
func (c *conversation) hear(what string, fits func(wire.Report) bool) {
	c.t.Helper()
	for {
		r, err := c.session.Receive(c.ctx)
		if err != nil {
			c.t.Fatalf("%s did not come on the session: %v", what, err)
		}
		c.heard = append(c.heard, r)
		switch r := r.(type) {
		case wire.Event:
			c.update(func() { c.commit(r) })
			c.sendCommand(wire.Ack{Seq: r.Seq})
		case wire.SecretsWanted:
			c.answer(c.ctx, c.session, r)
		}
		if fits(r) {
			return
		}
	}
}

func (c *conversation) sendCommand(m wire.Command) {
	c.t.Helper()
	if err := c.session.Send(c.ctx, m); err != nil {
		c.t.Fatal(err)
	}
}

func (c *conversation) hearPhase(phase wire.Phase) {
	c.t.Helper()
	c.hear(string(phase), func(r wire.Report) bool {
		e, ok := r.(wire.Event)
		return ok && e.Phase == phase
	})
}

// stepStatuses returns the step statuses that were reported, in order.
func (c *conversation) stepStatuses() (all []string) {
	for _, r := range c.heard {
		if e, ok := r.(wire.Event); ok && e.Step != "" {
			all = append(all, string(e.Step)+" "+string(e.Status))
		}
	}
	return all
}

// One connection carries everything, both ways and without being asked: after both
// ends have proven the token, the agent's welcome, then its signs of life, what it
// does and how it ends; and towards it what to run and what to remove. A step is
// executed as its kind says.
func TestAgent_CommandsAndReportsShareASession(t *testing.T) {
	p := newPlane(t)
	r := dummy.New(dummy.Hooks{Plugin: runMaker})
	n := p.boot(t.TempDir(), r, nil)
	conn, err := n.dialInTime()
	if err != nil {
		t.Fatal(err)
	}
	s, err := wire.OpenSession(t.Context(), conn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close(wire.CodeGone, "the test is over") })
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	c := &conversation{node: n, session: s, ctx: ctx}

	c.hear("the welcome", func(wire.Report) bool { return true })
	// promise: B-06
	if w, ok := c.heard[0].(wire.Welcome); !ok || w.Build != "dev" {
		t.Fatalf("the agent's first message is %+v", c.heard[0])
	}
	p.want(nil, shopGoal("d1"))
	began := time.Now()
	c.sendCommand(wire.Ack{})
	c.sendCommand(p.full())
	// promise: V-03, V-10
	c.hearPhase(wire.PhaseReady)
	// promise: B-06
	c.hear("a sign of life", func(r wire.Report) bool {
		v, ok := r.(wire.Vitals)
		return ok && len(v.Services) == 2
	})
	// promise: B-06, Y-16
	for _, want := range []string{"db running", "db done", "make running", "make done",
		"web running", "web done"} {
		if !slices.Contains(c.stepStatuses(), want) {
			t.Errorf("the agent did not tell %q, but %q", want, c.stepStatuses())
		}
	}
	for _, r := range c.heard {
		if e, ok := r.(wire.Event); ok && (e.Deployment != "d1" || e.At.Before(began)) {
			t.Errorf("told of something else: %+v", e)
		}
	}
	// promise: G-08
	if got := r.OperationLog(); !slices.Equal(got, []string{"start db", "create make", "start web"}) {
		t.Errorf("steps of the kinds service, plugin and service became %q", got)
	}

	p.want(nil, goneGoal("d1"))
	c.sendCommand(wire.Goals{Goals: []wire.Goal{goneGoal("d1")}})
	// promise: V-03, V-10
	c.hearPhase(wire.PhaseRemoved)
	if left := listObjects(t, r); len(left) > 0 {
		t.Errorf("left %v", left)
	}
}
