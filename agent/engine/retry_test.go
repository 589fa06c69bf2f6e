package engine_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nullops/nullops/agent/engine"
	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/pipeline"
)

// timesOf returns when something was done, in seconds since the beginning.
func (s *story) timesOf(what string) string {
	var at []string
	for _, one := range s.did {
		if when, did, _ := strings.Cut(one, " "); did == what {
			at = append(at, when)
		}
	}
	return strings.Join(at, " ")
}

// The container of an earlier attempt that the engine does not remove is tried again later and
// later, and the plugin waits for it.
func TestPlugins_WaitUntilTheOldContainerIsRemoved(t *testing.T) {
	s := newStory(t, map[string]func(int) engine.Result{"run create a": until(1, lost, yes),
		"remove create a": until(2, lost, yes)})
	s.play(presentGoal(pluginPipeline(true)), wire.PhaseReady)
	s.expect("a lost removal", "0 run create a", "1 remove create a", "3 remove create a",
		"7 remove create a", "7 run create a", "7 run create b", "7 start web")
}

// A plugin that may not run twice and whose outcome is not known fails the run, with the reason why
// it is not known.
func TestPlugins_SayWhyAnOutcomeIsUnknown(t *testing.T) {
	s := newStory(t, map[string]func(int) engine.Result{"run create a": func(int) engine.Result {
		return engine.Result{Outcome: engine.OutcomeUnknown, Message: "its machine is lost"}
	}})
	s.play(presentGoal(pluginPipeline(false)), wire.PhaseFailed)
	s.expect("a lost outcome", "0 run create a", "0 remove create a", "0 run delete a",
		"0 remove_all")
	if len(s.failed) == 0 || s.failed[0].Code != engine.CodeUnknownOutcome ||
		!strings.HasSuffix(s.failed[0].Message, "and it may not run twice: its machine is lost") {
		t.Errorf("the step failed as %+v", s.failed)
	}
}

// A deployment that is stuck has everything tried again when its own run comes with a higher
// generation, which is what a person asks for who has removed what was in the way.
func TestUndo_TriesAgainForTheSameRun(t *testing.T) {
	s := newStory(t, map[string]func(int) engine.Result{"run create b": no, "run delete a": no})
	goal := presentGoal(pluginPipeline(true))
	s.play(goal, wire.PhaseStuck)
	delete(s.answers, "run delete a")
	goal.Generation++
	s.play(goal, wire.PhaseFailed)
	if s.counts["run delete a"] != 2 || s.Status("a") != pipeline.StepUndone {
		t.Errorf("the second try did %v, and the step is %s", s.counts, s.Status("a"))
	}
}

// After a restart the network is made again for a delete that needs it: for ever while the engine
// does not answer, and a few times if it says no.
func TestUndo_PreparesWhatADeleteNeeds(t *testing.T) {
	for name, c := range map[string]struct {
		answer            func(int) engine.Result
		phase             wire.Phase
		prepares, deletes int
	}{
		"lost":    {until(7, lost, yes), wire.PhaseRemoved, 8, 1},
		"refused": {no, wire.PhaseStuck, 4, 0},
	} {
		p := pluginPipeline(false)
		p.Steps[0].Plugin.Network = new(true)
		s := newStory(t, nil)
		s.play(presentGoal(p), wire.PhaseReady)
		s.restart()
		s.answers = map[string]func(int) engine.Result{"prepare a": c.answer}
		s.play(goneGoal(2), c.phase)
		if s.counts["prepare a"] != c.prepares || s.counts["run delete a"] != c.deletes {
			t.Errorf("%s: %v", name, s.counts)
		}
		if name == "refused" && !slices.Equal(s.moved.Left, []string{`plugin step "a": it says no`}) {
			t.Errorf("left are %q", s.moved.Left)
		}
	}
}

// A newer run takes the place of one that is ready, which is removed first.
func TestMachine_ANewerRunReplacesAReadyOne(t *testing.T) {
	s := newStory(t, nil)
	goal := presentGoal(pluginPipeline(false))
	s.play(goal, wire.PhaseReady)
	goal.Generation, goal.Run = 2, "newer"
	s.play(goal, wire.PhaseReady)
	if s.CurrentGoal().Run != "newer" || s.counts["remove_all"] != 1 ||
		s.counts["run delete a"] != 1 || s.counts["run create a"] != 2 {
		t.Errorf("it works on %s after %v", s.CurrentGoal().Run, s.counts)
	}
}

// runs is the probe of a job that has not ended.
func runs(int) engine.Result {
	return engine.Result{Outcome: engine.OutcomeOK, Health: wire.HealthHealthy}
}

// A job that cannot be stopped is tried again later and later: for ever while the engine does not
// answer, and a few times if it says no, since undoing the run removes it anyway.
func TestJob_IsStoppedAgain(t *testing.T) {
	for name, c := range map[string]struct {
		answer func(int) engine.Result
		want   string
	}{
		"lost":    {until(4, lost, yes), "60 61 63 67 75"},
		"refused": {no, "60 61 63 67"},
	} {
		s := newStory(t, map[string]func(int) engine.Result{"probe migrate": runs,
			"stop migrate": c.answer})
		s.play(presentGoal(newJobRun(t).p), wire.PhaseFailed)
		if at := s.timesOf("stop migrate"); at != c.want || s.failed[0].Code != engine.CodeTimeout {
			t.Errorf("%s: it is stopped at %s, and fails with %+v", name, at, s.failed[0])
		}
	}
}

// A job is asked again and again until it has ended, not just at its deadline.
func TestJob_IsNoticedSoonAfterItsEnd(t *testing.T) {
	var s *story
	s = newStory(t, map[string]func(int) engine.Result{"probe migrate": func(n int) engine.Result {
		r := runs(n)
		if s.now.Sub(s.begin) >= 2*time.Second {
			r.Exited, r.ExitCode = true, new(int)
		}
		return r
	}})
	s.play(presentGoal(newJobRun(t).p), wire.PhaseReady)
	if at := s.timesOf("start web"); at != "2" {
		t.Errorf("the next step starts after %s seconds", at)
	}
}

// A job that ends just as its time is over has done its work: its exit code counts.
func TestJob_MayEndAtItsDeadline(t *testing.T) {
	r := newJobRun(t)
	r.ends = time.Minute
	if phase := r.play(); phase != wire.PhaseReady || !slices.Contains(r.did, "stop migrate") {
		t.Errorf("it is %s after %q: %+v", phase, r.did, r.failed)
	}
}
