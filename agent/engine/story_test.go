package engine_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nullops/nullops/agent/engine"
	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/pipeline"
)

// story plays one run against a container engine that answers by a script. It tells what was
// done, and when, in seconds since the beginning.
type story struct {
	*engine.Machine
	t          *testing.T
	begin, now time.Time
	wake       time.Time
	events     []engine.Event
	did        []string
	failed     []wire.Event
	moved      wire.Event
	reports    []wire.Event
	records    []engine.Record
	canceled   []int64
	// held are operations that have not ended: their answer is no outcome.
	held    map[string]int64
	counts  map[string]int
	answers map[string]func(n int) engine.Result
}

func yes(int) engine.Result { return engine.Result{Outcome: engine.OutcomeOK} }

func no(int) engine.Result {
	return engine.Result{Outcome: engine.OutcomeNo, Code: "bad", Message: "it says no"}
}

func lost(int) engine.Result { return engine.Result{Outcome: engine.OutcomeUnknown} }

// until answers one way so many times, and then another way.
func until(times int, first, then func(int) engine.Result) func(int) engine.Result {
	return func(n int) engine.Result {
		if n <= times {
			return first(n)
		}
		return then(n)
	}
}

// pluginPipeline is two plugins, of which the first can be undone, and a service.
func pluginPipeline(idempotent bool) pipeline.Pipeline {
	image := &pipeline.Image{Repository: "x"}
	return pipeline.Pipeline{Order: []pipeline.StepKey{"a", "b", "web"}, Steps: []pipeline.Step{
		{Key: "a", Plugin: &pipeline.PluginStep{Name: "a", Image: image, Component: &pipeline.Component{
			Actions: []string{"create", "delete"}, Idempotent: idempotent}}},
		{Key: "b", Plugin: &pipeline.PluginStep{Name: "b", Image: image,
			Component: &pipeline.Component{Actions: []string{"create"}}}},
		{Key: "web", Service: &pipeline.ServiceStep{Name: "web", Image: image}},
	}}
}

func newStory(t *testing.T, answers map[string]func(int) engine.Result) *story {
	t.Helper()
	s := &story{Machine: engine.New("d"), t: t, begin: time.Unix(1_800_000_000, 0),
		counts: map[string]int{}, answers: answers, held: map[string]int64{}}
	s.now = s.begin
	return s
}

// play continues until the machine is in one of the phases.
func (s *story) play(goal wire.Goal, phases ...wire.Phase) {
	s.t.Helper()
	s.events = append(s.events, engine.GoalSet{Goal: goal})
	for range 2000 {
		if len(s.events) == 0 {
			if slices.Contains(phases, s.State().Phase) {
				return
			}
			if s.now = s.now.Add(time.Hour); s.wake.After(s.begin) && s.wake.Before(s.now) {
				s.now = s.wake
			}
			s.events = append(s.events, engine.Tick{})
		}
		ev := s.events[0]
		s.events = s.events[1:]
		s.wake = time.Time{}
		for _, e := range stepAndCheck(s.t, s.Machine, s.now, ev) {
			s.perform(e)
		}
	}
	s.t.Fatalf("it does not end in %v: %s", phases, strings.Join(s.did, ", "))
}

func (s *story) perform(e engine.Effect) {
	switch e := e.(type) {
	case engine.Record:
		s.records = append(s.records, e)
	case engine.CancelOperation:
		s.canceled = append(s.canceled, e.Op)
	case engine.Report:
		s.reports = append(s.reports, e.Event)
		if e.Event.Status == pipeline.StepFailed {
			s.failed = append(s.failed, e.Event)
		}
		if e.Event.Phase != "" {
			s.moved = e.Event
		}
	case engine.WantSecrets:
		s.events = append(s.events, engine.SecretsArrived{Run: e.Run})
	case engine.Wake:
		s.wake = e.At
	case engine.StartOperation:
		name := strings.Join(strings.Fields(fmt.Sprint(e.Kind, " ", e.Action, " ", e.Step)), " ")
		s.counts[name]++
		if e.Kind != engine.Probe {
			s.did = append(s.did, fmt.Sprintf("%.0f %s", s.now.Sub(s.begin).Seconds(), name))
		}
		result := engine.Result{Outcome: engine.OutcomeOK}
		if answer := s.answers[name]; answer != nil {
			result = answer(s.counts[name])
		} else if e.Kind == engine.Probe {
			result.Health, result.StartedAt = wire.HealthHealthy, s.now.Add(-time.Minute)
		}
		if result.Outcome == "" {
			s.held[name] = e.Op
			return
		}
		s.events = append(s.events, engine.OperationEnded{Op: e.Op, Result: result})
	}
}

// restart starts the agent anew, with what its journal holds.
func (s *story) restart() {
	s.Machine = engine.Replay("d", s.records)
	s.events = append(s.events, engine.AgentRestarted{})
	s.did = nil
	clear(s.counts)
}

