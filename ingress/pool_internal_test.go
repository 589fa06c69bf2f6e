package ingress

import (
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"
)

// newPipedConn returns a connection and a claim about whether it was closed.
func newPipedConn() (*conn, func() bool) {
	near, far := net.Pipe()
	return newConn(near), func() bool {
		_ = far.SetReadDeadline(time.Now())
		_, err := far.Read(make([]byte, 1))
		return err == io.EOF
	}
}

func (p *pool) take(now time.Time) *conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.takeLocked(now)
}

func TestPool_ClosesWhatIsOld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p pool
		old, oldClosed := newPipedConn()
		young, youngClosed := newPipedConn()
		p.put(old, time.Now())
		time.Sleep(idleConnTimeout / 2)
		p.put(young, time.Now())
		if p.take(time.Now()) != young {
			t.Error("the one used last was not on top")
		}
		time.Sleep(idleConnTimeout/2 + time.Second)
		synctest.Wait()
		if !oldClosed() || youngClosed() {
			t.Errorf("old closed: %v, one in use closed: %v", oldClosed(), youngClosed())
		}
		p.put(young, time.Now())
		time.Sleep(idleConnTimeout + time.Second)
		if p.take(time.Now()) != nil {
			t.Error("an old connection was given out")
		}
		time.Sleep(idleConnTimeout)
		synctest.Wait()
		if !youngClosed() {
			t.Error("left open")
		}
		p.close()
	})
}

func TestPool_ShutKeepsNothing(t *testing.T) {
	var p pool
	idle, idleClosed := newPipedConn()
	p.put(idle, time.Now())
	p.close()
	late, lateClosed := newPipedConn()
	p.put(late, time.Now())
	if !idleClosed() || !lateClosed() || p.take(time.Now()) != nil {
		t.Errorf("idle closed: %v, late closed: %v", idleClosed(), lateClosed())
	}
}

func TestPool_HasALimit(t *testing.T) {
	var p pool
	defer p.close()
	for range idlePerTarget {
		c, _ := newPipedConn()
		p.put(c, time.Now())
	}
	c, closed := newPipedConn()
	if p.put(c, time.Now()); !closed() {
		t.Error("one too many was kept")
	}
}
