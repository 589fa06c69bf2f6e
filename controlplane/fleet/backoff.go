package fleet

import (
	"context"
	"math/rand/v2"
	"time"
)

// backoff waits longer after each failure, with jitter so that a thousand
// nodes do not come back in step, and never gives up.
type backoff struct{ failures int }

const (
	firstWait = 250 * time.Millisecond
	// longestWait keeps a node that returns from waiting noticeably.
	longestWait = 10 * time.Second
)

// wait sleeps, or returns early with false when ctx ends.
func (b *backoff) wait(ctx context.Context) bool {
	limit := min(firstWait<<min(b.failures, 10), longestWait)
	b.failures++
	timer := time.NewTimer(limit/2 + rand.N(limit/2))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// healthy starts again from the shortest wait.
func (b *backoff) healthy() { b.failures = 0 }
