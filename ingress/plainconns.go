package ingress

import (
	"context"
	"maps"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// plainTick is how often connections are looked at. There is no timer of a single one.
	plainTick = 250 * time.Millisecond
	// freshFor is how long a shutdown leaves a connection alone on which no request has come:
	// one may be on its way.
	freshFor = 5 * time.Second
	// shutdownPause is how often a shutdown looks whether the last request has ended.
	shutdownPause = 5 * time.Millisecond
)

// plainConns are the connections that the server reads itself.
type plainConns struct {
	// now counts ticks, for as long as there are connections.
	now atomic.Int64
	// ending is set once the server shuts down: answers close their connections.
	ending atomic.Bool

	mu     sync.Mutex
	all    map[*plainConn]struct{}
	closed bool
	ticks  *time.Timer
}

// add closes the connection if the server has been closed.
func (s *plainConns) add(p *plainConn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.ending.Load() {
		_ = p.conn.Close()
		return false
	}
	if s.all == nil {
		s.all = make(map[*plainConn]struct{})
	}
	p.since = s.now.Load()
	s.all[p] = struct{}{}
	if len(s.all) == 1 {
		s.startTicksLocked()
	}
	return true
}

func (s *plainConns) removeConn(p *plainConn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, p)
	if len(s.all) == 0 && s.ticks != nil {
		s.ticks.Stop()
	}
}

func (s *plainConns) startTicksLocked() {
	if s.ticks == nil {
		s.ticks = time.AfterFunc(plainTick, s.checkAll)
		return
	}
	s.ticks.Reset(plainTick)
}

func (s *plainConns) checkAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now.Add(1)
	for p := range s.all {
		p.checkTime(now)
	}
	if len(s.all) > 0 {
		s.ticks.Reset(plainTick)
	}
}

// beginShutdown closes idle connections, and has others closed after their answer.
func (s *plainConns) beginShutdown() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ending.Store(true)
	for p := range s.all {
		p.closeIdle(s.now.Load(), freshFor)
	}
}

// awaitNone returns when there is no connection left.
func (s *plainConns) awaitNone(ctx context.Context) error {
	pause := time.NewTicker(shutdownPause)
	defer pause.Stop()
	for {
		s.mu.Lock()
		left := len(s.all)
		for p := range s.all {
			p.closeIdle(s.now.Load(), freshFor)
		}
		s.mu.Unlock()
		if left == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-pause.C:
		}
	}
}

func (s *plainConns) closeAll() {
	s.mu.Lock()
	s.closed = true
	all := maps.Clone(s.all)
	s.mu.Unlock()
	for p := range all {
		p.close()
	}
}

// ticksIn is how many ticks a time has, at least one.
func ticksIn(d time.Duration) int64 { return max(1, int64((d+plainTick-1)/plainTick)) }

// idleLimit is how long a connection may wait for the first byte of a request: as with net/http's
// server, a new one for as long as headers may take.
func (s *Server) idleLimit(served bool) time.Duration {
	if served {
		return s.IdleTimeout
	}
	return s.ReadHeaderTimeout
}
