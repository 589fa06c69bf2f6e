package fleet

import (
	"context"
	"math/rand/v2"
	"time"
)

// backoff waits longer after each failure, without an end. The jitter keeps a thousand nodes from
// reconnecting at the same moment.
type backoff struct{ failures int }

const (
	firstWait = 250 * time.Millisecond
	// longestWait is short, so that a node that comes back is reconnected within seconds.
	longestWait = 10 * time.Second
)

// wait sleeps, or returns early: with true at a wake-up, and with false when ctx ends.
func (b *backoff) wait(ctx context.Context, wake <-chan struct{}) bool {
	limit := min(firstWait<<min(b.failures, 10), longestWait)
	b.failures++
	timer := time.NewTimer(limit/2 + rand.N(limit/2))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-wake:
		return true
	case <-ctx.Done():
		return false
	}
}

// reset starts again from the shortest wait.
func (b *backoff) reset() { b.failures = 0 }
