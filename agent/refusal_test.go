package agent_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/agent/dummy"
	"github.com/nullops/nullops/agent/wire"
)

// The agent restarts in the middle of a plugin, its disk is full, and the run
// is canceled. Until the disk has room again, the question for the secrets of
// the canceled generation is refused again and again. Those refusals are not
// about the removal, whose secrets the plugin's delete gets.
func TestAgent_OldRefusalsDoNotStopARemoval(t *testing.T) {
	p := newPlane(t)
	dir := t.TempDir()
	running := make(chan struct{}, 1)
	r := dummy.New(dummy.Hooks{Plugin: func(ctx context.Context, s agent.PluginSpec, stdin []byte,
		line func(string)) agent.PluginResult {
		if s.Action == "create" {
			running <- struct{}{}
			<-ctx.Done()
		}
		return runMaker(ctx, s, stdin, line)
	}})
	n := p.boot(dir, r, nil)
	p.want(n.connect(), shopGoal("d1"))
	<-running
	n.stop()

	p.update(func() { p.silent, p.asked = true, 0 })
	var full atomic.Bool
	n = p.boot(dir, r, func(name string) error {
		if name == "journal.sync" && full.Load() {
			return errors.New("no space left on device")
		}
		return nil
	})
	s := n.connect()
	p.until("the question of the restarted agent", func() bool { return p.asked > 0 })
	full.Store(true)
	p.want(s, goneGoal("d1"))
	p.update(func() { p.silent, p.asked = false, 0 })
	p.until("two refusals", func() bool { return p.asked > 1 })
	full.Store(false)
	p.until("an end", func() bool {
		return p.phase("d1") == wire.PhaseRemoved || p.phase("d1") == wire.PhaseStuck
	})
	if p.phase("d1") != wire.PhaseRemoved || !slices.Contains(r.OperationLog(), "delete make") {
		t.Errorf("ran %v, and ended:%s", r.OperationLog(), p.story())
	}
}