// expect compares what was done, without pulls and other preparations.
func (s *story) expect(name string, want ...string) {
	s.t.Helper()
	did := slices.DeleteFunc(slices.Clone(s.did), func(one string) bool {
		return strings.Contains(one, "pull") || strings.Contains(one, "prepare") ||
			strings.Contains(one, "create_ahead")
	})
	if !slices.Equal(did, want) {
		s.t.Errorf("%s: it did\n%s\nand should\n%s", name, strings.Join(did, ", "),
			strings.Join(want, ", "))
	}
}

// Each plugin runs once, the container of the next one is made meanwhile, and the service last.
func TestPlugins_RunInTurnAndAreMadeAhead(t *testing.T) {
	s := newStory(t, nil)
	s.LimitSandboxes(1)
	s.play(presentGoal(pluginPipeline(false)), wire.PhaseReady)
	s.expect("a run", "0 run create a", "0 run create b", "0 start web")
	if s.counts["create_ahead create b"] != 1 || s.counts["create_ahead create a"] != 0 ||
		s.counts["pull a"] != 1 || s.counts["pull b"] != 1 || s.counts["pull web"] != 1 {
		t.Errorf("it did %v", s.counts)
	}
	i := slices.Index(s.did, "0 run create a")
	if s.did[i+1] != "0 create_ahead create b" {
		t.Errorf("the next container is not made while the first runs: %v", s.did)
	}
}

// A plugin that says no is not asked again: the run fails for its reason, and what it may have
// done is undone.
func TestPlugins_NoEndsTheRun(t *testing.T) {
	s := newStory(t, map[string]func(int) engine.Result{"run create a": no})
	s.play(presentGoal(pluginPipeline(true)), wire.PhaseFailed)
	s.expect("no", "0 run create a", "0 remove create a", "0 run delete a", "0 remove_all")
	if len(s.failed) != 1 || s.failed[0].Step != "a" || s.failed[0].Code != "bad" ||
		s.failed[0].Message != "it says no" || s.moved.Code != "bad" ||
		s.Status("b") != pipeline.StepSkipped || s.Status("a") != pipeline.StepUndone {
		t.Errorf("failed %+v, moved %+v, %s", s.failed, s.moved, s.Status("b"))
	}
}

// A plugin that did nothing needs no undoing the first time that it is tried.
func TestPlugins_HarmlessNoNeedsNoUndoing(t *testing.T) {
	harmless := func(int) engine.Result {
		return engine.Result{Outcome: engine.OutcomeNo, Code: "bad", Harmless: true}
	}
	s := newStory(t, map[string]func(int) engine.Result{"run create a": harmless})
	s.play(presentGoal(pluginPipeline(true)), wire.PhaseFailed)
	s.expect("harmless", "0 run create a", "0 remove_all")
	s = newStory(t, map[string]func(int) engine.Result{"run create a": until(1, lost, harmless)})
	s.play(presentGoal(pluginPipeline(true)), wire.PhaseFailed)
	s.expect("not known to be harmless", "0 run create a", "1 remove create a", "1 run create a",
		"1 remove create a", "1 run delete a", "1 remove_all")
}

// A plugin whose outcome is lost runs again if it says that this is harmless, twice at most and
// never beside itself. Any other ends the run.
func TestPlugins_RepeatWhatMayBeRepeated(t *testing.T) {
	for name, c := range map[string]struct {
		idempotent bool
		answer     func(int) engine.Result
		phase      wire.Phase
		want       []string
	}{
		"twice lost": {true, until(2, lost, yes), wire.PhaseReady, []string{"0 run create a",
			"1 remove create a", "1 run create a", "2 remove create a", "2 run create a",
			"2 run create b", "2 start web"}},
		"always lost": {true, lost, wire.PhaseFailed, []string{"0 run create a",
			"1 remove create a", "1 run create a", "2 remove create a", "2 run create a",
			"2 remove create a", "2 run delete a", "2 remove_all"}},
		"not to be repeated": {false, lost, wire.PhaseFailed, []string{"0 run create a",
			"0 remove create a", "0 run delete a", "0 remove_all"}},
	} {
		s := newStory(t, map[string]func(int) engine.Result{"run create a": c.answer})
		s.play(presentGoal(pluginPipeline(c.idempotent)), c.phase)
		s.expect(name, c.want...)
		if c.phase == wire.PhaseFailed && (len(s.failed) != 1 ||
			s.failed[0].Code != engine.CodeUnknownOutcome) {
			t.Errorf("%s: failed %+v", name, s.failed)
		}
	}
}

