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

// tidier gives the memory back that thousands of sessions took for a moment when
// they began. The collector by itself would not run for a long time: idle
// sessions make little garbage.
type tidier struct {
	begun int64
	since time.Time
	// done is how many had begun when it was tidy last.
	done int64
}

// tidy looks until the context ends. It has nothing else to do: the collector may
// take a second.
func (f *Fleet) tidy(ctx context.Context) error {
	ticker := time.NewTicker(calm / 5)
	defer ticker.Stop()
	var t tidier
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			t.look(f.begun.Load(), time.Now())
		}
	}
}

// look is told from time to time how many sessions have begun ever.
func (t *tidier) look(begun int64, now time.Time) {
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
