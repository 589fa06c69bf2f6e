package agent_test

import (
	"errors"
	"sync"
	"testing"

	"github.com/nullops/nullops/agent/dummy"
	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/pipeline"
)

// Two runs want the same image: it is pulled once at a time, and the one that
// waited tries itself when the other's pull fails.
func TestAgent_SharesPulls(t *testing.T) {
	p := newPlane(t)
	begun, let := make(chan struct{}), make(chan error)
	var mu sync.Mutex
	pulls, busy, most := 0, 0, 0
	r := dummy.New(dummy.Knobs{Plugin: maker, Fail: func(op, subject string) error {
		if op != "pull" || subject != "db" {
			return nil
		}
		mu.Lock()
		pulls++
		first := pulls == 1
		busy++
		most = max(most, busy)
		mu.Unlock()
		defer func() {
			mu.Lock()
			defer mu.Unlock()
			busy--
		}()
		if first {
			close(begun)
			return <-let
		}
		return nil
	}})
	n := p.boot(t.TempDir(), r, nil)
	s := n.connect()
	p.want(s, shop("d1"))
	<-begun
	p.want(s, shop("d2"))
	// Both say that they are pulling: the second one waits by now.
	p.until("pulling", func() bool {
		seen := 0
		for _, e := range p.events {
			if e.Step == "db" && e.Status == pipeline.StepPulling {
				seen++
			}
		}
		return seen == 2
	})
	let <- errors.New("wrong credentials")
	p.untilPhase("d1", wire.PhaseFailed)
	p.untilPhase("d2", wire.PhaseReady)
	mu.Lock()
	defer mu.Unlock()
	if most != 1 || pulls != 2 {
		t.Errorf("%d pulls, %d at a time; wanted the failed one and one more", pulls, most)
	}
}
