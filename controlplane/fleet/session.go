package fleet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/lifecycle"
)

// renewEvery is a third of the lease's ten seconds (faults.md, rule 6).
const renewEvery = 3 * time.Second

// session is one stretch of being connected.
type session struct {
	*Fleet
	link  Link
	epoch int64
	conn  *wire.Session
	// held is what the agent leaves alone although it has no goal.
	held lifecycle.Held
	// refused yields the tokens the agent confirms to refuse.
	refused chan string
	// samples wait to be stored; health is what was stored.
	samples chan batch
	health  told
}

// serve greets and then works until the link, the lease or ctx ends. Being
// online is being in here.
func (f *Fleet) serve(
	ctx context.Context, link Link, epoch int64, proven *wire.ProvenConn,
) (err error) {
	peer := proven.Peer()
	conn, err := wire.OpenSession(ctx, proven)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(goodbye(ctx, err)) }()
	s := &session{Fleet: f, link: link, epoch: epoch, conn: conn, refused: make(chan string, 4),
		samples: make(chan batch, samplesWaiting)}
	welcome, err := s.greet(ctx)
	if err != nil {
		return err
	}
	err = f.Nodes.Met(ctx, link.Node.ID, hex(peer.Thumbprint), string(peer.Build),
		inventory(welcome.Inventory, welcome.At, time.Now()))
	if err != nil {
		return err
	}
	sent, err := s.sync(ctx, welcome)
	if err != nil {
		return err
	}
	told, err := s.tellPlugins(ctx, nil)
	if err != nil {
		return err
	}
	if err := f.Nodes.Online(ctx, link.Node.ID); err != nil {
		return err
	}
	f.Log.InfoContext(ctx, "node online", "node", link.Node.Name, "build", peer.Build)
	group, working := errgroup.WithContext(ctx)
	group.Go(func() error { return s.receive(working) })
	group.Go(func() error { return s.sendGoals(working, sent) })
	group.Go(func() error { return s.sendPlugins(working, told) })
	group.Go(func() error { return s.watchToken(working) })
	group.Go(func() error { return s.renew(working) })
	group.Go(func() error { return s.collectLogs(working) })
	group.Go(func() error { return s.storeSamples(working) })
	return group.Wait()
}

// greet waits for the agent's first message.
func (s *session) greet(ctx context.Context) (wire.Welcome, error) {
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

// sync tells the agent what we have of its reports, and all that should be.
// An agent that counts lower than we do has lost its memory.
func (s *session) sync(ctx context.Context, w wire.Welcome) (map[string]mark, error) {
	if err := s.recognize(ctx, w); err != nil {
		return nil, err
	}
	orders, last, err := s.Lifecycle.Orders(ctx, s.actor, s.link.Node.ID)
	if err != nil {
		return nil, err
	}
	if w.LastSeq < last {
		last = max(0, w.FirstSeq-1)
		if err := s.Lifecycle.ForgetReports(ctx, s.actor, s.link.Node.ID, last); err != nil {
			return nil, err
		}
	}
	if err := s.conn.Send(ctx, wire.Ack{Seq: last}); err != nil {
		return nil, err
	}
	return marks(orders), s.send(ctx, s.everything(orders))
}

func (s *session) send(ctx context.Context, all []wire.Goals) error {
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
		err := s.Lifecycle.Delivered(ctx, s.actor, begun(m.Goals))
		if err := s.mayFail(ctx, "delivery", err); err != nil {
			return err
		}
	}
	return nil
}

// begun are the runs that the goals ask the agent to do, or to go on with.
func begun(goals []wire.Goal) (runs []controlplane.RunID) {
	for _, g := range goals {
		if g.Want == wire.WantPresent && !g.Ready {
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

// sendGoals tells the agent what changed, whenever a row or the tick wakes it.
func (s *session) sendGoals(ctx context.Context, sent map[string]mark) error {
	wake := s.Listener.Subscribe("", controlplane.TopicDeployment)
	defer wake.Close()
	return s.every(ctx, wake.Wake, func() error {
		orders, _, err := s.Lifecycle.Orders(ctx, s.actor, s.link.Node.ID)
		if err != nil {
			// The database is away; the link is not, so it stays.
			s.Log.WarnContext(ctx, "goals could not be read", "error", err)
			return nil
		}
		changed := plan(orders, sent)
		sent = marks(orders)
		if news, err := s.decided(ctx); news && err == nil {
			return s.send(ctx, s.everything(orders))
		}
		return s.send(ctx, messages(changed, false))
	})
}

// sendPlugins keeps the agent's list of plugin images like the catalogue's.
func (s *session) sendPlugins(ctx context.Context, told []wire.PluginImage) error {
	wake := s.Listener.Subscribe("", controlplane.TopicCatalog)
	defer wake.Close()
	return s.every(ctx, wake.Wake, func() (err error) {
		told, err = s.tellPlugins(ctx, told)
		return err
	})
}

// tellPlugins sends the catalogue's list if it is another than what was told.
func (s *session) tellPlugins(
	ctx context.Context, told []wire.PluginImage,
) ([]wire.PluginImage, error) {
	images, err := s.Nodes.PluginImages(ctx)
	if err != nil {
		s.Log.WarnContext(ctx, "plugins could not be read", "error", err)
		return told, nil
	}
	now := pluginList(images)
	if told != nil && slices.Equal(now, told) {
		return told, nil
	}
	return now, s.conn.Send(ctx, wire.Plugins{Images: now})
}

// every calls do now, at each wake-up and at each tick, until it fails.
func (s *session) every(ctx context.Context, wake <-chan struct{}, do func() error) error {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		if err := do(); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-wake:
		case <-ticker.C:
		}
	}
}

// renew holds the lease; without it nothing may be said any more.
func (s *session) renew(ctx context.Context) error {
	ticker := time.NewTicker(renewEvery)
	defer ticker.Stop()
	good := time.Now()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-ticker.C:
		}
		began := time.Now()
		epoch, err := s.lease(ctx, good.Add(leaseFor-time.Second))
		switch {
		case err == nil && epoch == s.epoch:
			good = began
		case err == nil:
			return errElsewhere
		case time.Since(good) >= leaseFor-renewEvery:
			// The next try would come when somebody else may have it already.
			return fmt.Errorf("the lease could not be renewed: %w", err)
		}
	}
}

// lease renews, and gives up in time: a database that does not answer must not
// make us believe in a lease that is over.
func (s *session) lease(ctx context.Context, until time.Time) (int64, error) {
	ctx, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	return s.Nodes.Lease(ctx, s.link.Node.ID, s.Holder)
}
