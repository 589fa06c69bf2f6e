package docker

import (
	"context"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/moby/moby/client"

	"github.com/nullops/nullops/internal/wait"
)

const (
	changesFirst = 200 * time.Millisecond
	changesMax   = 5 * time.Second
)

// events follows the engine's events.
type events struct {
	*engine
	// lives counts connections to the engine's events.
	lives atomic.Int64
}

// WatchChanges sends a hint on every event of this installation and on every connection, the
// first one too: the engine does not repeat events from before it.
func (ev *events) WatchChanges(ctx context.Context) <-chan struct{} {
	hints := make(chan struct{}, 1)
	go func() {
		defer close(hints)
		backoff := changesFirst
		for ctx.Err() == nil {
			if ev.watchEvents(ctx, hints) {
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

// watchEvents returns when the event stream ends, and reports whether it delivered any
// event.
func (ev *events) watchEvents(ctx context.Context, hints chan<- struct{}) bool {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ev.lives.Add(1)
	stream := ev.api.Events(ctx, client.EventsListOptions{Filters: ev.names.ownFilter("")})
	sendHint(hints)
	good := false
	for {
		select {
		case <-stream.Messages:
			good = true
			sendHint(hints)
		case err := <-stream.Err:
			if ctx.Err() == nil {
				ev.log.Debug("events of the engine ended", "error", err)
			}
			return good
		}
	}
}

// CountRestarts counts connections to the engine's events: an event stream that ends indicates a
// restart.
func (ev *events) CountRestarts() int64 { return ev.lives.Load() }

func sendHint(hints chan<- struct{}) {
	select {
	case hints <- struct{}{}:
	default:
	}
}
