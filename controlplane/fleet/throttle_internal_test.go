package fleet

import (
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// However often the limit moves while nodes come and go, no place is lost and
// none is made up: a lost one would keep a node away for ever.
func TestPace_KeepsItsPlaces(t *testing.T) {
	t.Parallel()
	p := newPace()
	inside := 0
	for range 10_000 {
		switch rand.N(4) {
		case 0:
			p.adjust(time.Duration(rand.N(2)) * time.Second)
		case 1:
			if len(p.free) > 0 {
				if placed, err := p.acquire(t.Context()); err != nil || !placed {
					t.Fatalf("a free place was not given: %v, %v", placed, err)
				}
				inside++
			}
		default:
			if inside > 0 {
				p.release()
				inside--
			}
		}
		if p.limit < handshakesAlways || p.limit > handshakesAtOnce || p.debt < 0 ||
			len(p.free)+p.underWay-p.debt != p.limit || p.underWay != inside {
			t.Fatalf("limit %d: %d free, %d under way, %d too many", p.limit, len(p.free),
				p.underWay, p.debt)
		}
	}
}

// A machine that is busy all the time lets some nodes come back all the same, and
// one that gets room again more and more.
func TestPace_GivesWayAndComesBack(t *testing.T) {
	t.Parallel()
	p := newPace()
	fill := func() {
		for len(p.free) > 0 {
			if placed, err := p.acquire(t.Context()); err != nil || !placed {
				t.Fatal(placed, err)
			}
		}
	}
	for range 2 * handshakesAtOnce {
		fill()
		p.adjust(0)
	}
	if p.limit != handshakesAtOnce {
		t.Errorf("with room for all, %d at once", p.limit)
	}
	for range 100 {
		p.adjust(time.Second)
	}
	for p.underWay > 0 {
		p.release()
	}
	if p.limit != handshakesAlways || len(p.free) != handshakesAlways {
		t.Errorf("on a busy machine %d at once, %d of them free", p.limit, len(p.free))
	}
}

// However much room there is, ten thousand do not come back in one rush, and are
// back within the minute.
//
// fault: F35
func TestPace_SpacesThoseThatBegin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPace()
		began := time.Now()
		var nodes sync.WaitGroup
		dials := make(chan struct{}, dialsAtOnce)
		for range 10_000 {
			nodes.Go(func() {
				dials <- struct{}{}
				defer func() { <-dials }()
				one := limiterTurn{adaptiveLimiter: p}
				if err := one.begin(t.Context()); err != nil {
					t.Error(err)
				}
				time.Sleep(10 * time.Millisecond)
				one.end()
			})
		}
		nodes.Wait()
		if took := time.Since(began); took < 30*time.Second || took > 50*time.Second {
			t.Errorf("it took %v", took)
		}
	})
}
