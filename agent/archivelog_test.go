package agent_test

import (
	"slices"
	"testing"
	"time"

	"github.com/nullops/nullops/agent/dummy"
	"github.com/nullops/nullops/agent/wire"
)

// A service that is taken away leaves the end of its log, masked and with the
// times at which it was written, and each line once.
func TestAgent_RemovedServiceLeavesItsLog(t *testing.T) {
	p := newPlane(t)
	r := dummy.New(dummy.Hooks{Plugin: runMaker})
	n := p.boot(t.TempDir(), r, nil)
	s := n.connect()
	p.want(s, shopGoal("d1"))
	p.untilPhase("d1", wire.PhaseReady)
	r.AppendLog("d1", "db", "signed in with "+password)
	gone := shopGoal("d1")
	gone.Want, gone.Generation = wire.WantGone, 2
	p.want(s, gone)
	p.untilPhase("d1", wire.PhaseRemoved)
	kept := func() (said []string) {
		for _, l := range n.lines {
			if l.Step == "db" && l.Run == "run-d1" && time.Since(l.At) < time.Hour {
				said = append(said, l.Text)
			}
		}
		return said
	}
	p.until("the kept log", func() bool { return len(kept()) >= 2 })
	p.mu.Lock()
	defer p.mu.Unlock()
	if want := []string{"started", "signed in with [secret]"}; !slices.Equal(kept(), want) {
		t.Errorf("kept is %q, want %q", kept(), want)
	}
}
