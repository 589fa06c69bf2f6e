package fleet

import (
	"context"
	"runtime/debug"
	"time"
)

const (
	// crowd is how many sessions have to begin for their garbage to matter.
	crowd = 200
	// calm is how long none begins when the crowd is in.
	calm = 10 * time.Second
	// tidied is how often the collector runs then: each time halves the stacks
	// that were needed for a handshake only.
	tidied = 3
)

// gcNudger returns memory to the operating system after thousands of sessions began at
// once. Idle sessions make little garbage, so the collector would not run for a long
// time by itself.
type gcNudger struct {
	begun int64
	since time.Time
	// done is how many had begun when it was tidy last.
	done int64
}

// collectGarbage checks on a tick until the context ends. It has a goroutine of its
// own because a collection may take a second.
func (f *Fleet) collectGarbage(ctx context.Context) error {
	ticker := time.NewTicker(calm / 5)
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
	if begun-t.done < crowd || now.Sub(t.since) < calm {
		return
	}
	t.done = begun
	for range tidied {
		debug.FreeOSMemory()
	}
}
