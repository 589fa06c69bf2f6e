package fleet_test

import (
	"reflect"
	"testing"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/agent/wire/wiretest"
	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres/pgtest"
)

func TestSession_ANewAgentIsToldEverythingBeforeItIsOnline(t *testing.T) {
	r := newRig(t)
	r.start("a")
	s := r.waitForSession()
	if s.ack != 0 {
		t.Errorf("it acknowledged %d of an agent that reported nothing", s.ack)
	}
	// An agent that is never sent a full set or a keep list removes nothing.
	if g := nextCommand[wire.Goals](s); !g.Full || g.More || len(g.Goals) != 0 {
		t.Errorf("the goals are %+v", g)
	}
	if p := nextCommand[wire.Plugins](s); len(p.Images) != 0 {
		t.Errorf("the plugins are %+v", p)
	}
	if k := nextCommand[wire.Keep](s); k.More {
		t.Errorf("the keep list goes on: %+v", k)
	}
	r.waitUntilOnline()
	if print := pgtest.QueryValue[string](t, r.url, "SELECT thumbprint FROM nodes"); len(print) != 64 {
		t.Errorf("its certificate was not stored: %q", print)
	}
}

// An agent is told which ingress may open tunnels, and that none may any more.
func TestSession_TheAgentIsToldWhoOpensTunnels(t *testing.T) {
	r := newRig(t)
	r.welcome.TunnelAccess = true
	for _, ingress := range []*wire.Identity{wiretest.NewIdentity(t), nil} {
		r.ingress = ingress
		stop := r.start("a")
		want := wire.NewTunnelAccess(ingress, r.agent.Token.Kid)
		if got := nextCommand[wire.TunnelAccess](r.waitForSession()); !reflect.DeepEqual(got, want) {
			t.Errorf("with the ingress %v the agent was told of %x", ingress, got.Client)
		}
		stop()
	}
}

func TestSession_AReportIsAcknowledgedAfterItsCommit(t *testing.T) {
	r := newRig(t)
	r.start("a")
	s := r.waitForSession()
	r.waitUntilOnline()
	d := r.createDeployment("d")
	if g := s.goalOf(d); g.Want != wire.WantPresent || g.Ready || g.Run != string(d.RunID) {
		t.Errorf("its goal is %+v", g)
	}
	s.sendReport(newPhaseEvent(d, 1, wire.PhaseApplying))
	ready := newPhaseEvent(d, 2, wire.PhaseReady)
	ready.Code, ready.Message = "odd", "a message with a NUL, which PostgreSQL does not take: \x00"
	s.sendReport(ready)
	for nextCommand[wire.Ack](s).Seq < 2 {
		continue
	}
	if got := r.get(d.ID); got.Status != controlplane.Ready {
		t.Errorf("acknowledged, it is %s", got.Status)
	}
}

func TestSession_AfterAReconnectTheWholeStateIsSentAgain(t *testing.T) {
	r := newRig(t)
	r.start("a")
	first := r.waitForSession()
	r.waitUntilOnline()
	kept, gone := r.createDeployment("kept"), r.createDeployment("gone")
	first.goalOf(gone)
	first.sendReport(newPhaseEvent(kept, 1, wire.PhaseApplying))
	first.sendReport(newPhaseEvent(kept, 2, wire.PhaseReady))
	first.sendReport(newPhaseEvent(gone, 3, wire.PhaseApplying))
	for nextCommand[wire.Ack](first).Seq < 3 {
		continue
	}
	r.setReportRange(1, 3)
	first.cut()
	_, err := r.lifecycle.Remove(t.Context(), system, gone.ID)
	r.failOnError(nil, err)
	gone = r.get(gone.ID)
	second := r.waitForSession()
	if second.ack != 3 {
		t.Errorf("it acknowledges %d, not 3", second.ack)
	}
	got := nextCommand[wire.Goals](second)
	if !got.Full || len(got.Goals) != 2 {
		t.Fatalf("it sends %+v", got)
	}
	for _, g := range got.Goals {
		want, ready := wire.WantPresent, true
		if g.Deployment == string(gone.ID) {
			want, ready = wire.WantGone, false
		}
		if g.Want != want || g.Ready != ready {
			t.Errorf("%s: want %s, ready %v", g.Context.Name, g.Want, g.Ready)
		}
	}
	// What is sent again is acknowledged again, and changes nothing.
	second.sendReport(newPhaseEvent(kept, 2, wire.PhaseFailed))
	second.sendReport(newPhaseEvent(gone, 4, wire.PhaseRemoved))
	for nextCommand[wire.Ack](second).Seq < 4 {
		continue
	}
	if got := r.get(kept.ID); got.Status != controlplane.Ready {
		t.Errorf("a doubled report made it %s", got.Status)
	}
	if got := r.get(gone.ID); got.Status != controlplane.Canceled {
		t.Errorf("the removed one is %s", got.Status)
	}
}

