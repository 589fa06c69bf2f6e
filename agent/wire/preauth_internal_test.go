package wire

import (
	"fmt"
	"net"
	"testing"
	"time"
)

// seat is a connection from somewhere that knows whether it was closed.
type seat struct {
	net.Conn
	from   string
	closed bool
}

func (s *seat) RemoteAddr() net.Addr {
	at, err := net.ResolveTCPAddr("tcp", s.from)
	if err != nil {
		panic(err)
	}
	return at
}

func (s *seat) Close() error { s.closed = true; return nil }

func TestLobby_FloodDisplacesItself(t *testing.T) {
	l, now := newPreAuthLimiter(), time.Unix(1000, 0)
	quiet := &seat{from: "10.0.0.9:1"}
	l.addConn(quiet, now)
	var flood []*seat
	for i := range 500 {
		// Ten containers, two of them loud.
		s := &seat{from: fmt.Sprintf("10.0.1.%d:%d", i%10*(i%3), i+1)}
		l.addConn(s, now)
		flood = append(flood, s)
	}
	if quiet.closed {
		t.Error("the quiet source lost its place to a flood")
	}
	if len(l.waiting) != maxWaiting {
		t.Errorf("%d are waiting instead of %d", len(l.waiting), maxWaiting)
	}
	if flood[len(flood)-1].closed || !flood[0].closed {
		t.Error("not the oldest made room")
	}
}

func TestLobby_LimitsOneSource(t *testing.T) {
	l, now := newPreAuthLimiter(), time.Unix(1000, 0)
	for i := range 100 {
		// One IPv6 host owns its whole /64.
		l.addConn(&seat{from: fmt.Sprintf("[2001:db8::%x]:5", i+1)}, now)
	}
	if len(l.waiting) != maxWaitingPerSource {
		t.Errorf("%d are waiting instead of %d", len(l.waiting), maxWaitingPerSource)
	}
}

func TestLobby_SuspectsWhoKeepsFailing(t *testing.T) {
	l, now := newPreAuthLimiter(), time.Unix(1000, 0)
	fail := func(n int) {
		for range n {
			s := &seat{from: "10.0.0.1:1"}
			l.addConn(s, now)
			l.removeConn(s, false, now)
		}
	}
	places := func(now time.Time) int {
		var seats []*seat
		for range maxWaiting {
			s := &seat{from: "10.0.0.1:1"}
			l.addConn(s, now)
			seats = append(seats, s)
		}
		n := len(l.waiting)
		for _, s := range seats {
			delete(l.waiting, s)
		}
		return n
	}
	fail(maxFailures - 1)
	if n := places(now); n != maxWaitingPerSource {
		t.Errorf("%d places before the limit", n)
	}
	fail(1)
	if n := places(now); n != maxWaitingSuspected {
		t.Errorf("%d places for a suspected source", n)
	}
	if n := places(now.Add(failureWindow + time.Second)); n != maxWaitingPerSource {
		t.Errorf("%d places after the window", n)
	}
	s := &seat{from: "10.0.0.1:1"}
	l.addConn(s, now)
	l.removeConn(s, true, now)
	if n := places(now); n != maxWaitingPerSource {
		t.Errorf("%d places after a proof", n)
	}
}

func TestLobby_ForgetsInsteadOfGrowing(t *testing.T) {
	l, now := newPreAuthLimiter(), time.Unix(1000, 0)
	for i := range 10 * maxSources {
		s := &seat{from: fmt.Sprintf("10.%d.%d.1:1", i>>8, i&255)}
		l.addConn(s, now)
		l.removeConn(s, false, now)
	}
	if len(l.failures) > maxSources || len(l.waiting) != 0 {
		t.Errorf("%d failures, %d waiting", len(l.failures), len(l.waiting))
	}
}
