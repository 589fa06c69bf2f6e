package agent

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/nullops/nullops/agent/wire"
)

// progressEvery is how often signs of life are sent, at most.
const progressEvery = time.Second

// sessions serves the control plane's persistent connection.
type sessions struct {
	*base
	loop      *loop
	node      *nodeInventory
	lister    *lister
	requests  *secretRequests
	prefetch  *pluginPrefetch
	measuring *measuring
	listener  *wire.Listener
	// pluginList holds the newest list that is not stored yet.
	pluginList chan []wire.PluginImage
	// witnessed holds the audit's newest end that is not stored yet.
	witnessed chan wire.AuditHead
	mu        sync.Mutex
	session   *wire.AgentSession
}

// serveSession serves the persistent connection of the control plane. The newest session
// wins: an older one may stay half-open for a while, and its commands must be ignored.
func (ss *sessions) serveSession(ctx context.Context, w http.ResponseWriter, r *http.Request) {
	s, err := wire.ServeSession(w, r)
	if err != nil {
		ss.log.Warn("session refused", "error", err)
		return
	}
	ss.mu.Lock()
	older := ss.session
	ss.session = s
	ss.mu.Unlock()
	if older != nil {
		go func() { _ = older.Close(wire.CodeReplaced, "a newer session took over") }()
	}
	peer, _ := wire.PeerFrom(r.Context())
	ss.log.Info("session begins", "node_id", peer.NodeID, "kid", peer.Kid, "epoch", peer.Epoch)
	err = ss.runSession(ctx, s, peer.Epoch)
	ss.mu.Lock()
	if ss.session == s {
		ss.session = nil
	}
	ss.mu.Unlock()
	ss.log.Info("session ended", "node_id", peer.NodeID, "error", err)
}

// runSession runs until the session or the agent ends.
func (ss *sessions) runSession(ctx context.Context, s *wire.AgentSession, epoch uint64) error {
	defer func() { _ = s.Close(wire.CodeGone, "the agent ends the session") }()
	welcome, version := ss.buildWelcome(ctx)
	if err := s.Send(ctx, welcome); err != nil {
		return err
	}
	out := &sender{sessions: ss, session: s, from: make(chan int64, 64),
		asked: map[string]sentRequest{}, inventory: version,
		offers: make(chan receivedOffer, offersWaiting)}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return ss.receiveCommands(ctx, s, out, epoch) })
	group.Go(func() error { return out.run(ctx) })
	group.Go(func() error { return out.answerOffers(ctx) })
	ss.lister.requestListing()
	return group.Wait()
}

// buildWelcome describes this agent and node. Facts that the engine cannot provide now are left
// out.
func (ss *sessions) buildWelcome(ctx context.Context) (w wire.Welcome, version int64) {
	first, last, _ := ss.store.seqNumbers()
	w = wire.Welcome{Build: string(ss.config.Build), FirstSeq: first, LastSeq: last,
		Acked: ss.store.lastConfirmed(), TunnelAccess: true,
		Offers: true, Rests: true}
	asked, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	w.Inventory, version = ss.node.inspectNode(asked)
	w.At, w.Lines, w.Audit = time.Now(), len(ss.logs.nextBatch()) > 0, ss.state.auditHeads()
	ss.board.mu.Lock()
	defer ss.board.mu.Unlock()
	for _, id := range sortedKeys(ss.views) {
		w.Deployments = append(w.Deployments, ss.views[id].state)
	}
	return w, version
}

// receiveCommands executes commands until the session ends. It refuses them from a control
// plane that has lost its lease, which shows in a newer epoch on any connection, even a
// tunnel.
func (ss *sessions) receiveCommands(
	ctx context.Context, s *wire.AgentSession, out *sender, epoch uint64,
) error {
	for {
		c, err := s.Receive(ctx)
		if err != nil {
			return err
		}
		if epoch < ss.state.highestEpoch() {
			_ = s.Close(wire.CodeStaleEpoch, wire.ErrStaleEpoch.Error())
			return fmt.Errorf("%T refused: %w", c, wire.ErrStaleEpoch)
		}
		if err := ss.handleCommand(ctx, s, c, out); err != nil {
			return err
		}
	}
}

