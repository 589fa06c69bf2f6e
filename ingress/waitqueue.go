package ingress

import (
	"context"
	"fmt"
	"net"
	"slices"
	"time"
)

const (
	// dialsAtOnce bounds how many connections a target is being asked for.
	dialsAtOnce = 32
	// dialsAtFirst is how many of them begin at once; more begin dialSpacing apart, which is about
	// what a handshake costs both ends. A crowd that finds no connection, as when people left a page
	// and its requests went with their connections, is served sooner by the first few than by
	// handshakes that take the processors from each other.
	dialsAtFirst = 4
	dialSpacing  = 5 * time.Millisecond
	// eagerConns is how many connections a target gets without waiting for dialGrace. Beyond
	// that, a waiter is mostly served sooner by a connection that becomes free: opening one
	// costs both ends more than a dozen requests. With a lower limit, requests would wait
	// without need.
	eagerConns = 64
	// dialGrace is how long a request waits beyond eagerConns before another connection is
	// opened for it. More connections help where the service takes longer than that to respond.
	dialGrace = 50 * time.Millisecond
)

// poolGrant is what a waiter receives: a connection or an error.
type poolGrant struct {
	conn *conn
	err  error
}

// poolWaiter is a place in the line.
type poolWaiter struct {
	given chan poolGrant
	since time.Time
}

// get returns the idle connection used last. While all are in use it waits for the first
// one that becomes free or has been opened.
func (p *pool) get(ctx context.Context) (*conn, error) {
	now := time.Now()
	p.mu.Lock()
	if c := p.takeLocked(now); c != nil {
		p.mu.Unlock()
		return c, nil
	}
	t := poolWaiter{make(chan poolGrant, 1), now}
	p.waiting = append(p.waiting, t)
	p.dialLocked(now)
	p.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	select {
	case l := <-t.given:
		return l.conn, l.err
	case <-ctx.Done():
		p.removeWaiter(t)
		return nil, fmt.Errorf("wait for a connection: %w", ctx.Err())
	}
}

// removeWaiter removes a waiter from the queue. A connection it has received meanwhile goes
// back to the pool.
func (p *pool) removeWaiter(t poolWaiter) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := slices.Index(p.waiting, t); i >= 0 {
		p.waiting = slices.Delete(p.waiting, i, i+1)
		return
	}
	if l := <-t.given; l.conn != nil {
		p.storeLocked(l.conn, time.Now())
	}
}

// dialLocked starts enough dials for the waiters, up to dialsAtOnce, and sets a timer if
// more may be needed later.
func (p *pool) dialLocked(now time.Time) {
	for p.dialing < min(len(p.waiting), dialsAtOnce) {
		if rest := dialSpacing - now.Sub(p.begun); p.dialing >= dialsAtFirst && rest > 0 {
			p.retryDialLocked(rest)
			return
		}
		if p.dialing+int(p.open.Load()) >= eagerConns {
			if wait := p.waitLocked(now); wait > 0 {
				p.retryDialLocked(wait)
				return
			}
		}
		p.dialing++
		p.begun = now
		go p.dialOne()
	}
}

// waitLocked returns how long to wait before another connection is opened beyond eagerConns. While
// the line moves, that is one at a time: it is mostly the processors that are short then, and
// handshakes would make the line longer.
func (p *pool) waitLocked(now time.Time) time.Duration {
	if left := dialGrace - now.Sub(p.waiting[p.dialing].since); left > 0 {
		return left
	}
	if now.Sub(p.moved) > dialGrace {
		return 0
	}
	if left := dialGrace - now.Sub(p.extra); left > 0 {
		return left
	}
	p.extra = now
	return 0
}

func (p *pool) retryDialLocked(after time.Duration) {
	if p.grace != nil {
		p.grace.Reset(after)
		return
	}
	p.grace = time.AfterFunc(after, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.dialLocked(time.Now())
	})
}

// dialOne opens one connection, for the waiter that is first in the queue by then.
func (p *pool) dialOne() {
	ctx, cancel := context.WithTimeout(context.Background(), dialTimeout)
	defer cancel()
	raw, err := p.dial(ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dialing--
	now := time.Now()
	if err != nil {
		p.grantLocked(poolGrant{err: err})
	} else {
		if p.open.Load() < eagerConns {
			p.moved = now
		}
		p.storeLocked(p.countNew(raw), now)
	}
	p.dialLocked(now)
}

// openNew opens a connection past the queue, for a request whose kept connection was dead.
func (p *pool) openNew(ctx context.Context) (*conn, error) {
	raw, err := p.dial(ctx)
	if err != nil {
		return nil, err
	}
	return p.countNew(raw), nil
}

func (p *pool) countNew(raw net.Conn) *conn {
	p.open.Add(1)
	c := newConn(raw)
	c.closed = func() { p.open.Add(-1) }
	return c
}

// grantLocked passes a connection or an error to the first waiter, if there is one.
func (p *pool) grantLocked(l poolGrant) bool {
	if len(p.waiting) == 0 {
		return false
	}
	p.waiting[0].given <- l
	p.waiting = slices.Delete(p.waiting, 0, 1)
	return true
}
