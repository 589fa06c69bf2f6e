package fleet

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/nullops/nullops/internal/wait"
)

// backoff waits longer after each failure, without an end. The jitter keeps a thousand nodes from
// reconnecting at the same moment.
type backoff struct{ failures int }

const (
	firstWait = 250 * time.Millisecond
	// longestWait is short, so that a node that comes back is reconnected within seconds.
	longestWait = 10 * time.Second
)

// wait sleeps, or returns early with false when ctx ends.
func (b *backoff) wait(ctx context.Context) bool {
	limit := min(firstWait<<min(b.failures, 10), longestWait)
	b.failures++
	return wait.Sleep(ctx, limit/2+rand.N(limit/2)) == nil
}

// reset starts again from the shortest wait.
func (b *backoff) reset() { b.failures = 0 }
