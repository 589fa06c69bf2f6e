package kubernetes

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// sweeps are removals in the background. Unlike a WaitGroup's, they may begin while somebody waits.
type sweeps struct {
	mu      sync.Mutex
	pending map[chan struct{}]bool
}

func newSweeps() *sweeps { return &sweeps{pending: map[chan struct{}]bool{}} }

func (s *sweeps) begin(work func()) {
	done := make(chan struct{})
	s.mu.Lock()
	s.pending[done] = true
	s.mu.Unlock()
	go func() {
		work()
		s.mu.Lock()
		delete(s.pending, done)
		s.mu.Unlock()
		close(done)
	}()
}

// sweepPatience is how long a listing waits for removals: a pod on a machine that was lost may take
// minutes, and everything else must be known meanwhile.
const sweepPatience = 5 * time.Second

// waitFor waits for those that have begun.
func (s *sweeps) waitFor(ctx context.Context) {
	s.mu.Lock()
	all := slices.Collect(maps.Keys(s.pending))
	s.mu.Unlock()
	for _, done := range all {
		select {
		case <-done:
		case <-ctx.Done():
			return
		}
	}
}

// removeAfterwards removes a pod in the background; List and Close wait for it.
func (b *base) removeAfterwards(pod *corev1.Pod) {
	b.sweeps.begin(func() {
		ctx, cancel := context.WithTimeout(context.Background(), stopMargin)
		defer cancel()
		if err := b.removePod(ctx, pod, time.Second); err != nil {
			b.log.WarnContext(ctx, "a pod was not removed", "pod", pod.Name, "error", err)
		}
	})
}
