package wire

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"
)

// Keepalive. An end that has received no byte for its quiet time pings. A ping that brings no byte
// back within a share of the rest is a miss, and maxMisses close the link deadAfter after the
// last sign of life (the limit is 15 s). The agent's quiet time is the shorter one, so in practice
// only agents ping, and a link at rest costs one ping and one pong in that time.
const (
	deadAfter  = 14 * time.Second
	agentQuiet = 8 * time.Second
	planeQuiet = 9 * time.Second
	maxMisses  = 2
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
	if rest := c.quiet - c.received.sinceLast(); rest > 0 {
		c.looks.Reset(rest)
		return
	}
	if c.pingWithRetries() {
		c.looks.Reset(c.quiet)
		return
	}
	if c.ctx.Err() == nil {
		c.dropConn(&CloseError{Code: CodeSilent, Reason: fmt.Sprintf(
			"no answer to %d pings: the connection is half-open or the far end hangs", maxMisses)})
	}
}

// pingWithRetries pings up to maxMisses times and reports whether the peer is alive.
func (c *Conn[S, R]) pingWithRetries() bool {
	for range maxMisses {
		if c.pingOnce() {
			return true
		}
		if c.ctx.Err() != nil {
			return false
		}
	}
	return false
}

func (c *Conn[S, R]) pingOnce() bool {
	before := c.received.bytes.Load()
	ctx, cancel := context.WithTimeout(c.ctx, (deadAfter-c.quiet)/maxMisses)
	defer cancel()
	err := c.ws.Ping(ctx)
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
