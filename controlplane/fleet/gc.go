package fleet

import (
	"context"
	"runtime/debug"
	"time"
)

const (
	// minSessions is how many new sessions make a collection worth its time.
	minSessions = 200
	// quietTime is how long no session must begin before the collector runs.
	quietTime = 10 * time.Second
	// collections is how often the collector runs in a row: each run halves stacks that grew for a
	// handshake and are no longer needed.
	collections = 3
)

// gcNudger returns memory to the operating system after thousands of sessions began at
// once. Idle sessions make little garbage, so the collector would not run for a long
// time by itself.
type gcNudger struct {
	begun int64
	since time.Time
	// collected is the value of begun at the last collection.
	collected int64
}

// collectGarbage checks on a tick until the context ends. It has a goroutine of its
// own because a collection may take a second.
func (f *Fleet) collectGarbage(ctx context.Context) error {
	ticker := time.NewTicker(quietTime / 5)
	defer ticker.Stop()
	var t gcNudger
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			t.observeTick(f.begun.Load(), time.Now())
		}
	}
}

// observeTick is called on each tick with the number of sessions that have begun so far.
func (t *gcNudger) observeTick(begun int64, now time.Time) {
	if begun != t.begun {
		t.begun, t.since = begun, now
		return
	}
	if begun-t.collected < minSessions || now.Sub(t.since) < quietTime {
		return
	}
	t.collected = begun
	for range collections {
		debug.FreeOSMemory()
	}
}
