package engine_test

import (
	"strings"
	"testing"
	"time"

	"github.com/nullops/nullops/agent/engine"
	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/pipeline"
)

// forgetful is a machine that has lost its memory, and is to remove a plugin's work.
func forgetful(t *testing.T) *asker {
	t.Helper()
	a := &asker{t: t, m: engine.New("d"), now: time.Unix(1e9, 0)}
	g := wire.Goal{Deployment: "d", Generation: 2, Want: wire.WantGone, Run: "r",
		Pipeline: pipeline.Pipeline{Order: []pipeline.StepKey{"db"}, Steps: []pipeline.Step{
			{Key: "db", Plugin: &pipeline.PluginStep{Name: "p", Component: &pipeline.Component{
				Actions: []string{"create", "delete"}}}}}}}
	a.feed(engine.GoalSet{Goal: g})
	return a
}

// Without a memory, and without the control plane's, nobody knows whether a plugin's
// work is there: that is told, and never taken for nothing.
func TestMachine_BlindAndRefusedIsNotClean(t *testing.T) {
	a := forgetful(t)
	a.feed(engine.SecretsRefused{Run: "r", Reason: "a secret has no value"})
	a.done(engine.Remove)
	a.done(engine.RemoveAll)
	if phase := a.m.State().Phase; phase != wire.PhaseStuck {
		t.Fatalf("the deployment is %s", phase)
	}
	var left []string
	for _, e := range a.out {
		if r, ok := e.(engine.Report); ok {
			left = append(left, r.Event.Left...)
		}
	}
	if len(left) != 1 || !strings.Contains(left[0], `"db"`) ||
		!strings.Contains(left[0], "a secret has no value") {
		t.Errorf("left %q", left)
	}
}

// A bundle that knows of no work of the plugin's leaves nothing to undo.
func TestMachine_BlindTakesTheBundlesWord(t *testing.T) {
	a := forgetful(t)
	a.feed(engine.SecretsArrived{Run: "r"})
	a.done(engine.RemoveAll)
	if phase := a.m.State().Phase; phase != wire.PhaseRemoved {
		t.Errorf("the deployment is %s", phase)
	}
}
