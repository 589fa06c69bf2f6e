package ingress

import (
	"bufio"
	"context"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nullops/nullops/internal/idleconn"
)

// conn is a connection to a service. One request at a time uses it.
type conn struct {
	raw     net.Conn
	in      *bufio.Reader
	out     *bufio.Writer
	left    int64 // bytes that may still be read
	heard   bool  // a byte has come since the request was sent
	unwatch func() bool
	since   time.Time // when it became idle
	kept    bool      // it has been idle, and may have died of that
	closed  func()    // called once
	once    sync.Once
	answer  plainAnswer

	// patience closes the connection when the service does not begin its answer. A timer that is
	// kept costs less than deadlines of the connection, which are set and taken away.
	patience *time.Timer
}

// startPatience has the connection closed after a time.
func (c *conn) startPatience(d time.Duration) {
	if c.patience == nil {
		c.patience = time.AfterFunc(d, c.close)
		return
	}
	c.patience.Reset(d)
}

// stopPatience reports whether that time has not passed.
func (c *conn) stopPatience() bool { return c.patience.Stop() }

func newConn(raw net.Conn) *conn {
	c := &conn{raw: raw, out: bufio.NewWriter(raw), closed: func() {}}
	c.in = bufio.NewReader(c)
	return c
}

// Read counts what is read towards the limit of the head.
func (c *conn) Read(p []byte) (int, error) {
	if c.left <= 0 {
		return 0, errHead
	}
	p = p[:min(int64(len(p)), c.left)]
	n, err := c.read(p)
	c.left -= int64(n)
	c.heard = c.heard || n > 0
	return n, err
}

// read reads heads as they come, and of bodies as much at once as there is.
func (c *conn) read(p []byte) (int, error) {
	if len(p) < copySize {
		return c.raw.Read(p)
	}
	return idleconn.Read(c.raw, p)
}

// close may be called several times, and while a request uses c. An error of the close is
// irrelevant for data that was read before.
func (c *conn) close() {
	c.once.Do(c.closed)
	_ = c.raw.Close()
}

// leavePool is for a connection that will not become free soon, such as that of a WebSocket:
// requests that wait for one must not hope for it.
func (c *conn) leavePool() { c.once.Do(c.closed) }

// pool keeps idle connections as a stack: the least recently used ones expire when traffic
// decreases.
type pool struct {
	dial func(context.Context) (net.Conn, error)

	mu      sync.Mutex
	idle    []*conn
	waiting []poolWaiter // who found none, in the order they came
	dialing int
	begun   time.Time // when the last dial began
	grace   *time.Timer
	open    atomic.Int32
	// moved is when a connection came back last, or one of the first was opened; extra is when one
	// was opened for a line that moves.
	moved  time.Time
	extra  time.Time
	shut   bool
	sweep  *time.Timer
	ticked bool // sweep is running
}

// takeLocked returns the idle connection used last, or nil.
func (p *pool) takeLocked(now time.Time) *conn {
	n := len(p.idle)
	if n == 0 {
		return nil
	}
	c := p.idle[n-1]
	if now.Sub(c.since) > idleConnTimeout {
		return nil // as are those below it; sweep closes them
	}
	p.idle[n-1] = nil
	p.idle = p.idle[:n-1]
	return c
}

// put passes a connection to a waiter, or keeps it, unless the pool is full or closed.
func (p *pool) put(c *conn, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c.kept = true
	p.moved = now
	p.storeLocked(c, now)
}

func (p *pool) storeLocked(c *conn, now time.Time) {
	if p.grantLocked(poolGrant{conn: c}) {
		return
	}
	if p.shut || len(p.idle) >= idlePerTarget {
		c.close()
		return
	}
	c.kept, c.since = true, now
	p.idle = append(p.idle, c)
	p.scheduleSweepLocked()
}

// scheduleSweepLocked sets the timer of closeExpired, unless it is set or nothing is idle.
func (p *pool) scheduleSweepLocked() {
	if p.ticked || len(p.idle) == 0 {
		return
	}
	p.ticked = true
	if p.sweep == nil {
		p.sweep = time.AfterFunc(idleConnTimeout, p.closeExpired)
		return
	}
	p.sweep.Reset(idleConnTimeout)
}

// closeExpired runs once a minute while there are idle connections.
func (p *pool) closeExpired() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ticked = false
	limit := time.Now().Add(-idleConnTimeout)
	old := 0
	for old < len(p.idle) && !p.idle[old].since.After(limit) {
		p.idle[old].close()
		old++
	}
	p.idle = append(p.idle[:0:0], p.idle[old:]...)
	p.scheduleSweepLocked()
}

// close closes what is idle now and what becomes idle later.
func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.shut = true
	for _, c := range p.idle {
		c.close()
	}
	p.idle = nil
	for _, timer := range []*time.Timer{p.sweep, p.grace} {
		if timer != nil {
			timer.Stop()
		}
	}
}
