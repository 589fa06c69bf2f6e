package wire

import (
	"net"
	"net/netip"
	"sync"
	"time"
)

// Limits on connections that have not proven the token. Every container on the node can
// reach the agent's port, so these must survive a flood.
const (
	maxWaiting          = 64
	maxWaitingPerSource = 32
	// A source that failed maxFailures times within failureWindow gets only maxWaitingSuspected
	// slots; one success resets the count. It is never locked out completely: behind Docker's
	// userland proxy, unauthenticated clients and the control plane share one address.
	maxFailures         = 16
	maxWaitingSuspected = 4
	failureWindow       = time.Minute
	// maxSources bounds the memory of failures; beyond it, all is forgotten.
	maxSources = 1024
)

// preAuthLimiter holds the connections between accept and proof. When it is full, it evicts
// the oldest connection of the source with the most connections, so that a flood displaces
// itself.
type preAuthLimiter struct {
	mu       sync.Mutex
	next     uint64
	waiting  map[net.Conn]preAuthConn
	failures map[string]failureCount
}

type preAuthConn struct {
	source string
	number uint64
}

type failureCount struct {
	count int
	since time.Time
}

func newPreAuthLimiter() *preAuthLimiter {
	return &preAuthLimiter{waiting: map[net.Conn]preAuthConn{}, failures: map[string]failureCount{}}
}

// addConn adds c to the limiter. A source over its own limit loses its oldest connection; if the
// limiter is full, the source with the most connections loses its oldest. So a flood displaces
// itself.
func (l *preAuthLimiter) addConn(c net.Conn, now time.Time) {
	l.mu.Lock()
	source := SourceOf(c.RemoteAddr().String())
	victim := l.evictionLocked(source, now)
	delete(l.waiting, victim)
	l.waiting[c] = preAuthConn{source: source, number: l.next}
	l.next++
	l.mu.Unlock()
	if victim != nil {
		_ = victim.Close()
	}
}

// removeConn frees the slot of c and counts a failed proof against its source.
func (l *preAuthLimiter) removeConn(c net.Conn, proven bool, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.waiting, c)
	source := SourceOf(c.RemoteAddr().String())
	if proven {
		delete(l.failures, source)
		return
	}
	if len(l.failures) >= maxSources {
		clear(l.failures)
	}
	f := l.failures[source]
	if now.Sub(f.since) > failureWindow {
		f = failureCount{since: now}
	}
	f.count++
	l.failures[source] = f
}

func (l *preAuthLimiter) evictionLocked(source string, now time.Time) net.Conn {
	counts := map[string]int{}
	for _, p := range l.waiting {
		counts[p.source]++
	}
	if counts[source] >= l.limitLocked(source, now) {
		return l.oldestLocked(source)
	}
	if len(l.waiting) < maxWaiting {
		return nil
	}
	busiest := source
	for s, n := range counts {
		if n > counts[busiest] {
			busiest = s
		}
	}
	return l.oldestLocked(busiest)
}

func (l *preAuthLimiter) limitLocked(source string, now time.Time) int {
	f := l.failures[source]
	if f.count >= maxFailures && now.Sub(f.since) <= failureWindow {
		return maxWaitingSuspected
	}
	return maxWaitingPerSource
}

func (l *preAuthLimiter) oldestLocked(source string) (oldest net.Conn) {
	for c, p := range l.waiting {
		if p.source == source && (oldest == nil || p.number < l.waiting[oldest].number) {
			oldest = c
		}
	}
	return oldest
}

// SourceOf names who a connection from remote, an address with a port, counts against: an IPv4
// address, or the /64 that one IPv6 host owns anyway.
func SourceOf(remote string) string {
	at, err := netip.ParseAddrPort(remote)
	if err != nil {
		return remote
	}
	ip := at.Addr().Unmap()
	if ip.Is6() {
		if prefix, err := ip.WithZone("").Prefix(64); err == nil {
			return prefix.String()
		}
	}
	return ip.String()
}
