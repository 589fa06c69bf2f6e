package fleet

import (
	"context"
	"time"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres"
)

const (
	// restPeriod is the longest time between two reports of vitals while a node rests.
	restPeriod = 60 * time.Second
	// watchFor is for how long an agent reports every measurement after somebody looked at its
	// node. Whoever keeps looking is announced again in the meantime.
	watchFor = 30 * time.Second
	// awaitEvery is how often nodes are looked for that a run waits for.
	awaitEvery = 10 * time.Second
)

// watchNodes has the agents of nodes report every measurement while somebody looks at them, or a
// run waits for room on them.
func (r *sessionSet) watchNodes(ctx context.Context) error {
	wake := r.Listener.SubscribeKeys(controlplane.TopicWatch)
	defer wake.Close()
	ticker := time.NewTicker(awaitEvery)
	defer ticker.Stop()
	for {
		awaited := true
		select {
		case <-ctx.Done():
			return nil
		case <-wake.Wake:
			// Lost keys come again: whoever looks, looks again.
			var keys []string
			keys, awaited = wake.TakeKeys()
			for _, key := range keys {
				r.scheduleWatch(controlplane.NodeID(key))
			}
		case <-ticker.C:
		}
		if awaited {
			r.watchAwaited(ctx)
		}
	}
}

// watchAwaited looks for nodes that a run waits for.
func (r *sessionSet) watchAwaited(ctx context.Context) {
	ids, err := r.Nodes.ListAwaited(ctx, r.Holder)
	if err != nil && ctx.Err() == nil {
		r.Log.WarnContext(ctx, "nodes that runs wait for could not be read", "error", err)
	}
	for _, id := range ids {
		r.scheduleWatch(id)
	}
}

// ListAwaited implements Nodes.
func (t NodeTable) ListAwaited(
	ctx context.Context, holder string,
) (ids []controlplane.NodeID, err error) {
	err = t.Store.Read(ctx, func(tx *postgres.Tx) error {
		ids, err = tx.NodeSessions().ListAwaited(ctx, holder)
		return err
	})
	return ids, err
}

func (r *sessionSet) scheduleWatch(id controlplane.NodeID) {
	if s := r.get(id); s != nil && s.rests {
		s.startTask(&s.watching, s.sendWatch, func() bool { return false })
	}
}

func (s *session) sendWatch(ctx context.Context) error {
	return s.conn.Send(ctx, wire.Watch{Seconds: int(watchFor.Seconds()),
		Rest: int(restPeriod.Seconds())})
}

// allowRest tells an agent that understands it that it may report less while its node rests.
func (s *session) allowRest(ctx context.Context) error {
	if !s.rests {
		return nil
	}
	return s.conn.Send(ctx, wire.Watch{Rest: int(restPeriod.Seconds())})
}
