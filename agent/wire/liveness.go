package wire

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
)

// Keepalive. An end that has received no byte for its quiet time pings, and closes the link
// deadAfter after the last sign of life, at the latest (the limit is 15 s). The control plane's
// quiet time is the shorter one, so in practice only control planes ping, and a link at rest costs
// one ping and one pong in that time. A control plane has thousands of links: it looks at them at
// common moments, so that many pings leave together, their answers come together, and one wake-up
// of the process serves all.
const (
	deadAfter  = 14 * time.Second
	agentQuiet = 11 * time.Second
	planeQuiet = 9500 * time.Millisecond
	// planeAnswer is how long a control plane waits for a byte after its ping.
	planeAnswer = 4 * time.Second
	// lookEvery is the time between two such moments.
	lookEvery = 200 * time.Millisecond
	// maxMisses is how often an agent pings. A ping that brings no byte back within a share of what
	// is left of deadAfter is a miss.
	maxMisses = 2
)

// receipt is what has arrived on a connection: how many bytes, and when the last of them. Any byte
// is a sign of life.
type receipt struct {
	bytes atomic.Int64
	// at is the time since clockStart, by the monotonic clock.
	at atomic.Int64
}

var clockStart = time.Now()

// record counts what was read.
func (r *receipt) record(n int) {
	if n > 0 {
		r.bytes.Add(int64(n))
		r.at.Store(int64(time.Since(clockStart)))
	}
}

// sinceLast returns how long ago the last byte arrived.
func (r *receipt) sinceLast() time.Duration {
	return time.Since(clockStart) - time.Duration(r.at.Load())
}

// onLivenessTimer is called by a timer, which needs no goroutine while it waits.
func (c *Conn[S, R]) onLivenessTimer() {
	c.mu.Lock()
	if c.over {
		c.mu.Unlock()
		return
	}
	c.tasks.Add(1)
	c.mu.Unlock()
	defer c.tasks.Done()
	c.checkLiveness()
}

// checkLiveness counts any byte that arrived as a sign of life: on a slow link a large
// message may be in front of the pong. After the quiet time without a byte it pings.
func (c *Conn[S, R]) checkLiveness() {
	if c.ctx.Err() != nil {
		return
	}
	switch ws := c.ws.(type) {
	case *idleWebSocket:
		c.checkByMoments(ws)
	case pinger:
		c.checkByWaiting(ws)
	}
}

// pinger is a socket whose Ping returns when the far end has answered.
type pinger interface {
	Ping(ctx context.Context) error
}

var _ pinger = (*websocket.Conn)(nil)

// checkByWaiting is for an agent, which has one link.
func (c *Conn[S, R]) checkByWaiting(ws pinger) {
	if rest := c.quiet - c.received.sinceLast(); rest > 0 {
		c.looks.Reset(rest)
		return
	}
	if c.pingWithRetries(ws) {
		c.looks.Reset(c.quiet)
		return
	}
	if c.ctx.Err() == nil {
		c.dropSilent(maxMisses)
	}
}

func (c *Conn[S, R]) dropSilent(pings int) {
	c.dropConn(&CloseError{Code: CodeSilent, Reason: fmt.Sprintf(
		"no answer to %d pings: the connection is half-open or the far end hangs", pings)})
}

// checkByMoments is for a control plane. Nothing waits for an answer: the next look finds out
// whether a byte has come.
func (c *Conn[S, R]) checkByMoments(ws *idleWebSocket) {
	received := c.received.bytes.Load()
	if c.pinged && received == c.before && !c.stalled.Load() {
		c.dropSilent(1)
		return
	}
	rest := c.quiet - c.received.sinceLast()
	c.pinged = rest <= 0
	if !c.pinged {
		c.looks.Reset(untilMoment(rest))
		return
	}
	c.before = received
	c.looks.Reset(untilMoment(planeAnswer))
	// If it fails, the connection broke; the reader knows why.
	_ = ws.sendPing()
}

// untilMoment returns how long it is until the first common moment after d has passed.
func untilMoment(d time.Duration) time.Duration {
	at := time.Since(clockStart) + d
	return d + (lookEvery-at%lookEvery)%lookEvery
}

// pingWithRetries pings up to maxMisses times and reports whether the peer is alive.
func (c *Conn[S, R]) pingWithRetries(ws pinger) bool {
	for range maxMisses {
		if c.pingOnce(ws) {
			return true
		}
		if c.ctx.Err() != nil {
			return false
		}
	}
	return false
}

func (c *Conn[S, R]) pingOnce(ws pinger) bool {
	before := c.received.bytes.Load()
	ctx, cancel := context.WithTimeout(c.ctx, (deadAfter-c.quiet)/maxMisses)
	defer cancel()
	err := ws.Ping(ctx)
	if err != nil && ctx.Err() == nil {
		// The connection broke; the reader knows why.
		<-ctx.Done()
	}
	return err == nil || c.stalled.Load() || c.received.bytes.Load() != before
}

// SendPong is a sign of life that answers a message: its sender need not ping.
func (c *Conn[S, R]) SendPong(ctx context.Context) error {
	if s, ok := c.ws.(*idleWebSocket); ok {
		return s.sendFrame(ctx, opPong, nil)
	}
	return nil
}