// What undoing cannot do is told: after so many tries, and by name. A higher generation has it all
// tried again.
func TestUndo_GivesUpAndTriesAgain(t *testing.T) {
	left := func(int) engine.Result {
		return engine.Result{Outcome: engine.OutcomeOK, Left: []string{"volume x"}}
	}
	for name, c := range map[string]struct {
		key    string
		answer func(int) engine.Result
		tries  int
		left   string
	}{
		"delete says no": {"run delete a", no, 1, `plugin step "a": it says no`},
		"delete is lost": {"run delete a", lost, 3,
			`plugin step "a": its delete did not answer 3 times`},
		"container is kept": {"remove create a", no, 7,
			`plugin step "a": its container could not be removed: it says no`},
		"something is left": {"remove_all", left, 7, "volume x"},
		"engine says no":    {"remove_all", no, 7, "it says no"},
	} {
		s := newStory(t, map[string]func(int) engine.Result{"run create b": no, c.key: c.answer})
		s.play(presentGoal(pluginPipeline(true)), wire.PhaseStuck, wire.PhaseFailed)
		if s.State().Phase != wire.PhaseStuck || s.counts[c.key] != c.tries ||
			!slices.Equal(s.moved.Left, []string{c.left}) || s.moved.Code != engine.CodeLeftOver {
			t.Errorf("%s: %s after %d tries, %+v", name, s.State().Phase, s.counts[c.key], s.moved)
		}
		delete(s.answers, c.key)
		clear(s.counts)
		s.play(goneGoal(2), wire.PhaseRemoved)
		if again := strings.HasSuffix(c.key, " a"); (s.counts["run delete a"] == 1) != again ||
			s.counts["remove_all"] != 1 {
			t.Errorf("%s: tried again with %v", name, s.counts)
		}
	}
}

// While the engine does not answer, undoing waits longer and longer, and goes on for ever.
func TestUndo_WaitsForTheEngine(t *testing.T) {
	for key, want := range map[string]int{"remove create a": 11, "remove_all": 11, "run delete a": 3} {
		s := newStory(t, map[string]func(int) engine.Result{"run create b": no, key: until(want-1, lost,
			yes)})
		s.play(presentGoal(pluginPipeline(true)), wire.PhaseFailed, wire.PhaseStuck)
		if s.State().Phase != wire.PhaseFailed || s.counts[key] != want {
			t.Errorf("%s: %s after %d tries", key, s.State().Phase, s.counts[key])
		}
		var at []string
		for _, one := range s.did {
			if when, what, _ := strings.Cut(one, " "); what == key {
				at = append(at, when)
			}
		}
		if want == 11 && !slices.Equal(at, []string{"0", "1", "3", "7", "15", "31", "63", "123", "183",
			"243", "303"}) || want == 3 && !slices.Equal(at, []string{"0", "1", "2"}) {
			t.Errorf("%s: tried at %v", key, at)
		}
	}
}

// A pull that is lost is tried again, one that is refused fails its step.
func TestPulls_AreTriedAgain(t *testing.T) {
	s := newStory(t, map[string]func(int) engine.Result{"pull a": until(3, lost, yes)})
	s.play(presentGoal(pluginPipeline(false)), wire.PhaseReady)
	s.expect("lost", "7 run create a", "7 run create b", "7 start web")
	s = newStory(t, map[string]func(int) engine.Result{"pull b": no})
	s.play(presentGoal(pluginPipeline(false)), wire.PhaseFailed)
	if len(s.failed) != 1 || s.failed[0].Step != "b" || s.failed[0].Code != "bad" ||
		s.counts["run create b"] != 0 || s.counts["run delete a"] != 1 {
		t.Errorf("refused: %+v, %v", s.failed, s.did)
	}
}

// A network that cannot be made ends the run; an engine that does not answer is asked again.
func TestPrepare_FailsOrWaits(t *testing.T) {
	s := newStory(t, map[string]func(int) engine.Result{"prepare": no})
	s.play(presentGoal(pluginPipeline(false)), wire.PhaseFailed)
	if s.expect("no", "0 remove_all"); s.moved.Code != "bad" || s.moved.Message != "it says no" {
		t.Errorf("it ends with %+v", s.moved)
	}
	s = newStory(t, map[string]func(int) engine.Result{"prepare": until(2, lost, yes)})
	s.play(presentGoal(pluginPipeline(false)), wire.PhaseReady)
	s.expect("lost", "3 run create a", "3 run create b", "3 start web")
}

