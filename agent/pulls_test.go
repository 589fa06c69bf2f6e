package agent_test

import (
	"errors"
	"strings"
	"sync"
	"sync/atomic"
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
	r := dummy.New(dummy.Hooks{Plugin: runMaker, Fail: func(op, subject string) error {
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
	p.want(s, shopGoal("d1"))
	<-begun
	p.want(s, shopGoal("d2"))
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

// Each run is let have its images once; what is on the node for one deployment is
// asked for again by the next. A deployment that is ready needs no registry to be
// kept running.
func TestAgent_AsksForImagesOncePerRun(t *testing.T) {
	p := newPlane(t)
	var away atomic.Bool
	var asked atomic.Int64
	r := dummy.New(dummy.Hooks{Plugin: runMaker, Fail: func(op, _ string) error {
		if op != "pull" {
			return nil
		}
		asked.Add(1)
		if away.Load() {
			return errors.New("denied: not for you")
		}
		return nil
	}})
	n := p.boot(t.TempDir(), r, nil)
	s := n.connect()
	goal := shopGoal("d1")
	goal.Pipeline.Steps[2].Service.Image = imageOf("db")
	p.want(s, goal)
	p.untilPhase("d1", wire.PhaseReady)
	away.Store(true)
	before := asked.Load()
	for _, service := range []pipeline.StepKey{"db", "web"} {
		r.CrashService("d1", service, 1)
		p.until("the restart of "+string(service), func() bool {
			for _, s := range p.vitals.Services {
				if s.Step == service && s.Restarts == 1 {
					return true
				}
			}
			return false
		})
	}
	if asked.Load() != before {
		t.Error("a registry was asked to keep services running whose images are here")
	}
	p.want(s, shopGoal("d2"))
	p.untilPhase("d2", wire.PhaseFailed)
	if !strings.Contains(p.story(), "denied: not for you") {
		t.Errorf("the second deployment's events are %s", p.story())
	}
	p.want(s, goneGoal("d1"))
	p.untilPhase("d1", wire.PhaseRemoved)
}
