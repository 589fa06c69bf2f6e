package agent_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/agent/dummy"
	"github.com/nullops/nullops/agent/wire"
)

// A run takes as long as its parts take: pulls of thirty-five minutes, a plugin of
// fifty that was given an hour. The whole agent lives through it on a clock of its
// own, with its link, its journal and its listings, and cancels nothing.
func TestAgent_NoRunIsTooLong(t *testing.T) {
	const pull, work = 35 * time.Minute, 50 * time.Minute
	synctest.Test(t, func(t *testing.T) {
		p := newPlane(t)
		r := dummy.New(dummy.Hooks{
			Fail: func(op, _ string) error {
				if op == "pull" {
					time.Sleep(pull)
				}
				return nil
			},
			Plugin: func(ctx context.Context, s agent.PluginSpec, stdin []byte,
				line func(string)) agent.PluginResult {
				select {
				case <-time.After(work):
					return runMaker(ctx, s, stdin, line)
				case <-ctx.Done():
					return agent.PluginResult{Canceled: true}
				}
			},
		})
		n := p.bootWith(agent.Config{Data: t.TempDir(), ListEvery: time.Minute,
			VitalsEvery: time.Minute}, r)
		g := shopGoal("d1")
		g.Pipeline.Steps[1].Plugin.TimeoutSeconds = 3600
		p.want(n.connect(), g)
		began := time.Now()
		settled := func() bool {
			p.mu.Lock()
			defer p.mu.Unlock()
			return p.phase("d1") != "" && p.phase("d1") != wire.PhaseApplying
		}
		for !settled() && time.Since(began) < 6*time.Hour {
			time.Sleep(time.Minute)
		}
		p.mu.Lock()
		phase := p.phase("d1")
		p.mu.Unlock()
		if took := time.Since(began); phase != wire.PhaseReady || took < pull+work {
			t.Errorf("after %s the run is %s:%s", took, phase, p.story())
		}
		if got := r.OperationLog(); !slices.Equal(got, []string{"start db", "create make", "start web"}) {
			t.Errorf("it ran %q", got)
		}
	})
}
