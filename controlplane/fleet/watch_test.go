package fleet_test

import (
	"context"
	"testing"
	"time"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/lifecycle"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/controlplane/postgres/pgtest"
	"github.com/nullops/nullops/pipeline"
)

// nextWatch returns the next command that says how often vitals are needed.
func nextWatch(s *agentSession, seconds int) {
	s.t.Helper()
	if w := nextCommand[wire.Watch](s); w.Seconds != seconds || w.Rest != 60 {
		s.t.Errorf("the agent was told %+v instead of %d seconds", w, seconds)
	}
}

// An agent that understands it is told that it may rest, and that somebody needs its figures:
// because a page is open at whichever control plane, or because a run waits for room.
func TestWatch_IsToldWhenSomebodyNeedsFigures(t *testing.T) {
	r := newRig(t)
	r.welcome.Rests = true
	r.start("a")
	s := r.waitForSession()
	r.waitUntilOnline()
	nextWatch(s, 0)
	r.failOnError(nil, r.store.InTx(t.Context(), func(tx *postgres.Tx) error {
		tx.NotifyOnCommit(controlplane.TopicWatch, string(r.node))
		return nil
	}))
	nextWatch(s, 30)
	// It has no room, but may have some: its disk is nearly full.
	pgtest.Exec(t, r.url, `UPDATE nodes SET vitals = '{"disk_free": 1000}'`)
	_, err := r.lifecycle.Create(t.Context(), system, lifecycle.Request{Name: "waits",
		Project: "shop", Environment: "qa", Priority: controlplane.DefaultPriority, Wait: true,
		Versions: map[pipeline.StepKey]string{"api": "1.0"}})
	r.failOnError(nil, err)
	nextWatch(s, 30)
}

// An older agent, which would end the session at a command that it does not know, gets none.
func TestWatch_AnOlderAgentGetsNone(t *testing.T) {
	r := newRig(t)
	r.start("a")
	s := r.waitForSession()
	r.waitUntilOnline()
	r.failOnError(nil, r.store.InTx(t.Context(), func(tx *postgres.Tx) error {
		tx.NotifyOnCommit(controlplane.TopicWatch, string(r.node))
		return nil
	}))
	d := r.createDeployment("d")
	for {
		m, err := s.Receive(t.Context())
		r.failOnError(m, err)
		if _, told := m.(wire.Watch); told {
			t.Fatal("it was told to rest")
		}
		if g, ok := m.(wire.Goals); ok && len(g.Goals) > 0 && g.Goals[0].Deployment == string(d.ID) {
			return
		}
	}
}

// recordedUsage passes on what is to be stored.
type recordedUsage struct {
	vitals  chan controlplane.NodeVitals
	batches chan controlplane.UsageBatch
}

func (u *recordedUsage) Observe(_ context.Context, _ access.Actor, _ controlplane.NodeID,
	v controlplane.NodeVitals) error {
	u.vitals <- v
	return nil
}

func (u *recordedUsage) Store(_ context.Context, _ access.Actor, _ controlplane.NodeID,
	b controlplane.UsageBatch) error {
	u.batches <- b
	return nil
}

// Vitals that replace a ping are answered with a sign of life, and their samples are stored.
func TestVitals_AreStoredWithTheirSamples(t *testing.T) {
	r := newRig(t)
	stored := &recordedUsage{batches: make(chan controlplane.UsageBatch, 1),
		vitals: make(chan controlplane.NodeVitals, 1)}
	r.usage = stored
	r.start("a")
	s := r.waitForSession()
	s.sendReport(wire.Vitals{At: time.Now(), CPU: 1, Within: 1 << 40, Pong: true,
		Samples: &wire.Samples{Boot: "b", Items: []wire.Sample{{Number: 7, CPU: 1}}}})
	if v := <-stored.vitals; v.Within != 300 || v.CPU != 1 {
		t.Errorf("stored %+v", v)
	}
	if b := <-stored.batches; b.Boot != "b" || len(b.Items) != 1 {
		t.Errorf("stored %+v", b)
	}
	if a := nextCommand[wire.Stored](s); a != (wire.Stored{Boot: "b", Number: 7}) {
		t.Errorf("answered %+v", a)
	}
}
