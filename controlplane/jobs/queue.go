package jobs

import (
	"context"
	"log/slog"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/lifecycle"
	"github.com/nullops/nullops/controlplane/postgres"
)

const (
	// admitEvery is how soon a lost wake-up is made up for, and how late a
	// deadline may be noticed.
	admitEvery = 2 * time.Second
	// admitRest bounds how often a busy fleet makes us look.
	admitRest = 100 * time.Millisecond
)

// Queue starts queued runs whenever something changed that they may have waited for.
// Every control plane does this; row locks make sure that each run starts once. If the
// database clock jumps, deadlines are suspended for a day.
func Queue(ctx context.Context, deployments *lifecycle.Lifecycle, store *postgres.Store,
	listener *postgres.Listener, log *slog.Logger) error {
	wake := listener.Subscribe("", controlplane.TopicDeployment, controlplane.TopicNode,
		controlplane.TopicCatalog)
	defer wake.Close()
	ticker := time.NewTicker(admitEvery)
	defer ticker.Stop()
	var clock JumpDetector
	for {
		if err := admitQueued(ctx, deployments, store, &clock, log); err != nil && ctx.Err() == nil {
			log.WarnContext(ctx, "the queue could not be looked at", "error", err)
		}
		rest := time.NewTimer(admitRest)
		select {
		case <-ctx.Done():
			rest.Stop()
			return nil
		case <-rest.C:
		}
		select {
		case <-ctx.Done():
			return nil
		case <-wake.Wake:
		case <-ticker.C:
		}
	}
}

func admitQueued(ctx context.Context, deployments *lifecycle.Lifecycle, store *postgres.Store,
	clock *JumpDetector, log *slog.Logger) error {
	var wall time.Time
	err := store.Read(ctx, func(tx *postgres.Tx) (err error) {
		wall, err = tx.DatabaseTime(ctx)
		return err
	})
	if err != nil {
		return err
	}
	jump, rests := clock.Compare(wall, time.Now())
	if rests {
		log.DebugContext(ctx, "the database's clock was set: no deadline counts", "skew", jump)
	}
	return deployments.AdmitQueuedRuns(ctx, access.System("queue"), !rests)
}
