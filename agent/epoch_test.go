package agent_test

import (
	"context"
	"errors"
	"testing"

	"github.com/nullops/nullops/agent/dummy"
	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/agent/wire/wiretest"
)

// dialAt is a proven connection of a control plane with the given epoch.
func (n *node) dialAt(epoch uint64) (*wire.ProvenConn, error) {
	return wire.Dial(n.t.Context(), wire.DialConfig{Address: "agent:5000", Identity: n.identity,
		Thumbprint: n.agent.Thumbprint(), NodeID: wiretest.NodeID, Kid: n.token.Kid,
		Key: n.token.Key(), Epoch: epoch, Build: "dev", Connect: n.pipes.Dial})
}

// Once a newer control plane has connected, on any connection, messages of an older one in an open
// session are refused with a reason. The agent remembers that across a restart.
//
// threat: T50
func TestSession_StaleEpochCommandsNothing(t *testing.T) {
	t.Parallel()
	p, dir, runtime := newPlane(t), t.TempDir(), dummy.New(dummy.Hooks{Plugin: runMaker})
	n := p.boot(dir, runtime, nil)
	s := n.connect()
	p.want(s, shopGoal("a"))
	p.untilPhase("a", wire.PhaseReady)
	before := listObjects(t, runtime)
	newer, err := n.dialAt(2)
	if err != nil {
		t.Fatal(err)
	}
	_ = newer.Close() // It was a tunnel, say; its session is still to come.
	_ = s.Send(context.Background(), wire.Goals{Goals: []wire.Goal{goneGoal("a")}})
	<-s.Done()
	var closed *wire.CloseError
	if !errors.As(s.Err(), &closed) || closed.Code != wire.CodeStaleEpoch {
		t.Errorf("the old session ended with %v", s.Err())
	}
	n.stop()
	n = p.boot(dir, runtime, nil)
	if _, err := n.dialAt(1); !errors.Is(err, wire.ErrStaleEpoch) {
		t.Errorf("after a restart the old epoch is answered with %v", err)
	}
	conn, err := n.dialAt(2)
	if err != nil {
		t.Fatal(err)
	}
	fresh, err := wire.OpenSession(t.Context(), conn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = fresh.Close(wire.CodeGone, "the test is over") }()
	said, err := fresh.Receive(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w, ok := said.(wire.Welcome)
	if !ok || len(w.Deployments) != 1 || w.Deployments[0].Phase != wire.PhaseReady {
		t.Errorf("the new control plane is greeted with %+v", said)
	}
	if after := listObjects(t, runtime); len(after) != len(before) {
		t.Errorf("a refused command changed what runs: %v, was %v", after, before)
	}
}