// A plugin that is running when its deployment is removed is cancelled, and what it returned
// nevertheless is there when its delete runs.
func TestPlugins_KeepALateResult(t *testing.T) {
	hold := func(int) engine.Result { return engine.Result{} }
	s := newStory(t, map[string]func(int) engine.Result{"run create a": hold, "pull web": hold})
	s.play(presentGoal(pluginPipeline(false)), wire.PhaseApplying)
	s.events = append(s.events, engine.GoalSet{Goal: goneGoal(2)}, engine.OperationEnded{
		Op: s.held["run create a"], Result: engine.Result{Outcome: engine.OutcomeOK,
			Outputs: map[string]any{"x": "y"}, Sealed: []byte("z")}})
	s.play(goneGoal(2), wire.PhaseRemoved)
	s.expect("removed", "0 run create a", "0 remove create a", "0 run delete a", "0 remove_all")
	if !slices.Contains(s.canceled, s.held["run create a"]) ||
		!slices.Contains(s.canceled, s.held["pull web"]) {
		t.Errorf("cancelled were %v of %v", s.canceled, s.held)
	}
	late, undoing := false, 0
	for _, r := range s.reports {
		late = late || r.Step == "a" && r.Outputs["x"] == "y" && string(r.Sealed) == "z" &&
			r.Status == pipeline.StepDone
		if r.Step == "a" && r.Status == pipeline.StepUndoing {
			undoing++
		}
	}
	if !late || undoing != 1 {
		t.Errorf("told late: %v, told of the undoing %d times", late, undoing)
	}
}

// After a restart an image is pulled again for a delete: for ever while the engine does not answer,
// and three times if it is refused.
func TestUndo_PullsWhatADeleteNeeds(t *testing.T) {
	for name, c := range map[string]struct {
		answer func(int) engine.Result
		phase  wire.Phase
		pulls  int
	}{
		"lost":    {until(7, lost, yes), wire.PhaseRemoved, 8},
		"refused": {no, wire.PhaseStuck, 4},
	} {
		s := newStory(t, nil)
		s.play(presentGoal(pluginPipeline(false)), wire.PhaseReady)
		s.restart()
		s.answers = map[string]func(int) engine.Result{"pull a": c.answer}
		s.play(goneGoal(2), c.phase)
		if s.counts["pull a"] != c.pulls || (s.counts["run delete a"] == 1) != (name == "lost") {
			t.Errorf("%s: %v", name, s.counts)
		}
		if name == "refused" && !slices.Equal(s.moved.Left, []string{`plugin step "a": it says no`}) {
			t.Errorf("left are %q", s.moved.Left)
		}
	}
}

// What was waited for before does not lengthen the next wait.
func TestRetries_BeginAnewAfterASuccess(t *testing.T) {
	s := newStory(t, map[string]func(int) engine.Result{"prepare": until(2, lost, yes),
		"run create a": until(1, lost, yes)})
	s.play(presentGoal(pluginPipeline(true)), wire.PhaseReady)
	s.expect("anew", "3 run create a", "4 remove create a", "4 run create a", "4 run create b",
		"4 start web")
	if s.RestartCount("web") != 0 || s.RestartCount("nothing") != 0 {
		t.Error("a restart was counted")
	}
}

// What is going on is told: whose deployment it is, which image is pulled, what was returned, and
// why a run is being undone.
func TestMachine_TellsWhatGoesOn(t *testing.T) {
	goal := presentGoal(pluginPipeline(false))
	goal.Context.Name, goal.Context.Project, goal.Context.Environment = "cart", "shop", "qa"
	s := newStory(t, map[string]func(int) engine.Result{
		"pull a": func(int) engine.Result { return engine.Result{} },
		"run create a": func(int) engine.Result {
			return engine.Result{Outcome: engine.OutcomeOK, Sealed: []byte("z")}
		},
		"run create b": no,
	})
	s.play(goal, wire.PhaseApplying)
	if s.Status("a") != pipeline.StepPulling || s.Status("web") == pipeline.StepPulling {
		t.Errorf("while its image is pulled, a is %s and web is %s", s.Status("a"), s.Status("web"))
	}
	if is := s.State(); is.Name != "cart" || is.Project != "shop" || is.Environment != "qa" {
		t.Errorf("it says that it is %+v", is)
	}
	s.events = append(s.events, engine.OperationEnded{Op: s.held["pull a"],
		Result: engine.Result{Outcome: engine.OutcomeOK}})
	s.play(goal, wire.PhaseFailed)
	why := ""
	for _, r := range s.reports {
		if r.Phase == wire.PhaseUndoing {
			why = r.Code + ": " + r.Message
		}
	}
	if why != "bad: it says no" {
		t.Errorf("it is undone because of %q", why)
	}
	s = newStory(t, s.answers)
	delete(s.answers, "pull a")
	delete(s.answers, "run create b")
	s.play(goal, wire.PhaseReady)
	told := slices.ContainsFunc(s.reports, func(e wire.Event) bool {
		return e.Step == "a" && e.Status == pipeline.StepDone && string(e.Sealed) == "z"
	})
	if got := s.SealedOutputs(); len(got) != 1 || string(got["a"]) != "z" || !told {
		t.Errorf("sealed outputs are %q, and told: %v", got, told)
	}
}
