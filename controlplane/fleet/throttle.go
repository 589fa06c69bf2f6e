package fleet

import (
	"context"
	"sync"
	"time"

	"github.com/nullops/nullops/internal/wait"
)

const (
	// handshakesAtOnce is how many nodes come back at once where there is room:
	// their answers take a while on a long line, and no processor meanwhile.
	handshakesAtOnce = 64
	// handshakesAlways is the lower bound of the limit, however busy the machine is.
	handshakesAlways = 8
	// beginEvery is the time between two: ten thousand are back within the minute,
	// and people have a part of the processor meanwhile.
	beginEvery = 4 * time.Millisecond
	// handshakeTurn is how long a handshake that hangs occupies a slot of the limiter.
	handshakeTurn = 500 * time.Millisecond
	// turnWithin is how long a node waits for a slot; then it continues without one. Its
	// agent closes connections that wait too long, and a machine kept busy by other work
	// must not keep nodes offline.
	turnWithin = time.Second
	// feelEvery is how often the load is measured, restEvery while no node reconnects. A
	// timer that fires later than lateBy means overload: a person's request waits about
	// ten times that for the CPU.
	feelEvery = 10 * time.Millisecond
	restEvery = 200 * time.Millisecond
	lateBy    = 8 * time.Millisecond
)

// adaptiveLimiter bounds how many nodes reconnect at once. TLS handshakes are
// CPU-bound: running more than the CPU can serve only delays all of them, and people's
// requests. The limit shrinks to 3/4 when a timer fires late, a sign of CPU
// starvation, and grows by one while it is used up (AIMD).
type adaptiveLimiter struct {
	// free holds what may begin.
	free chan struct{}

	mu sync.Mutex
	// limit is how many handshakes may run; debt is by how many the current ones exceed it.
	limit, debt int
	underWay    int
	// next is when one may begin.
	next time.Time
}

func newPace() *adaptiveLimiter {
	p := &adaptiveLimiter{free: make(chan struct{}, handshakesAtOnce), limit: handshakesAlways}
	for range handshakesAlways {
		p.free <- struct{}{}
	}
	return p
}

// run feels how busy the machine is until the context ends.
func (p *adaptiveLimiter) run(ctx context.Context) error {
	rest := restEvery
	for {
		began := time.Now()
		if wait.Sleep(ctx, rest) != nil {
			return nil
		}
		rest = p.adjust(time.Since(began) - rest)
	}
}

// adjust shrinks the limit to 3/4 when a timer fired late, and adds one when the limit
// is used up. It returns when to measure next.
func (p *adaptiveLimiter) adjust(late time.Duration) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.underWay == 0:
		return restEvery
	case late > lateBy:
		p.resizeLocked(max(handshakesAlways, p.limit*3/4))
	case p.underWay >= p.limit:
		// Grow only while the limit is used up.
		p.resizeLocked(min(handshakesAtOnce, p.limit+1))
	}
	return feelEvery
}

func (p *adaptiveLimiter) resizeLocked(to int) {
	for ; p.limit < to; p.limit++ {
		p.giveLocked()
	}
	for ; p.limit > to; p.limit-- {
		select {
		case <-p.free:
		default:
			p.debt++
		}
	}
}

func (p *adaptiveLimiter) giveLocked() {
	if p.debt > 0 {
		p.debt--
		return
	}
	p.free <- struct{}{}
}

// acquire waits for a slot, at most turnWithin. Without one, placed is false and the
// caller continues.
func (p *adaptiveLimiter) acquire(ctx context.Context) (placed bool, err error) {
	patience := time.NewTimer(turnWithin)
	defer patience.Stop()
	select {
	case <-p.free:
		p.mu.Lock()
		defer p.mu.Unlock()
		p.underWay++
		return true, nil
	case <-patience.C:
		return false, nil
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
}

func (p *adaptiveLimiter) release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.underWay--
	p.giveLocked()
}

// waitSpacing waits until the one before began long enough ago.
func (p *adaptiveLimiter) waitSpacing(ctx context.Context) error {
	p.mu.Lock()
	now := time.Now()
	if p.next.Before(now) {
		p.next = now
	}
	rest := p.next.Sub(now)
	p.next = p.next.Add(beginEvery)
	p.mu.Unlock()
	return wait.Sleep(ctx, rest)
}

// limiterTurn is one node's. The zero value has not begun.
type limiterTurn struct {
	*adaptiveLimiter
	over func()
}

// begin waits for the turn, once.
func (t *limiterTurn) begin(ctx context.Context) error {
	if t.over != nil {
		return nil
	}
	placed, err := t.acquire(ctx)
	if err != nil {
		return err
	}
	if placed {
		t.over = sync.OnceFunc(t.release)
		defer func() { time.AfterFunc(handshakeTurn, t.over) }()
	}
	return t.waitSpacing(ctx)
}

func (t *limiterTurn) end() {
	if t.over != nil {
		t.over()
	}
}
