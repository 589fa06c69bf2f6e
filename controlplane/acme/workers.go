package acme

import (
	"context"
	"sync"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres"
)

// atOnce bounds the concurrent orders at one authority: few enough that those of two replicas do
// not exceed a domain's limit together, see mostPerWeek.
const atOnce = 4

// workers run orders of one environment one after the other, and those of several
// environments in parallel, so that a slow name server or authority delays no other
// environment.
type workers struct {
	*Orderer
	running sync.WaitGroup

	mu sync.Mutex
	// busy has the running workers; true means to check once more afterwards.
	busy map[orderer]bool
	// turns has a slot for each order that may run, by directory.
	turns map[string]chan struct{}
}

// orderer is an environment and the directory it orders from: moved to another
// one, it does not wait for its turn at the old.
type orderer struct {
	environment controlplane.EnvironmentID
	directory   string
}

func newWorkers(o *Orderer) *workers {
	return &workers{Orderer: o, busy: map[orderer]bool{}, turns: map[string]chan struct{}{}}
}

// startWorker starts ordering what is due in an environment, unless that runs already.
func (w *workers) startWorker(ctx context.Context, z controlplane.ACMEZone) {
	w.mu.Lock()
	defer w.mu.Unlock()
	who := orderer{z.Environment, z.Directory}
	if _, ok := w.busy[who]; ok {
		w.busy[who] = true
		return
	}
	w.busy[who] = false
	turn, ok := w.turns[z.Directory]
	if !ok {
		turn = make(chan struct{}, atOnce)
		w.turns[z.Directory] = turn
	}
	w.running.Go(func() {
		for again := true; again; again = w.hasMoreWork(who) {
			if err := w.orderAll(ctx, z, turn); err != nil && ctx.Err() == nil {
				w.Log.WarnContext(ctx, "certificates not ordered, trying again",
					"environment", z.Name, "error", err)
			}
		}
	})
}

// hasMoreWork reports whether something became due since the worker began to check; if
// not, it removes the worker.
func (w *workers) hasMoreWork(who orderer) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.busy[who] {
		w.busy[who] = false
		return true
	}
	delete(w.busy, who)
	return false
}

// orderAll orders until nothing is due. Each order waits for a new turn, so that an environment
// with many does not block others.
func (w *workers) orderAll(
	ctx context.Context, z controlplane.ACMEZone, turn chan struct{},
) error {
	for {
		more, err := w.orderNext(ctx, z, turn)
		if err != nil || !more {
			return err
		}
	}
}

func (w *workers) orderNext(
	ctx context.Context, z controlplane.ACMEZone, turn chan struct{},
) (more bool, err error) {
	select {
	case <-ctx.Done():
		return false, nil
	case turn <- struct{}{}:
	}
	defer func() { <-turn }()
	var c controlplane.ACMECertificate
	now := w.Now()
	err = w.Store.InTx(ctx, func(tx *postgres.Tx) (err error) {
		c, more, err = tx.ACME().ClaimCertificate(ctx, z.Environment, now, now.Add(claimLife))
		return err
	})
	if err != nil || !more {
		return false, err
	}
	return true, w.attemptOrder(ctx, z, c)
}