func TestSession_ReportsOfAnAgentThatLostItsStateCountAgain(t *testing.T) {
	r := newRig(t)
	r.start("a")
	first := r.waitForSession()
	r.waitUntilOnline()
	d := r.createDeployment("d")
	for seq := int64(1); seq <= 5; seq++ {
		first.sendReport(newPhaseEvent(d, seq, wire.PhaseApplying))
	}
	for nextCommand[wire.Ack](first).Seq < 5 {
		continue
	}
	r.setReportRange(1, 0)
	first.cut()
	second := r.waitForSession()
	if second.ack != 0 {
		t.Errorf("to an agent without reports it acknowledges %d", second.ack)
	}
	second.sendReport(newPhaseEvent(d, 1, wire.PhaseUndoing))
	nextCommand[wire.Ack](second)
	if got := r.get(d.ID); got.Status != controlplane.Undoing {
		t.Errorf("its first report was not stored: %s", got.Status)
	}
}

// fault: F34
func TestSession_AnAgentThatBreaksTheProtocolIsCutAndConnectedAgain(t *testing.T) {
	r := newRig(t)
	r.start("a")
	first := r.waitForSession()
	r.waitUntilOnline()
	first.sendReport(wire.Welcome{Build: "dev"})
	<-first.Done()
	r.waitForSession()
}

// A node has one commander at a time. When it stops, the next begins at once, not when
// the lease runs out, and with a higher epoch: the agent refuses the one before.
func TestLease_TheNextControlPlaneTakesOverWithAHigherEpoch(t *testing.T) {
	r := newRig(t)
	stop := r.start("a")
	first := r.waitForSession()
	r.waitUntilOnline()
	_, before := r.agent.Memory.BoundNode()
	r.start("b")
	// The session continues while the other one looks for nodes.
	first.goalOf(r.createDeployment("d"))
	if len(r.sessions) > 0 {
		t.Fatal("another control plane connected to a node that has one")
	}
	stop()
	if n := pgtest.QueryValue[int64](t, r.url, `SELECT count(*) FROM node_leases
		WHERE holder = 'a' AND expires_at > now()`); n != 0 {
		t.Error("it kept its lease to the end")
	}
	r.waitForSession()
	if _, after := r.agent.Memory.BoundNode(); after <= before {
		t.Errorf("epoch %d follows epoch %d", after, before)
	}
}

func TestLease_OnlyTheHolderMayChangeTheNode(t *testing.T) {
	r := newRig(t)
	ctx, a, b := t.Context(), r.newNodeTable("a"), r.newNodeTable("b")
	ids := []controlplane.NodeID{r.node}
	got, err := a.BeginSessions(ctx, ids, "a")
	r.failOnError(nil, err)
	if got[r.node].Epoch != 1 || got[r.node].Kid != r.agent.Token.Kid {
		t.Fatalf("the first holder gets %+v", got)
	}
	if got, err := b.BeginSessions(ctx, ids, "b"); err != nil || len(got) != 0 {
		t.Errorf("while another has the lease: %+v, %v", got, err)
	}
	if ids, _, err := b.ListEnabled(ctx, "b", ""); err != nil || len(ids) != 0 {
		t.Errorf("a node of another is listed: %v, %v", ids, err)
	}
	if err := b.MarkOnline(ctx, r.node); err == nil {
		t.Error("without the lease the node was made online")
	}
	pgtest.Exec(t, r.url, "UPDATE node_leases SET expires_at = now() - interval '1 second'")
	if got, err := b.BeginSessions(ctx, ids, "b"); err != nil || got[r.node].Epoch != 2 {
		t.Errorf("after the lease ended: %+v, %v", got, err)
	}
	lost, _, err := a.RenewLeases(ctx, ids, "a")
	if err != nil || len(lost) != 1 {
		t.Errorf("the holder before renewed it: lost %v, %v", lost, err)
	}
	r.failOnError(nil, a.MarkOffline(ctx, r.node, "it was suspended"))
	r.failOnError(nil, a.ReleaseLease(ctx, r.node, "a"))
	if detail := pgtest.QueryValue[string](t, r.url, "SELECT detail FROM nodes"); detail != "" {
		t.Errorf("the holder before wrote %q", detail)
	}
	if lost, _, err := b.RenewLeases(ctx, ids, "b"); err != nil || len(lost) != 0 {
		t.Errorf("the holder before gave the lease away: lost %v, %v", lost, err)
	}
}

// The database's clock ran hours ahead, and was set right: the lease of a control plane that is
// gone would have kept everybody out for those hours.
func TestLease_EndsThoughTheClockWasSetBack(t *testing.T) {
	r := newRig(t)
	ctx, a, b := t.Context(), r.newNodeTable("a"), r.newNodeTable("b")
	ids := []controlplane.NodeID{r.node}
	if got, err := a.BeginSessions(ctx, ids, "a"); err != nil || got[r.node].Epoch != 1 {
		t.Fatalf("the first holder gets %+v, %v", got, err)
	}
	pgtest.Exec(t, r.url, "UPDATE node_leases SET expires_at = expires_at + interval '3 hours'")
	if ids, _, err := b.ListEnabled(ctx, "b", ""); err != nil || len(ids) != 1 {
		t.Errorf("the node may be commanded again, and is not listed: %v, %v", ids, err)
	}
	if got, err := b.BeginSessions(ctx, ids, "b"); err != nil || got[r.node].Epoch != 2 {
		t.Errorf("the next holder gets %+v, %v", got, err)
	}
}