func (ss *sessions) handleCommand(
	ctx context.Context, s *wire.AgentSession, c wire.Command, out *sender,
) error {
	switch c := c.(type) {
	case wire.Goals:
		ss.postIfCurrent(s, func(now time.Time) { ss.loop.takeGoals(now, c) })
		out.offerResumePoint(-1)
		return ss.config.Failpoint.Hit("goals.received")
	case wire.Secrets:
		ss.postIfCurrent(s, func(now time.Time) { ss.loop.takeSecrets(now, c) })
		return ss.config.Failpoint.Hit("secrets.received")
	case wire.Ack:
		ss.postIfCurrent(s, func(time.Time) { ss.loop.takeAck(c.Seq) })
		out.offerResumePoint(c.Seq)
		return ss.config.Failpoint.Hit("report.acked")
	case wire.Stored:
		ss.measuring.record.dropStored(c)
		return nil
	case wire.Plugins:
		ss.queuePlugins(c.Images)
		return nil
	case wire.Registries:
		ss.prefetch.ahead.deliverAuths(c)
		return nil
	case wire.Keep:
		ss.images.addKeepList(c)
		return nil
	case wire.Witness:
		ss.queueHead(c.Head)
		return nil
	case wire.TunnelAccess:
		ss.setTunnelAccess(c)
		return nil
	case wire.Offer:
		return out.queueOffer(ctx, c)
	case wire.Watch:
		out.pace.takeWatch(time.Now(), c)
		return nil
	case wire.RefuseToken:
		return ss.refuseToken(ctx, s, c.Kid)
	}
	return nil
}

// queuePlugins leaves the newest list to storePlugins: a session never waits for
// the disk.
func (ss *sessions) queuePlugins(images []wire.PluginImage) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	select {
	case <-ss.pluginList:
	default:
	}
	ss.pluginList <- images
}

