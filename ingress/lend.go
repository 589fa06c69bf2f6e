package ingress

import (
	"context"
	"fmt"
	"slices"
	"time"
)

const (
	// dialsAtOnce bounds how many connections a target is being asked for.
	dialsAtOnce = 32
	// dialsInHaste is how many connections a target gets as soon as somebody
	// waits. A crowd beyond that is mostly served sooner by one that becomes free:
	// making one takes both ends longer than a dozen requests do. Fewer would have
	// requests wait that need not.
	dialsInHaste = 64
	// dialGrace is how long somebody waits before he gets one all the same. More
	// connections are of use where the service takes longer than that to answer.
	dialGrace = 50 * time.Millisecond
)

// lent is what somebody who waited gets.
type lent struct {
	conn *conn
	err  error
}

// turn is a place in the line.
type turn struct {
	given chan lent
	since time.Time
}

// get gives the connection used last. While all are in use it is whatever comes
// first: one that becomes free, or a new one.
func (p *pool) get(ctx context.Context) (*conn, error) {
	now := time.Now()
	p.mu.Lock()
	if c := p.takeLocked(now); c != nil {
		p.mu.Unlock()
		return c, nil
	}
	t := turn{make(chan lent, 1), now}
	p.waiting = append(p.waiting, t)
	p.dialLocked(now)
	p.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	select {
	case l := <-t.given:
		return l.conn, l.err
	case <-ctx.Done():
		p.leave(t)
		return nil, fmt.Errorf("wait for a connection: %w", ctx.Err())
	}
}

// leave takes somebody off the line. What was given to him in the meantime is kept.
func (p *pool) leave(t turn) {
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

// dialLocked sees to it that connections are on their way for those who wait, as
// far as may be, and that it is called again when more may be.
func (p *pool) dialLocked(now time.Time) {
	for p.dialing < min(len(p.waiting), dialsAtOnce) {
		waited := now.Sub(p.waiting[p.dialing].since)
		if p.dialing+int(p.open.Load()) >= dialsInHaste && waited < dialGrace {
			p.againLocked(dialGrace - waited)
			return
		}
		p.dialing++
		go p.connect()
	}
}

func (p *pool) againLocked(after time.Duration) {
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

// connect makes one connection, for whoever is first in line when it is there.
func (p *pool) connect() {
	ctx, cancel := context.WithTimeout(context.Background(), dialTimeout)
	defer cancel()
	raw, err := p.dial(ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dialing--
	now := time.Now()
	if err != nil {
		p.serveLocked(lent{err: err})
	} else {
		p.open.Add(1)
		c := newConn(raw)
		c.closed = func() { p.open.Add(-1) }
		p.storeLocked(c, now)
	}
	p.dialLocked(now)
}

// serveLocked gives something to the first in line, if there is one.
func (p *pool) serveLocked(l lent) bool {
	if len(p.waiting) == 0 {
		return false
	}
	p.waiting[0].given <- l
	p.waiting = slices.Delete(p.waiting, 0, 1)
	return true
}
