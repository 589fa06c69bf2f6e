package agent_test

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/agent/dummy"
	"github.com/nullops/nullops/agent/wire"
)

// An agent that starts while its engine is down serves what runs, says what is
// wrong, lets goals wait, and catches up when the engine answers.
func TestAgent_StartsWithoutItsEngine(t *testing.T) {
	p := newPlane(t)
	r, dir := dummy.New(dummy.Hooks{Plugin: runMaker}), t.TempDir()
	n := p.boot(dir, r, nil)
	p.want(n.connect(), shopGoal("d1"))
	p.untilPhase("d1", wire.PhaseReady)
	n.stop()
	before := r.OperationLog()
	r.SetHooks(dummy.Hooks{Plugin: runMaker, Fail: func(op, _ string) error {
		if op == "dial" { // the relay lives without the engine
			return nil
		}
		return fmt.Errorf("%w: connection refused", agent.ErrUnavailable)
	}})
	n = p.boot(dir, r, nil)
	s := n.connect()
	n.echoes("d1")
	p.until("the node says that its engine is away", func() bool {
		c := engineCheck(p.inventory)
		return c != nil && c.Severity == wire.SeverityCritical && c.Remedy != "" &&
			strings.Contains(strings.Join(p.inventory.Warnings, ""), "connection refused")
	})
	p.want(s, shopGoal("d2"))
	p.want(s, goneGoal("d1"))
	p.untilPhase("d2", wire.PhaseApplying)
	p.untilPhase("d1", wire.PhaseRemoving)
	p.update(func() {
		if len(p.welcome.Deployments) != 1 || p.welcome.Deployments[0].Phase != wire.PhaseReady {
			t.Errorf("without its engine, the agent says %+v", p.welcome.Deployments)
		}
	})
	if after := r.OperationLog(); !slices.Equal(before, after) {
		t.Errorf("did %v", after[len(before):])
	}
	r.SetHooks(dummy.Hooks{Plugin: runMaker})
	p.untilPhase("d2", wire.PhaseReady)
	p.untilPhase("d1", wire.PhaseRemoved)
	p.until("the node has its engine back", func() bool {
		return engineCheck(p.inventory) == nil && len(p.inventory.Warnings) == 0 &&
			p.inventory.CPU == 8
	})
	p.update(func() {
		for _, e := range p.events {
			if e.Phase == wire.PhaseFailed || e.Phase == wire.PhaseStuck {
				t.Errorf("%s became %s: %s", e.Deployment, e.Phase, e.Message)
			}
		}
	})
	checkContiguous(t, p)
}

func engineCheck(i wire.Inventory) *wire.Check {
	for _, c := range i.Checks {
		if c.ID == wire.CheckEngine {
			return &c
		}
	}
	return nil
}

// echoes sends a word through a tunnel to a service that echoes.
func (n *node) echoes(deployment string) {
	n.t.Helper()
	conn, err := n.dial(n.t.Context())
	if err != nil {
		n.t.Fatal(err)
	}
	tunnel, err := wire.OpenTunnel(n.t.Context(), conn,
		wire.Target{Deployment: deployment, Service: "web", Port: 80})
	if err != nil {
		n.t.Fatal(err)
	}
	defer func() { _ = tunnel.Close() }()
	if _, err := io.WriteString(tunnel, "ping"); err != nil {
		n.t.Fatal(err)
	}
	got := make([]byte, 4)
	if _, err := io.ReadFull(tunnel, got); err != nil || string(got) != "ping" {
		n.t.Errorf("the tunnel says %q, %v", got, err)
	}
}
