package acme

import (
	"context"
	"sync"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres"
)

// atOnce bounds the orders that are under way: few enough that those of two
// replicas do not pass a domain's limit together, see mostPerWeek.
const atOnce = 4

// workers order one after the other within an environment, and at the same time
// for several: one whose name server is slow does not hold up the others.
type workers struct {
	*Orders
	turn    chan struct{} // has room for the orders that may be under way
	running sync.WaitGroup

	mu sync.Mutex
	// busy has the environments with a worker; true is to look once more.
	busy map[controlplane.EnvironmentID]bool
}

func newWorkers(o *Orders) *workers {
	return &workers{Orders: o, turn: make(chan struct{}, atOnce),
		busy: map[controlplane.EnvironmentID]bool{}}
}

// start sees to it that what is due in an environment is ordered.
func (w *workers) start(ctx context.Context, z controlplane.ACMEZone) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, ok := w.busy[z.Environment]; ok {
		w.busy[z.Environment] = true
		return
	}
	w.busy[z.Environment] = false
	w.running.Go(func() {
		for again := true; again; again = w.again(z.Environment) {
			if err := w.orderAll(ctx, z); err != nil && ctx.Err() == nil {
				w.Log.WarnContext(ctx, "certificates not ordered, trying again",
					"environment", z.Name, "error", err)
			}
		}
	})
}

// again says whether something became due since a worker began to look, and
// otherwise lets go of the environment.
func (w *workers) again(id controlplane.EnvironmentID) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.busy[id] {
		w.busy[id] = false
		return true
	}
	delete(w.busy, id)
	return false
}

// orderAll orders until nothing is due. Each order waits for its turn anew, so
// that an environment with many does not keep one.
func (w *workers) orderAll(ctx context.Context, z controlplane.ACMEZone) error {
	for {
		more, err := w.orderNext(ctx, z)
		if err != nil || !more {
			return err
		}
	}
}

func (w *workers) orderNext(ctx context.Context, z controlplane.ACMEZone) (more bool, err error) {
	select {
	case <-ctx.Done():
		return false, nil
	case w.turn <- struct{}{}:
	}
	defer func() { <-w.turn }()
	var c controlplane.ACMECertificate
	now := w.Now()
	err = w.Store.InTx(ctx, func(tx *postgres.Tx) (err error) {
		c, more, err = tx.ClaimACME(ctx, z.Environment, now, now.Add(claimLife))
		return err
	})
	if err != nil || !more {
		return false, err
	}
	return true, w.attempt(ctx, z, c)
}
