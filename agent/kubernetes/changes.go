package kubernetes

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/nullops/nullops/internal/wait"
)

const (
	changesFirst = 200 * time.Millisecond
	changesMax   = 5 * time.Second
)

// changes follows the pods of the installation.
type changes struct{ *base }

// WatchChanges sends a hint on every change of a pod, and on every new watch: changes before it are
// not repeated.
func (ch *changes) WatchChanges(ctx context.Context) <-chan struct{} {
	hints := make(chan struct{}, 1)
	go func() {
		defer close(hints)
		backoff := changesFirst
		for ctx.Err() == nil {
			if ch.watchPods(ctx, hints) {
				backoff = changesFirst
			}
			if wait.Sleep(ctx, backoff/2+rand.N(backoff)) != nil {
				return
			}
			backoff = min(2*backoff, changesMax)
		}
	}()
	return hints
}

// watchPods reports whether a watch was opened. The API server ends each after some minutes.
func (ch *changes) watchPods(ctx context.Context, hints chan<- struct{}) bool {
	w, err := ch.pods.watch(ctx, ch.names.ownSelector())
	if err != nil {
		ch.log.DebugContext(ctx, "watch pods", "error", err)
		return false
	}
	defer w.Stop()
	sendHint(hints)
	for range w.ResultChan() {
		sendHint(hints)
	}
	return true
}

func sendHint(hints chan<- struct{}) {
	select {
	case hints <- struct{}{}:
	default:
	}
}
