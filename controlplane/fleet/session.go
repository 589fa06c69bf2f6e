package fleet

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/lifecycle"
	"github.com/nullops/nullops/pipeline"
)

// renewEvery is a third of leaseFor, so that two failed renewals do not lose the node.
const renewEvery = 3 * time.Second

// session is one connection to an agent. No goroutine waits while there is nothing to
// do: receiving reports, sending updates, storing measurements and collecting logs
// each start a task on demand, because an idle goroutine costs a stack and there are
// thousands of sessions.
type session struct {
	*Fleet
	link  NodeLink
	epoch int64
	conn  *wire.Session
	// held is what the agent leaves alone although it has no goal.
	held lifecycle.ProtectedDeployments
	// refused yields the tokens the agent confirms to refuse.
	refused chan string
	// samples wait to be stored; health is what was stored.
	samples chan sampleBatch
	health  storedHealth
	// sent, plugins and keep are what the agent was sent last.
	sent    map[string]goalMark
	plugins []wire.PluginImage
	keep    []pipeline.Image
	// toldKeep is set after keep was sent.
	toldKeep bool
	// answersOffers is set if the agent understands offers.
	answersOffers bool
	// rests is set if the agent may report less while its node rests; watching while it is told
	// that somebody looks.
	rests    bool
	watching bool
	// waits is what is shown at deployments whose secrets cannot be opened now.
	waits map[string]string

	// outer is the node's context, ctx ours: it ends with the session.
	outer context.Context
	ctx   context.Context
	stop  context.CancelCauseFunc
	tasks sync.WaitGroup

	mu sync.Mutex
	// over is set when no more tasks may start.
	over bool
	// witness is set once the audit chain's head may be sent to this agent.
	witness bool
	// looking is set while an update runs, again when another one has to follow it.
	looking, again bool
	// receiving, storing and logging are set while that task runs.
	receiving, storing, logging bool
	// offering is set while offers are sent, offers wait for that; offered were sent.
	offering bool
	offers   []controlplane.Offer
	offered  map[controlplane.OfferID]bool
	// good is when the lease was last renewed; holding mirrors held.
	good    time.Time
	holding bool
	// acked is the last report that the agent may forget.
	acked int64
}

// openSession greets and brings both ends to the same knowledge. It owns the connection
// from now on, also on error. Being online is from here to close.
func (f *Fleet) openSession(
	ctx context.Context, b *sessionBeginning, proven *wire.ProvenConn,
) (*session, error) {
	peer := proven.Peer()
	conn, err := wire.OpenSession(ctx, proven)
	if err != nil {
		return nil, err
	}
	working, stop := context.WithCancelCause(ctx)
	s := &session{Fleet: f, link: withoutInventory(b.NodeLink), epoch: b.Epoch, conn: conn,
		outer: ctx, ctx: working, stop: stop, refused: make(chan string, 4),
		samples: make(chan sampleBatch, samplesWaiting), good: b.leased,
		// No update before the initial state was exchanged.
		looking: true}
	welcome, err := s.receiveWelcome(ctx)
	if err == nil {
		s.answersOffers, s.rests = welcome.Offers, welcome.Rests
		// From here on the lease is renewed with the others.
		f.roster.add(s, b.Digest)
		err = s.initialize(ctx, b, peer, welcome)
	}
	if err != nil {
		s.close(err)
		return nil, err
	}
	s.Log.DebugContext(ctx, "node online", "node", s.link.Node.Name, "build", peer.Build)
	f.begun.Add(1)
	s.allowUpdates()
	return s, nil
}

// serve starts receiving and returns at once. After the link, the lease or the context
// has ended and all tasks have stopped, it calls ended with the cause.
func (s *session) serve(ended func(why error)) {
	context.AfterFunc(s.ctx, func() {
		why := context.Cause(s.ctx)
		s.close(why)
		ended(why)
	})
	s.conn.OnArrival(func() { s.startTask(&s.receiving, s.receiveReports, s.conn.HasPending) })
}

// close stops all tasks and sends the agent the reason.
func (s *session) close(why error) {
	s.roster.removeSession(s)
	s.stopTasks(why)
	_ = s.conn.Close(sessionCloseReason(s.outer, why))
}

// withoutInventory drops what only the initial exchange needs: there are thousands of
// sessions, and a node's inventory is larger than all the rest. The link of a session never
// changes, because its tasks read it without a lock.
func withoutInventory(link NodeLink) NodeLink {
	n := link.Node
	link.Node = controlplane.Node{ID: n.ID, Name: n.Name, Connect: n.Connect,
		Address: n.Address, Thumbprint: n.Thumbprint, Expected: n.Expected}
	return link
}

