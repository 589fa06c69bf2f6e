package ingress

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// newSlowPool returns a pool whose connections take a while to make, and their count.
func newSlowPool(t *testing.T, takes time.Duration) (*pool, *atomic.Int32) {
	var made atomic.Int32
	p := &pool{dial: func(ctx context.Context) (net.Conn, error) {
		made.Add(1)
		time.Sleep(takes)
		near, far := net.Pipe()
		context.AfterFunc(t.Context(), func() { _ = far.Close() })
		return near, nil
	}}
	t.Cleanup(func() {
		p.close()
		time.Sleep(takes) // for those that are being opened
	})
	return p, &made
}

// crowdPool has so many use a connection for a while, all at once.
func crowdPool(t *testing.T, p *pool, many int, each time.Duration) time.Duration {
	began := time.Now()
	var all sync.WaitGroup
	for range many {
		all.Go(func() {
			c, err := p.get(t.Context())
			if err != nil {
				t.Error(err)
				return
			}
			time.Sleep(each)
			p.put(c, time.Now())
		})
	}
	all.Wait()
	return time.Since(began)
}

func TestPool_ACrowdSharesFewConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, made := newSlowPool(t, 5*time.Millisecond)
		if took := crowdPool(t, p, 300, time.Millisecond); made.Load() > eagerConns || took > dialGrace {
			t.Errorf("%d connections in %v for 300 short requests", made.Load(), took)
		}
	})
}

// Handshakes take the processors from each other: those of a crowd that finds no connection begin
// apart, so that the first connections serve it.
func TestPool_ACrowdThatFindsNoneBeginsWithAFew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, made := newSlowPool(t, 20*time.Millisecond)
		go func() { crowdPool(t, p, 40, time.Millisecond) }()
		for _, at := range []struct {
			after time.Duration
			made  int32
		}{{0, dialsAtFirst}, {dialSpacing, dialsAtFirst + 1}, {4 * dialSpacing, dialsAtFirst + 5}} {
			time.Sleep(at.after)
			synctest.Wait()
			if got := made.Load(); got != at.made {
				t.Errorf("%d connections are being opened, wanted %d", got, at.made)
			}
		}
		time.Sleep(time.Second)
		if got := made.Load(); got > 20 {
			t.Errorf("%d connections for 40 short requests", got)
		}
	})
}

// A long line in front of a quick service gets hardly more connections: handshakes would make it
// longer. As soon as the service stalls, it gets many.
func TestPool_ALineThatMovesOpensFewMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, made := newSlowPool(t, 5*time.Millisecond)
		took := crowdPool(t, p, 3000, 5*time.Millisecond)
		if n := made.Load(); n > eagerConns+4 || took < 4*dialGrace {
			t.Errorf("%d connections, and %v for 3000 short requests", n, took)
		}
		took = crowdPool(t, p, eagerConns+100, 10*time.Second)
		if took > 11*time.Second {
			t.Errorf("after it stalled, long requests took %v with %d connections", took, made.Load())
		}
	})
}

// The first connections of a service are opened without a wait, whatever is open already.
func TestPool_EagerConnectionsDoNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, made := newSlowPool(t, 5*time.Millisecond)
		took := crowdPool(t, p, eagerConns, 10*time.Second)
		if made.Load() != eagerConns || took >= 10*time.Second+eagerConns*dialSpacing {
			t.Errorf("%d connections, and %v for requests of 10 s", made.Load(), took)
		}
	})
}

func TestPool_ASlowServiceGetsMoreConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, made := newSlowPool(t, 5*time.Millisecond)
		took := crowdPool(t, p, 300, 10*time.Second)
		if took > 11*time.Second {
			t.Errorf("300 long requests took %v with %d connections", took, made.Load())
		}
	})
}

func TestPool_WhatComesTooLateIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, made := newSlowPool(t, time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if _, err := p.get(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		c, err := p.get(t.Context())
		if err != nil || made.Load() != 1 || !c.kept {
			t.Errorf("%d made, error %v", made.Load(), err)
		}
	})
}

func TestPool_FailureIsToldToWhoWaits(t *testing.T) {
	down := errors.New("down")
	p := &pool{dial: func(context.Context) (net.Conn, error) { return nil, down }}
	defer p.close()
	for range 3 {
		if _, err := p.get(t.Context()); !errors.Is(err, down) {
			t.Errorf("error %v", err)
		}
	}
}

// A connection that was made for a visitor who left is kept for the next one, and may be dead by
// then: that must not be reported as a dead service.
func TestProxy_ConnectionNobodyUsedMayBeDead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var dials int
		p, err := New(Config{Dial: func(context.Context, Route) (net.Conn, error) {
			near, far := net.Pipe()
			if dials++; dials == 1 {
				time.Sleep(time.Second)
				return near, far.Close()
			}
			go answerOnce(far)
			return near, nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		p.SetTable(NewTable(1, []Route{{Host: "web.cart.example", DeploymentID: "cart",
			Service: "web", NodeID: "n", Target: "cart/web/80", Port: 80, State: StateReady}}))
		ask := func(ctx context.Context) int {
			r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/", nil)
			r.Host = "web.cart.example"
			w := httptest.NewRecorder()
			defer func() { _ = recover() }() // how an answer to nobody ends
			p.ServeHTTP(w, r)
			return w.Code
		}
		ctx, leave := context.WithTimeout(t.Context(), time.Millisecond)
		defer leave()
		ask(ctx)
		time.Sleep(2 * time.Second)
		if status := ask(t.Context()); status != http.StatusOK || dials != 2 {
			t.Errorf("answered %d after %d dials", status, dials)
		}
	})
}

func answerOnce(c net.Conn) {
	if _, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
	}
}
