package engine_test

import (
	"strings"
	"testing"
	"time"

	"github.com/nullops/nullops/agent/engine"
	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/pipeline"
)

// newForgetfulRun returns a machine that has lost its memory, and is to remove a plugin's work.
func newForgetfulRun(t *testing.T) *asker { return newForgottenRun(t, wire.WantGone) }

func newForgottenRun(t *testing.T, want wire.Want) *asker {
	t.Helper()
	a := &asker{t: t, m: engine.New("d"), now: time.Unix(1e9, 0)}
	g := wire.Goal{Deployment: "d", Generation: 2, Want: want, Run: "r", Begun: true,
		Pipeline: pipeline.Pipeline{Order: []pipeline.StepKey{"db"}, Steps: []pipeline.Step{
			{Key: "db", Plugin: &pipeline.PluginStep{Name: "p", Component: &pipeline.Component{
				Actions: []string{"create", "delete"}}}}}}}
	a.feed(engine.GoalSet{Goal: g})
	return a
}

// Without a memory, and without the control plane's, nobody knows whether a plugin's work is there:
// that is reported, and never treated as "nothing was made".
func TestMachine_BlindAndRefusedIsNotClean(t *testing.T) {
	a := newForgetfulRun(t)
	a.feed(engine.SecretsRefused{Run: "r", Generation: 2, Reason: "a secret has no value"})
	a.endOperation(engine.Remove)
	a.endOperation(engine.RemoveAll)
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

// What the control plane heard begin is undone, whether or not it heard the end; and what
// only a container shows.
func TestMachine_BlindUndoesWhatBegan(t *testing.T) {
	for name, tell := range map[string]func(a *asker){
		"heard": func(a *asker) {
			a.feed(engine.SecretsArrived{Run: "r", Begun: []pipeline.StepKey{"db"}})
		},
		"seen": func(a *asker) {
			a.feed(engine.ObjectsListed{Began: a.now, Plugins: []pipeline.StepKey{"db"}, Objects: 1})
			a.feed(engine.SecretsArrived{Run: "r"})
		},
	} {
		t.Run(name, func(t *testing.T) {
			a := newForgetfulRun(t)
			tell(a)
			a.undoes(wire.PhaseRemoved)
		})
	}
}

// A run that began before the memory is not begun again.
func TestMachine_EndsARunThatItForgot(t *testing.T) {
	a := newForgottenRun(t, wire.WantPresent)
	a.feed(engine.SecretsArrived{Run: "r", Begun: []pipeline.StepKey{"db"}})
	a.undoes(wire.PhaseFailed)
}

// undoes has the plugin's work taken back, and the deployment end so.
func (a *asker) undoes(end wire.Phase) {
	a.t.Helper()
	a.endOperation(engine.Remove)
	a.endOperation(engine.Pull)
	if d := a.endOperation(engine.Run); d.Action != "delete" {
		a.t.Errorf("ran %q", d.Action)
	}
	a.endOperation(engine.RemoveAll)
	if phase := a.m.State().Phase; phase != end {
		a.t.Errorf("the deployment is %s", phase)
	}
}

// Without plugins there is nothing that only the bundle knows: nobody is asked for it.
func TestMachine_BlindWithoutPluginsAsksNobody(t *testing.T) {
	a := &asker{t: t, m: engine.New("d"), now: time.Unix(1e9, 0)}
	a.feed(engine.GoalSet{Goal: wire.Goal{Deployment: "d", Generation: 2, Want: wire.WantGone,
		Run: "r", Pipeline: pipeline.Pipeline{Order: []pipeline.StepKey{"web"},
			Steps: []pipeline.Step{{Key: "web", Service: &pipeline.ServiceStep{Name: "web"}}}}}})
	for _, kind := range []engine.Kind{engine.Remove, engine.RemoveAll} {
		a.endOperation(kind)
	}
	if phase := a.m.State().Phase; phase != wire.PhaseRemoved {
		t.Errorf("the deployment is %s", phase)
	}
}

// A bundle that lists no work of the plugin leaves nothing to undo.
func TestMachine_BlindTakesTheBundlesWord(t *testing.T) {
	a := newForgetfulRun(t)
	a.feed(engine.SecretsArrived{Run: "r"})
	a.endOperation(engine.RemoveAll)
	if phase := a.m.State().Phase; phase != wire.PhaseRemoved {
		t.Errorf("the deployment is %s", phase)
	}
}