// allowUpdates ends the initial exchange, and runs an update if one was requested
// meanwhile.
func (s *session) allowUpdates() {
	s.mu.Lock()
	s.looking = false
	again := s.again
	s.mu.Unlock()
	if again {
		s.scheduleUpdate()
	}
}

// initialize brings both ends to the same state. Data that cannot have changed since it was read
// together with other nodes' is not read or written again.
func (s *session) initialize(
	ctx context.Context, b *sessionBeginning, peer wire.Peer, w wire.Welcome,
) error {
	id := s.link.Node.ID
	i := newInventory(w.Inventory, w.At, time.Now())
	known := isSameNode(b.Node, peer, i)
	if !known {
		err := s.withDBSlot(ctx, func() error {
			return s.Nodes.RecordContact(ctx, id, formatThumbprint(peer.Thumbprint), string(peer.Build), i)
		})
		if err != nil {
			return err
		}
	}
	if err := s.sendFullState(ctx, b, w); err != nil {
		return err
	}
	err := s.conn.SendTogether(func() error { return s.sendSettings(ctx, w) })
	if err != nil {
		return err
	}
	if err := s.compareAuditHeads(ctx, w); err != nil {
		return err
	}
	if w.Lines || len(s.sent) > 0 {
		s.startLogCollection()
	}
	if known && b.Node.Status == controlplane.NodeOnline && len(s.sent) == 0 {
		return nil
	}
	return s.withDBSlot(ctx, func() error { return s.Nodes.MarkOnline(ctx, id) })
}

// sendSettings sends what an agent is told besides its goals.
func (s *session) sendSettings(ctx context.Context, w wire.Welcome) error {
	if err := s.sendPlugins(ctx); err != nil {
		return err
	}
	if err := s.sendKeepList(ctx); err != nil {
		return err
	}
	if w.TunnelAccess {
		access := wire.NewTunnelAccess(s.Dial.Ingress, s.link.Kid)
		if err := s.conn.Send(ctx, access); err != nil {
			return err
		}
	}
	return s.allowRest(ctx)
}

// isSameNode reports whether the database has these facts of the node already.
func isSameNode(n controlplane.Node, peer wire.Peer, now controlplane.Inventory) bool {
	return n.Inventory != nil && string(n.Thumbprint) == formatThumbprint(peer.Thumbprint) &&
		n.Build == string(peer.Build) && sameInventory(*n.Inventory, now)
}

// sameInventory compares without the words for people, which may hold numbers
// that change all the time.
func sameInventory(a, b controlplane.Inventory) bool {
	wordless := func(all []controlplane.Check) []controlplane.Check {
		all = slices.Clone(all)
		for i := range all {
			all[i].Detail, all[i].Remedy = "", ""
		}
		return all
	}
	a.Checks, b.Checks = wordless(a.Checks), wordless(b.Checks)
	return reflect.DeepEqual(a, b)
}

// startTask runs a task on its own goroutine. If it runs already, it runs once more afterwards. Its
// error ends the session.
func (s *session) startTask(running *bool, do func(context.Context) error, more func() bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if *running || s.over {
		return
	}
	*running = true
	s.tasks.Go(func() {
		for goesOn := true; goesOn; {
			err := s.runTask(do)
			if err != nil {
				s.stop(err)
			}
			s.mu.Lock()
			goesOn = err == nil && more()
			*running = goesOn
			s.mu.Unlock()
		}
	})
}

func (s *session) runTask(do func(context.Context) error) (err error) {
	defer controlplane.CatchPanic(s.ctx, s.Log, "a session with node "+s.link.Node.Name, &err)
	return do(s.ctx)
}

// stopTasks waits for all that runs, and lets nothing else begin.
func (s *session) stopTasks(why error) {
	s.mu.Lock()
	s.over = true
	s.mu.Unlock()
	s.stop(why)
	s.tasks.Wait()
}

// scheduleUpdate sends the agent what changed: now, or after the update that is running.
func (s *session) scheduleUpdate() {
	s.mu.Lock()
	s.again = s.looking
	s.mu.Unlock()
	s.startTask(&s.looking, s.sendUpdates, func() bool {
		again := s.again
		s.again = false
		return again
	})
}

// sendUpdates checks everything that may have changed, and sends the differences.
func (s *session) sendUpdates(ctx context.Context) error {
	if err := s.checkToken(ctx); err != nil {
		return err
	}
	if err := s.sendChangedGoals(ctx); err != nil {
		return err
	}
	if len(s.sent) > 0 {
		s.startLogCollection()
	}
	if err := s.sendPlugins(ctx); err != nil {
		return err
	}
	return s.sendKeepList(ctx)
}

