package usage

import (
	"context"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres"
)

// watchAgain is how often it is announced that somebody still looks at a node. Pages ask every few
// seconds; sessions have agents report everything for longer than this.
const watchAgain = 10 * time.Second

// Watch notes that somebody looks at nodes now, so that their agents report every measurement for
// a while. It does not wait.
func (u *Usage) Watch(nodes ...controlplane.NodeID) {
	now := time.Now()
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, id := range nodes {
		if id == "" || now.Sub(u.watched[id]) < watchAgain {
			continue
		}
		u.watched[id] = now
		u.looked = append(u.looked, id)
	}
}

// announceWatched wakes the sessions of the nodes, which may be other processes'. One that is lost
// comes again with the next look.
func (u *Usage) announceWatched(ctx context.Context) error {
	now := time.Now()
	u.mu.Lock()
	looked := u.looked
	u.looked = nil
	for id, at := range u.watched {
		if now.Sub(at) >= watchAgain {
			delete(u.watched, id)
		}
	}
	u.mu.Unlock()
	if len(looked) == 0 {
		return nil
	}
	return u.store.InTx(ctx, func(tx *postgres.Tx) error {
		for _, id := range looked {
			tx.NotifyOnCommit(controlplane.TopicWatch, string(id))
		}
		return nil
	})
}
