package agent_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/agent/dummy"
	"github.com/nullops/nullops/agent/wire"
)

// An undo may come days after the pull: an image that somebody has removed since is pulled again,
// for what is started and for what is undone.
func TestAgent_PullsAgainWhatWasRemoved(t *testing.T) {
	var mu sync.Mutex
	gone := map[string]int{}
	r := dummy.New(dummy.Hooks{Plugin: runMaker, Fail: func(op, subject string) error {
		mu.Lock()
		defer mu.Unlock()
		key := op + " " + subject
		if op != "run" && key != "start web" {
			return nil
		}
		// Each call of a plugin, create and delete, finds no image at its first try.
		if gone[key]++; gone[key]%2 == 1 {
			return fmt.Errorf("create container: %w", agent.ErrNoImage)
		}
		return nil
	}})
	p := newPlane(t)
	s := p.boot(t.TempDir(), r, nil).connect()
	p.want(s, shopGoal("d1"))
	p.untilPhase("d1", wire.PhaseReady)
	p.want(s, goneGoal("d1"))
	p.untilPhase("d1", wire.PhaseRemoved)
	want := []string{"start db", "create make", "start web", "delete make"}
	if got := r.OperationLog(); !slices.Equal(got, want) {
		t.Errorf("the runtime ran %v, want %v", got, want)
	}
	mu.Lock()
	defer mu.Unlock()
	if gone["run make"] != 4 || gone["start web"] != 2 {
		t.Errorf("tries: %v", gone)
	}
}