// startLogCollection opens the connection for step logs, for as long as the session lasts.
// A node that nothing runs on needs none.
func (s *session) startLogCollection() {
	s.startTask(&s.logging, s.collectLogs, func() bool { return false })
}

// receiveWelcome waits for the agent's first message.
func (s *session) receiveWelcome(ctx context.Context) (wire.Welcome, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, 10*time.Second,
		errors.New("the agent did not say who it is within 10 s"))
	defer cancel()
	first, err := s.conn.Receive(ctx)
	if err != nil {
		return wire.Welcome{}, fmt.Errorf("greet: %w", err)
	}
	welcome, ok := first.(wire.Welcome)
	if !ok {
		return welcome, fmt.Errorf("greet: the agent began with %T", first)
	}
	return welcome, nil
}

// sendFullState acknowledges the agent's reports and sends all goals. An agent whose
// report numbers are lower than those we stored has lost its state.
func (s *session) sendFullState(ctx context.Context, b *sessionBeginning, w wire.Welcome) error {
	var orders []controlplane.NodeGoal
	last := b.LastReport
	if b.Busy || len(w.Deployments) > 0 {
		err := s.withDBSlot(ctx, func() (err error) {
			if err = s.recognizeDeployments(ctx, w); err != nil {
				return err
			}
			orders, last, err = s.Lifecycle.NodeGoals(ctx, s.actor, s.link.Node.ID)
			return err
		})
		if err != nil {
			return err
		}
	}
	if w.LastSeq < last {
		last = max(0, w.FirstSeq-1)
		if err := s.Lifecycle.ResetReports(ctx, s.actor, s.link.Node.ID, last); err != nil {
			return err
		}
	}
	if err := s.acknowledge(ctx, last); err != nil {
		return err
	}
	s.sent = goalMarks(orders)
	return s.sendGoals(ctx, s.fullGoals(orders))
}

func (s *session) sendGoals(ctx context.Context, all []wire.Goals) error {
	for _, m := range all {
		place := failpointOf(m.Goals)
		if err := s.Failpoint.Hit(place + ".read"); err != nil {
			return err
		}
		if err := s.conn.Send(ctx, m); err != nil {
			return err
		}
		if err := s.Failpoint.Hit(place + ".sent"); err != nil {
			return err
		}
		err := s.Lifecycle.MarkDelivered(ctx, s.actor, requestedRuns(m.Goals))
		if err := s.mayFail(ctx, "delivery", err); err != nil {
			return err
		}
	}
	return nil
}

// requestedRuns returns the runs that the goals ask the agent to start or continue.
func requestedRuns(goals []wire.Goal) (runs []controlplane.RunID) {
	for _, g := range goals {
		if g.Want == wire.WantPresent && !g.Ready && !g.Elsewhere {
			runs = append(runs, controlplane.RunID(g.Run))
		}
	}
	return runs
}

// failpointOf begins the names of the places that goals pass on their way.
func failpointOf(goals []wire.Goal) string {
	switch {
	case len(goals) == 0:
		return "nothing"
	case slices.ContainsFunc(goals, func(g wire.Goal) bool { return g.Want == wire.WantGone }):
		return "gone"
	}
	return "goals"
}

// sendChangedGoals sends the goals that changed.
func (s *session) sendChangedGoals(ctx context.Context) error {
	// Read before, since reports are acknowledged meanwhile.
	acked := s.lastAcknowledged()
	orders, last, err := s.Lifecycle.NodeGoals(ctx, s.actor, s.link.Node.ID)
	if err != nil {
		// The database is away; the link is not, so it stays.
		return s.mayFail(ctx, "goals", err)
	}
	if last < acked {
		return errReportsLost
	}
	changed := changedGoals(orders, s.sent)
	s.sent = goalMarks(orders)
	if news, err := s.heldChanged(ctx); news && err == nil {
		return s.sendGoals(ctx, s.fullGoals(orders))
	}
	return s.sendGoals(ctx, splitGoals(changed, false))
}

// sendPlugins sends the catalogue's plugin list if it changed.
func (s *session) sendPlugins(ctx context.Context) error {
	now, err := s.roster.pluginImages(ctx)
	if err != nil {
		return s.mayFail(ctx, "plugins", err)
	}
	if s.plugins != nil && slices.Equal(now, s.plugins) {
		return nil
	}
	s.plugins = now
	return s.conn.Send(ctx, wire.Plugins{Images: now})
}
