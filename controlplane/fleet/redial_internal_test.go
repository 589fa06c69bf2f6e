package fleet

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/agent/wire/wiretest"
	"github.com/nullops/nullops/controlplane"
)

// absentNode is the node table with one node, whose agent cannot be reached.
type absentNode struct {
	Nodes
	link     NodeLink
	mu       sync.Mutex
	dials    []time.Time
	offline  int
	released int
}

func (n *absentNode) BeginSessions(context.Context, []controlplane.NodeID, string) (
	map[controlplane.NodeID]SessionStart, error) {
	return map[controlplane.NodeID]SessionStart{n.link.Node.ID: {NodeLink: n.link, Epoch: 1}}, nil
}

func (n *absentNode) MarkOffline(context.Context, controlplane.NodeID, string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.offline++
	return nil
}

func (n *absentNode) ReleaseLease(context.Context, controlplane.NodeID, string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.released++
	return nil
}

// refuseDial records a dial and fails, as a network without the node does.
func (n *absentNode) refuseDial(context.Context, string, string) (net.Conn, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.dials = append(n.dials, time.Now())
	return nil, errors.New("connection refused")
}

func (n *absentNode) dialTimes() []time.Time {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.dials
}

// A node that is away is dialed with pauses that grow up to ten seconds, for as long
// as it is enabled: a day later it is still dialed. Once an admin has disabled the
// node, nobody dials it again, and its lease is free.
func TestAdjustSessions_DialsUntilTheNodeIsDisabled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		identity := wiretest.NewIdentity(t)
		token := wire.NewToken(identity.SPKI())
		n := &absentNode{link: NodeLink{Node: controlplane.Node{ID: wiretest.NodeID,
			Address: "node.example:5000"}, Kid: token.Kid, Key: token.Key()}}
		f := New(Config{Nodes: n, Holder: "test", Log: slog.New(slog.DiscardHandler),
			Dial: DialSettings{Identity: identity, Build: "dev", Connect: n.refuseDial}})
		ctx, cancel := context.WithCancel(t.Context())
		var answering, sessions sync.WaitGroup
		answering.Go(func() { _ = f.answerAll(ctx) })
		running := map[controlplane.NodeID]*sessionKeeper{}
		f.adjustSessions(ctx, map[controlplane.NodeID]bool{n.link.Node.ID: true}, running, &sessions)

		const away = 24 * time.Hour
		time.Sleep(away)
		synctest.Wait()
		dials := n.dialTimes()
		checkPauses(t, dials)
		// promise: N-215, B-10
		if last := dials[len(dials)-1]; time.Since(last) > longestWait {
			t.Errorf("after %s, the last dial is %s ago", away, time.Since(last))
		}
		if n.offline != len(dials) || n.released != 0 {
			t.Errorf("%d dials, %d times noted as offline, lease given up %d times", len(dials),
				n.offline, n.released)
		}

		f.adjustSessions(ctx, nil, running, &sessions) // an admin disables it
		time.Sleep(away)
		synctest.Wait()
		// promise: N-215
		if now := len(n.dialTimes()); now != len(dials) || n.released != 1 {
			t.Errorf("a disabled node was dialed %d times, its lease given up %d times",
				now-len(dials), n.released)
		}
		cancel()
		sessions.Wait()
		answering.Wait()
	})
}

// checkPauses holds the pauses between dials to the retry policy.
func checkPauses(t *testing.T, dials []time.Time) {
	t.Helper()
	if len(dials) < 1000 {
		t.Fatalf("%d dials", len(dials))
	}
	for i := range dials[1:] {
		limit := min(firstWait<<min(i, 10), longestWait)
		// promise: B-10
		if pause := dials[i+1].Sub(dials[i]); pause < limit/2 || pause > limit {
			t.Fatalf("pause %d is %s, wanted %s to %s", i+1, pause, limit/2, limit)
		}
	}
}
