package docker

import (
	"context"
	"sync/atomic"

	"github.com/moby/moby/client"

	"github.com/nullops/nullops/agent"
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
	return agent.FollowChanges(ctx, ev.watchEvents)
}

// watchEvents returns when the event stream ends, and reports whether it delivered any
// event.
func (ev *events) watchEvents(ctx context.Context, sendHint func()) bool {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ev.lives.Add(1)
	stream := ev.api.Events(ctx, client.EventsListOptions{Filters: ev.names.ownFilter("")})
	sendHint()
	good := false
	for {
		select {
		case <-stream.Messages:
			good = true
			sendHint()
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
