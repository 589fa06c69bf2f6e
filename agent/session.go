package agent

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/nullops/nullops/agent/wire"
)

// progressEvery is how often signs of life are sent, at most.
const progressEvery = time.Second

// serveSession serves the persistent connection of the control plane. The newest session
// wins: an older one may stay half-open for a while, and its commands must be ignored.
func (a *Agent) serveSession(ctx context.Context, w http.ResponseWriter, r *http.Request) {
	s, err := wire.ServeSession(w, r)
	if err != nil {
		a.log.Warn("session refused", "error", err)
		return
	}
	a.mu.Lock()
	older := a.session
	a.session = s
	a.mu.Unlock()
	if older != nil {
		go func() { _ = older.Close(wire.CodeReplaced, "a newer session took over") }()
	}
	peer, _ := wire.PeerFrom(r.Context())
	a.log.Info("session begins", "node", peer.NodeID, "kid", peer.Kid, "epoch", peer.Epoch)
	err = a.runSession(ctx, s, peer.Epoch)
	a.mu.Lock()
	if a.session == s {
		a.session = nil
	}
	a.mu.Unlock()
	a.log.Info("session ended", "node", peer.NodeID, "reason", err)
}

// runSession runs until the session or the agent ends.
func (a *Agent) runSession(ctx context.Context, s *wire.AgentSession, epoch uint64) error {
	defer func() { _ = s.Close(wire.CodeGone, "the agent ends the session") }()
	welcome, version := a.buildWelcome(ctx)
	if err := s.Send(ctx, welcome); err != nil {
		return err
	}
	out := &sender{agent: a, session: s, from: make(chan int64, 64),
		asked: map[string]sentRequest{}, inventory: version}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return a.receiveCommands(ctx, s, out, epoch) })
	group.Go(func() error { return out.run(ctx) })
	a.requestListing()
	return group.Wait()
}

// buildWelcome describes this agent and node. Facts that the engine cannot provide now are left
// out.
func (a *Agent) buildWelcome(ctx context.Context) (w wire.Welcome, version int64) {
	first, last, _ := a.store.seqNumbers()
	w = wire.Welcome{Build: string(a.config.Build), FirstSeq: first, LastSeq: last,
		Acked: a.store.lastConfirmed()}
	asked, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	w.Inventory, version = a.inspectNode(asked)
	w.At, w.Lines, w.Audit = time.Now(), len(a.logs.nextBatch()) > 0, a.state.auditHeads()
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, id := range sortedKeys(a.views) {
		w.Deployments = append(w.Deployments, a.views[id].state)
	}
	return w, version
}

// receiveCommands executes commands until the session ends. It refuses them from a control
// plane that has lost its lease, which shows in a newer epoch on any connection, even a
// tunnel.
func (a *Agent) receiveCommands(
	ctx context.Context, s *wire.AgentSession, out *sender, epoch uint64,
) error {
	for {
		c, err := s.Receive(ctx)
		if err != nil {
			return err
		}
		if epoch < a.state.highestEpoch() {
			_ = s.Close(wire.CodeStaleEpoch, wire.ErrStaleEpoch.Error())
			return fmt.Errorf("%T refused: %w", c, wire.ErrStaleEpoch)
		}
		if err := a.handleCommand(ctx, s, c, out); err != nil {
			return err
		}
	}
}

func (a *Agent) handleCommand(
	ctx context.Context, s *wire.AgentSession, c wire.Command, out *sender,
) error {
	switch c := c.(type) {
	case wire.Goals:
		a.postIfCurrent(s, func() { a.inbox.addTask(func(now time.Time) { a.takeGoals(now, c) }) })
		out.offerResumePoint(-1)
		return a.config.Failpoint.Hit("goals.received")
	case wire.Secrets:
		a.postIfCurrent(s, func() { a.inbox.addTask(func(now time.Time) { a.takeSecrets(now, c) }) })
		return a.config.Failpoint.Hit("secrets.received")
	case wire.Ack:
		a.postIfCurrent(s, func() { a.inbox.addTask(func(time.Time) { a.takeAck(c.Seq) }) })
		out.offerResumePoint(c.Seq)
		return a.config.Failpoint.Hit("report.acked")
	case wire.Stored:
		a.record.dropStored(c)
		return nil
	case wire.Plugins:
		a.queuePlugins(c.Images)
		return nil
	case wire.Registries:
		a.ahead.deliverAuths(c)
		return nil
	case wire.Keep:
		a.images.addKeepList(c)
		return nil
	case wire.Witness:
		a.queueHead(c.Head)
		return nil
	case wire.RefuseToken:
		return a.refuseToken(ctx, s, c.Kid)
	}
	return nil
}

// queuePlugins leaves the newest list to storePlugins: a session never waits for
// the disk.
func (a *Agent) queuePlugins(images []wire.PluginImage) {
	a.mu.Lock()
	defer a.mu.Unlock()
	select {
	case <-a.pluginList:
	default:
	}
	a.pluginList <- images
}

