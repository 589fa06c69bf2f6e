package fleet

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/controlplane"
)

// sessionSet holds the open sessions and queries the database for all of them at once:
// whether their leases are still ours, whether something changed for them, and which
// plugins exist. With ten thousand nodes these are a few queries a second instead of
// ten thousand.
type sessionSet struct {
	*Fleet

	mu       sync.Mutex
	sessions map[controlplane.NodeID]*session
	// digests holds, for each session, the digest for which it was last told to update its
	// agent; ofAll is the digest of what was read then. It is empty after a session was added: its
	// digest may be older than what was read.
	digests map[controlplane.NodeID]string
	ofAll   string
	plugins []wire.PluginImage
	// end is the audit chain's head that agents remember; nil while there is none.
	end *wire.AuditHead
}

func newSessionSet(f *Fleet) *sessionSet {
	return &sessionSet{Fleet: f, sessions: map[controlplane.NodeID]*session{},
		digests: map[controlplane.NodeID]string{}}
}

// add registers a session that was sent the settings with this digest.
func (r *sessionSet) add(s *session, digest string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sessions[s.link.Node.ID] = s
	r.digests[s.link.Node.ID] = digest
	r.ofAll = ""
}

func (r *sessionSet) removeSession(s *session) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.sessions[s.link.Node.ID] == s {
		delete(r.sessions, s.link.Node.ID)
		delete(r.digests, s.link.Node.ID)
	}
}

// list returns the open sessions, in no order.
func (r *sessionSet) list() []*session {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]*session, 0, len(r.sessions))
	for _, s := range r.sessions {
		all = append(all, s)
	}
	return all
}

func (r *sessionSet) get(id controlplane.NodeID) *session {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.sessions[id]
}

// run works until the context ends.
func (r *sessionSet) run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return r.renewAll(ctx) })
	group.Go(func() error { return r.forwardWakeUps(ctx) })
	group.Go(func() error { return r.compareAll(ctx) })
	group.Go(func() error { return r.watchPlugins(ctx) })
	group.Go(func() error { return r.broadcastAuditHead(ctx) })
	group.Go(func() error { return r.watchOffers(ctx) })
	group.Go(func() error { return r.watchNodes(ctx) })
	return group.Wait()
}

// forwardWakeUps hands wake-ups to the sessions that they are about.
func (r *sessionSet) forwardWakeUps(ctx context.Context) error {
	wake := r.Listener.SubscribeKeys(controlplane.TopicNode)
	defer wake.Close()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-wake.Wake:
		}
		keys, all := wake.TakeKeys()
		if all {
			for _, s := range r.list() {
				s.scheduleUpdate()
			}
			continue
		}
		for _, key := range keys {
			if s := r.get(controlplane.NodeID(key)); s != nil {
				s.scheduleUpdate()
			}
		}
	}
}

// compareAll makes up for lost notifications: it updates every session whose digest
// changed.
func (r *sessionSet) compareAll(ctx context.Context) error {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		changed, err := r.changedSessions(ctx)
		if err != nil {
			// The database is away; the links are not, so they stay.
			r.Log.WarnContext(ctx, "goals could not be read", "error", err)
			continue
		}
		for _, s := range changed {
			s.scheduleUpdate()
		}
	}
}

// changedSessions returns the sessions whose digest changed, and those with
// deployments that are left alone until a person decides or time passes.
func (r *sessionSet) changedSessions(ctx context.Context) (all []*session, err error) {
	r.mu.Lock()
	known := r.ofAll
	r.mu.Unlock()
	digests, ofAll, err := r.Nodes.Digests(ctx, r.Holder, known)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ofAll == known { // else a session was added meanwhile
		r.ofAll = ofAll
	}
	same := ofAll == known
	for id, s := range r.sessions {
		if s.hasHeld() || !same && r.digests[id] != digests[id] {
			all = append(all, s)
		}
	}
	if !same {
		for id := range r.sessions {
			r.digests[id] = digests[id]
		}
	}
	return all, nil
}

// watchPlugins reads the catalogue's plugin list, and updates all sessions when it
// changes.
func (r *sessionSet) watchPlugins(ctx context.Context) error {
	wake := r.Listener.Subscribe("", controlplane.TopicCatalog)
	defer wake.Close()
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		if changed, err := r.readPlugins(ctx); err != nil {
			r.Log.WarnContext(ctx, "plugins could not be read", "error", err)
		} else if changed {
			for _, s := range r.list() {
				s.scheduleUpdate()
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-wake.Wake:
		case <-ticker.C:
		}
	}
}

func (r *sessionSet) readPlugins(ctx context.Context) (changed bool, err error) {
	images, err := r.Nodes.PluginImages(ctx)
	if err != nil {
		return false, err
	}
	now := pluginList(images)
	r.mu.Lock()
	defer r.mu.Unlock()
	changed = r.plugins == nil || !slices.Equal(r.plugins, now)
	if changed {
		r.plugins = now
	}
	return changed, nil
}

// pluginImages returns the list that was read last; the first caller reads it.
func (r *sessionSet) pluginImages(ctx context.Context) ([]wire.PluginImage, error) {
	r.mu.Lock()
	known := r.plugins
	r.mu.Unlock()
	if known != nil {
		return known, nil
	}
	if _, err := r.readPlugins(ctx); err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.plugins, nil
}

// renewAll renews the leases; without its lease a session must not send anything.
func (r *sessionSet) renewAll(ctx context.Context) error {
	ticker := time.NewTicker(renewEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		r.renewOnce(ctx)
	}
}

func (r *sessionSet) renewOnce(ctx context.Context) {
	sessions := r.list()
	ids := make([]controlplane.NodeID, len(sessions))
	for i, s := range sessions {
		ids[i] = s.link.Node.ID
	}
	slices.Sort(ids)
	began := time.Now()
	// A database that does not answer must not make us believe in leases that
	// are over.
	asked, cancel := context.WithTimeout(ctx, renewEvery)
	lost, busy, err := r.Nodes.RenewLeases(asked, ids, r.Holder)
	cancel()
	if ctx.Err() != nil {
		return
	}
	for _, s := range sessions {
		switch id := s.link.Node.ID; {
		case err == nil && slices.Contains(lost, id):
			s.stop(errElsewhere)
		case err == nil && !slices.Contains(busy, id):
			s.recordRenewal(began)
		case s.sinceRenewed() >= leaseFor-renewEvery:
			// The next try would come too late: another control plane may have the lease by
			// then.
			s.stop(errors.Join(errors.New("the lease could not be renewed"), err))
		}
	}
}
