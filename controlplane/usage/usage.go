// Package usage keeps what nodes and services really used: the last measurement
// of each node, which placement reads, and all of them over time, which people
// read.
//
// Nodes measure every few seconds, and there may be thousands: everything is
// gathered and written once a second, in one statement per table. A node's
// measurements are numbered, and how far they are stored is written with them:
// one that is sent again, since its answer was lost, never counts twice, and
// what was measured while the link was down is added where it belongs. A node at
// rest joins several that hardly differ, and their sum is one row.
//
// Each measurement is added to its minute and its hour at once, so that nothing
// has to be summed up later. Single ones are kept for two hours, minutes for two
// days, hours for three months. Where there are too many single ones to write,
// every second or third one is, evenly, and the minutes still have them all.
package usage

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres"
)

// flushEvery is how old a measurement gets before it is written. Placement
// reads them: it is short beside the five seconds between two of a node.
const flushEvery = time.Second

// Usage keeps measurements. Run writes them.
type Usage struct {
	store *postgres.Store
	log   *slog.Logger

	mu sync.Mutex
	// vitals are those not yet written, batches those not yet stored.
	vitals  map[controlplane.NodeID]controlplane.NodeVitals
	batches []*pending
	// watched is when it was last announced that somebody looks at a node; looked are the nodes
	// of which it is announced next.
	watched map[controlplane.NodeID]time.Time
	looked  []controlplane.NodeID

	// ledgerLook is of WriteLedger, which nobody calls twice at once.
	ledgerLook clockLook
}

// pending is a batch whose caller waits until it is stored.
type pending struct {
	node  controlplane.NodeID
	batch controlplane.UsageBatch
	// done gets exactly one answer; it has room for it.
	done chan error
}

// New makes a keeper on the store.
func New(store *postgres.Store, log *slog.Logger) *Usage {
	return &Usage{store: store, log: log,
		vitals:  map[controlplane.NodeID]controlplane.NodeVitals{},
		watched: map[controlplane.NodeID]time.Time{}}
}

// Run writes what was gathered until the context ends.
func (u *Usage) Run(ctx context.Context) error {
	ticker := time.NewTicker(flushEvery)
	defer ticker.Stop()
	failed := false
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-ticker.C:
		}
		err := u.Flush(ctx)
		if err != nil && ctx.Err() == nil && !failed {
			u.log.WarnContext(ctx, "measurements cannot be stored; nodes keep them for an hour",
				"error", err)
		}
		failed = err != nil
	}
}