func (a *Agent) storePlugins(ctx context.Context) error {
	for {
		select {
		case images := <-a.pluginList:
			if err := a.state.setPlugins(images); err != nil {
				a.log.Error("the plugin list cannot be stored", "error", err)
			}
			a.ahead.requestRound()
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// postIfCurrent calls post unless the session has been overtaken by a newer one. The lock
// ensures that nothing of an older session is posted after something of the newer one.
func (a *Agent) postIfCurrent(s *wire.AgentSession, post func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.session == s {
		post()
	}
}

// takeAck notes what the control plane has. It runs in the loop.
func (a *Agent) takeAck(seq int64) {
	if e, changed := a.store.ackEntry(seq); changed {
		a.batch = append(a.batch, e)
	}
}

// refuseToken is on disk before it is answered, and answered before every
// connection of that token is cut, perhaps this one too.
func (a *Agent) refuseToken(ctx context.Context, s *wire.AgentSession, kid string) error {
	if err := a.state.refuseToken(kid); err != nil {
		a.log.Error("the token's refusal cannot be stored", "kid", kid, "error", err)
		return nil
	}
	err := s.Send(ctx, wire.TokenRefused{Kid: kid})
	if own, _ := a.state.tokenStatus(); own == kid {
		closeRevoked(s, kid)
	}
	n := a.listener.CloseMatching(func(p wire.Peer) bool { return p.Kid == kid })
	a.log.Info("token refused from now on", "kid", kid, "connections", n)
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
	agent   *Agent
	session *wire.AgentSession
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
}

// offerResumePoint tells the sender up to which report the control plane has stored them.
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
		more := o.agent.report.nextSignal()
		if err := o.sendEvents(ctx); err != nil {
			return err
		}
		select {
		case <-more:
		case seq := <-o.from:
			o.resumeAfter(seq)
		case <-tick.C:
			err := errors.Join(o.sendProgress(ctx), o.sendInventory(ctx), o.sendSamples(ctx))
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
		_, _, seq = o.agent.store.seqNumbers()
	}
	o.sent = seq
}

// sendEvents sends all events there are, and asks for secrets.
func (o *sender) sendEvents(ctx context.Context) error {
	for o.started {
		events := o.agent.store.eventsAfter(o.sent, 64)
		if len(events) == 0 {
			break
		}
		for _, e := range events {
			if err := o.session.Send(ctx, e); err != nil {
				return err
			}
			o.sent = e.Seq
			if err := o.agent.config.Failpoint.Hit("report.sent"); err != nil {
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
	hosts := o.agent.ahead.takeHosts()
	if len(hosts) == 0 {
		return nil
	}
	return o.session.Send(ctx, wire.RegistriesWanted{Hosts: hosts})
}

func (o *sender) askSecrets(ctx context.Context) error {
	now := time.Now()
	o.agent.mu.Lock()
	var ask []wire.SecretsWanted
	for _, id := range sortedKeys(o.agent.wanted) {
		q := o.asked[id]
		if w := o.agent.wanted[id]; q.request != w || now.Sub(q.at) > requestInterval {
			o.asked[id] = sentRequest{w, now}
			ask = append(ask, w.SecretsWanted)
		}
	}
	for id := range o.asked {
		if _, ok := o.agent.wanted[id]; !ok {
			// It was answered: a later request, even for the same run, is sent at once.
			delete(o.asked, id)
		}
	}
	o.agent.mu.Unlock()
	for _, w := range ask {
		if err := o.session.Send(ctx, w); err != nil {
			return err
		}
	}
	return nil
}

// sendProgress sends progress and vitals, which may be lost without harm.
func (o *sender) sendProgress(ctx context.Context) error {
	o.agent.mu.Lock()
	var reports []wire.Report
	for key, p := range o.agent.progress {
		if p.news {
			reports = append(reports, p.Progress)
			p.news = false
		}
		if _, known := o.agent.views[key.owner]; !known {
			delete(o.agent.progress, key)
		}
	}
	if v := o.agent.vitals; v != nil {
		reports = append(reports, *v)
		o.agent.vitals = nil
	}
	o.agent.mu.Unlock()
	for _, r := range reports {
		if err := o.session.Send(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

// sendInventory sends the node's inventory if it has changed since it was last sent.
func (o *sender) sendInventory(ctx context.Context) error {
	o.agent.mu.Lock()
	now := o.agent.inventory
	o.agent.mu.Unlock()
	if now.version == o.inventory {
		return nil
	}
	o.inventory = now.version
	return o.session.Send(ctx, wire.InventoryChanged{At: time.Now(), Inventory: now.seen})
}

// sendSamples sends samples that are not stored yet, one message at a time: the next is
// sent when the last was acknowledged. Without an acknowledgement, for example while the
// database is down, it sends the same samples again; the control plane drops duplicates by
// their numbers.
func (o *sender) sendSamples(ctx context.Context) error {
	now := time.Now()
	if !o.agent.record.isStored(o.samples) && now.Sub(o.sampled) < samplesAgain {
		return nil
	}
	batch := o.agent.record.nextBatch(now)
	if len(batch.Items) == 0 {
		return nil
	}
	o.samples, o.sampled = batch.Items[len(batch.Items)-1].Number, now
	return o.session.Send(ctx, batch)
}
