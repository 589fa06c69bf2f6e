package engine_test

import (
	"strings"
	"testing"
	"time"

	"github.com/nullops/nullops/agent/engine"
	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/pipeline"
)

// Reports tell how a step has spent its time, what was prepared ahead, and what was tried again.
func TestParts_TellHowStepsSpendTheirTime(t *testing.T) {
	var s *story
	takes := func(d time.Duration, answer func(int) engine.Result) func(int) engine.Result {
		return func(n int) engine.Result { s.now = s.now.Add(d); return answer(n) }
	}
	s = newStory(t, map[string]func(int) engine.Result{
		"run create a": takes(5*time.Second, yes), "start web": takes(time.Second, until(1, lost, yes)),
		"run delete a": takes(2*time.Second, yes)})
	s.LimitSandboxes(2)
	s.play(presentGoal(pluginPipeline(false)), wire.PhaseReady)
	s.expectParts("a", "pull", "run")
	s.expectParts("web", "pull", "sandbox", "start failed", "start", "ready")
	before := len(s.reports)
	s.play(goneGoal(2), wire.PhaseRemoved)
	s.reports = s.reports[before:]
	s.expectParts("a", "undo", "undo")
	s.expectParts("web", "undo")
}

func TestParts_SayWhichOneFailed(t *testing.T) {
	s := newStory(t, map[string]func(int) engine.Result{"probe web": func(int) engine.Result {
		code := 3
		return engine.Result{Outcome: engine.OutcomeOK, Exited: true, ExitCode: &code}
	}})
	p := pluginPipeline(false)
	p.Steps[2].Service.Restart = pipeline.RestartNever
	s.play(presentGoal(p), wire.PhaseFailed)
	s.expectParts("web", "pull", "start", "ready failed", "undo")
}

// expectParts compares the kinds of a step's parts, which have to be in order.
func (s *story) expectParts(key pipeline.StepKey, want ...string) {
	s.t.Helper()
	var got []string
	for _, e := range s.reports {
		if e.Step != key {
			continue
		}
		for _, p := range e.Parts {
			name := string(p.Kind)
			if p.Failed {
				name += " failed"
			}
			got = append(got, name)
			if p.To.Before(p.From) || p.To.After(e.At) {
				s.t.Errorf("%s of %s lasts from %s to %s, reported at %s", name, key, p.From, p.To, e.At)
			}
		}
	}
	if strings.Join(got, ", ") != strings.Join(want, ", ") {
		s.t.Errorf("%s spent its time with %v, want %v", key, got, want)
	}
}