func (ss *sessions) storePlugins(ctx context.Context) error {
	for {
		select {
		case images := <-ss.pluginList:
			if err := ss.state.setPlugins(images); err != nil {
				ss.log.Error("the plugin list cannot be stored", "error", err)
			}
			ss.prefetch.ahead.requestRound()
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// postIfCurrent leaves a task to the loop unless the session has been overtaken by a newer one. The
// lock ensures that nothing of an older session is posted after something of the newer one.
func (ss *sessions) postIfCurrent(s *wire.AgentSession, task func(now time.Time)) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	if ss.session == s {
		ss.inbox.addTask(task)
	}
}

// refuseToken is on disk before it is answered, and answered before every
// connection of that token is cut, perhaps this one too.
func (ss *sessions) refuseToken(ctx context.Context, s *wire.AgentSession, kid string) error {
	if err := ss.state.refuseToken(kid); err != nil {
		ss.log.Error("the token's refusal cannot be stored", "kid", kid, "error", err)
		return nil
	}
	err := s.Send(ctx, wire.TokenRefused{Kid: kid})
	if own, _ := ss.state.tokenStatus(); own == kid {
		closeRevoked(s, kid)
	}
	n := ss.listener.CloseMatching(func(p wire.Peer) bool { return p.Kid == kid })
	ss.log.Info("token refused from now on", "kid", kid, "connections", n)
	return err
}

// closeRevoked closes a session because its token was revoked. The peer may be an attacker with the
// stolen token, so the close handshake gets half a second only.
func closeRevoked(s *wire.AgentSession, kid string) {
	said := make(chan struct{})
	go func() {
		defer close(said)
		_ = s.Close(wire.CodeRevoked, "token "+kid+" was rotated or revoked")
	}()
	select {
	case <-said:
	case <-time.After(500 * time.Millisecond):
	}
}

// requestInterval is how soon an unanswered request is sent again: a control plane without
// its database does not answer.
const requestInterval = 5 * time.Second

// sentRequest is the last request for a run's secrets, and when it was sent.
type sentRequest struct {
	request secretsRequest
	at      time.Time
}

// sender is the session's only source of reports after the welcome.
type sender struct {
	sessions *sessions
	session  *wire.AgentSession
	// from receives the number of the last report that the control plane has stored; the first
	// value starts the sending of events. -1 means that it did not say.
	from    chan int64
	asked   map[string]sentRequest
	started bool
	sent    int64
	// inventory is the version that was sent last, samples the number of the last sample that
	// was sent, at that time.
	inventory int64
	samples   int64
	sampled   time.Time
	// offers wait for a decision of the site.
	offers chan receivedOffer
	pace   vitalsPace
}

// offerResumePoint passes to the sender up to which report the control plane has stored them.
// It never blocks: only the first value counts.
func (o *sender) offerResumePoint(seq int64) {
	select {
	case o.from <- seq:
	default:
	}
}

func (o *sender) run(ctx context.Context) error {
	tick := time.NewTicker(progressEvery)
	defer tick.Stop()
	for {
		more := o.sessions.report.nextSignal()
		if err := o.sendEvents(ctx); err != nil {
			return err
		}
		select {
		case <-more:
		case seq := <-o.from:
			o.resumeAfter(seq)
		case <-tick.C:
			err := errors.Join(o.sendProgress(ctx), o.sendInventory(ctx), o.sendVitals(ctx),
				o.sendSamples(ctx))
			if err != nil {
				return err
			}
		case <-o.session.Done():
			return o.session.Err()
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// resumeAfter resumes from what the control plane has committed; it may be less than
// it once acknowledged, if it was restored from a backup.
func (o *sender) resumeAfter(seq int64) {
	if o.started {
		return
	}
	o.started = true
	if seq < 0 {
		_, _, seq = o.sessions.store.seqNumbers()
	}
	o.sent = seq
}

// sendEvents sends all events there are, and asks for secrets.
func (o *sender) sendEvents(ctx context.Context) error {
	for o.started {
		events := o.sessions.store.eventsAfter(o.sent, 64)
		if len(events) == 0 {
			break
		}
		for _, e := range events {
			if err := o.session.Send(ctx, e); err != nil {
				return err
			}
			o.sent = e.Seq
			if err := o.sessions.config.Failpoint.Hit("report.sent"); err != nil {
				return err
			}
		}
	}
	if err := o.askSecrets(ctx); err != nil {
		return err
	}
	return o.askRegistries(ctx)
}

// askRegistries requests the credentials of the registries that a prepull needs. Each request is
// sent once: without an answer that prepull waits, and the next session requests them again.
func (o *sender) askRegistries(ctx context.Context) error {
	hosts := o.sessions.prefetch.ahead.takeHosts()
	if len(hosts) == 0 {
		return nil
	}
	return o.session.Send(ctx, wire.RegistriesWanted{Hosts: hosts})
}

func (o *sender) askSecrets(ctx context.Context) error {
	now := time.Now()
	o.sessions.requests.mu.Lock()
	var ask []wire.SecretsWanted
	for _, id := range sortedKeys(o.sessions.requests.wanted) {
		q := o.asked[id]
		if w := o.sessions.requests.wanted[id]; q.request != w || now.Sub(q.at) > requestInterval {
			o.asked[id] = sentRequest{w, now}
			ask = append(ask, w.SecretsWanted)
		}
	}
	for id := range o.asked {
		if _, ok := o.sessions.requests.wanted[id]; !ok {
			// It was answered: a later request, even for the same run, is sent at once.
			delete(o.asked, id)
		}
	}
	o.sessions.requests.mu.Unlock()
	for _, w := range ask {
		if err := o.session.Send(ctx, w); err != nil {
			return err
		}
	}
	return nil
}

// sendProgress sends progress, which may be lost without harm.
func (o *sender) sendProgress(ctx context.Context) error {
	o.sessions.board.mu.Lock()
	var reports []wire.Report
	for key, p := range o.sessions.progress {
		if p.news {
			reports = append(reports, p.Progress)
			p.news = false
		}
		if _, known := o.sessions.views[key.owner]; !known {
			delete(o.sessions.progress, key)
		}
	}
	o.sessions.board.mu.Unlock()
	for _, r := range reports {
		if err := o.session.Send(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

// sendInventory sends the node's inventory if it has changed since it was last sent.
func (o *sender) sendInventory(ctx context.Context) error {
	o.sessions.node.mu.Lock()
	now := o.sessions.node.inventory
	o.sessions.node.mu.Unlock()
	if now.version == o.inventory {
		return nil
	}
	o.inventory = now.version
	return o.session.Send(ctx, wire.InventoryChanged{At: time.Now(), Inventory: now.seen})
}
