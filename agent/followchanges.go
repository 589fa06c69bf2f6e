package agent

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

// FollowChanges is WatchChanges for a Runtime whose engine has a stream of events. watch follows
// one stream, sends a hint for each event and one when the stream opens, since what happened before
// is not repeated, and reports whether the engine sent anything.
func FollowChanges(
	ctx context.Context, watch func(ctx context.Context, sendHint func()) (good bool),
) <-chan struct{} {
	hints := make(chan struct{}, 1)
	sendHint := func() {
		select {
		case hints <- struct{}{}:
		default:
		}
	}
	go func() {
		defer close(hints)
		backoff := changesFirst
		for ctx.Err() == nil {
			if watch(ctx, sendHint) {
				backoff = changesFirst
			}
			jittered := backoff/2 + rand.N(backoff)
			if wait.Sleep(ctx, jittered) != nil {
				return
			}
			backoff = min(2*backoff, changesMax)
		}
	}()
	return hints
}
