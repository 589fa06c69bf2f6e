package engine_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/nullops/nullops/agent/engine"
	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/pipeline"
)

// drawPipeline makes a chain of services and plugins of all sorts.
func drawPipeline(t *rapid.T) pipeline.Pipeline {
	var p pipeline.Pipeline
	keys := []pipeline.StepKey{"a", "b", "c", "d", "e"}
	for i := range rapid.IntRange(1, 5).Draw(t, "steps") {
		s := pipeline.Step{Key: keys[i]}
		if i > 0 {
			s.Needs = []pipeline.StepKey{keys[i-1]}
		}
		switch rapid.IntRange(0, 5).Draw(t, "kind") {
		case 0, 1:
			s.Service = &pipeline.ServiceStep{Name: "s"}
		case 2:
			s.Approval = &pipeline.ApprovalStep{Prompt: "go on?", TimeoutSeconds: 30}
		case 3:
			s.Job = &pipeline.JobStep{ServiceStep: pipeline.ServiceStep{Name: "j"}}
		default:
			c := &pipeline.Component{Actions: []string{"create"}}
			c.Idempotent = rapid.Bool().Draw(t, "idempotent")
			c.Network = rapid.Bool().Draw(t, "network")
			if rapid.IntRange(0, 2).Draw(t, "can undo") > 0 {
				c.Actions = append(c.Actions, "delete")
			}
			s.Plugin = &pipeline.PluginStep{Name: "p", Component: c}
		}
		p.Steps = append(p.Steps, s)
		p.Order = append(p.Order, s.Key)
	}
	return p
}

func presentGoal(p pipeline.Pipeline) wire.Goal {
	return wire.Goal{Deployment: "d", Generation: 1, Want: wire.WantPresent, Run: "r1", Pipeline: p}
}

func goneGoal(generation int64) wire.Goal {
	return wire.Goal{Deployment: "d", Generation: generation, Want: wire.WantGone, Run: "r2"}
}

// Whatever fails, dies or is cancelled, and whenever: it ends, and then either
// everything is there, or nothing is.
func TestMachine_EndsReadyOrLeavesNothingBehind(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		p := drawPipeline(t)
		for _, s := range p.Steps {
			w.stubborn[s.Key] = rapid.IntRange(0, 9).Draw(t, "stubborn") == 0
		}
		w.goal(presentGoal(p))
		chaos := rapid.IntRange(0, 40).Draw(t, "events")
		cancel := rapid.IntRange(0, 60).Draw(t, "cancel after")
		canceled := false
		for i := range chaos {
			if i == cancel {
				canceled = true
				w.goal(goneGoal(2))
			}
			w.chaos()
			checkLedger(t, w, p)
			checkReplay(t, w)
		}
		w.heal()
		checkLedger(t, w, p)
		checkReplay(t, w)
		checkEnd(t, w, p, canceled)
		if !canceled {
			w.stubborn = map[pipeline.StepKey]bool{}
			w.goal(goneGoal(2))
			w.heal()
			checkEnd(t, w, p, true)
		}
	})
}

// Dying costs no time of the machine's own: if all goes well afterwards, it comes to
// its end without waiting for anything. What is left of the ten seconds that an agent
// may take belongs to the container engine and the link.
func TestMachine_WaitsForNothingAfterARestart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		w.healed = true
		w.goal(presentGoal(drawPipeline(t)))
		cancel := rapid.IntRange(0, 60).Draw(t, "cancel after")
		dies := rapid.IntRange(0, 40).Draw(t, "dies after")
		for i := range 200 {
			if i == cancel {
				w.goal(goneGoal(2))
			}
			if i == dies {
				w.crash()
			}
			if !w.proceed() && i > dies {
				break
			}
		}
		switch phase := w.m.State().Phase; phase {
		case wire.PhaseReady, wire.PhaseFailed, wire.PhaseRemoved:
		default:
			t.Fatalf("it waits while %s: %v", phase, w.ledger)
		}
	})
}

func checkEnd(t *rapid.T, w *world, p pipeline.Pipeline, canceled bool) {
	phase := w.m.State().Phase
	switch phase {
	case wire.PhaseReady:
		if canceled {
			t.Fatal("ready after a cancel")
		}
		for _, s := range p.Steps {
			if s.Container() != nil && !w.containers[string(s.Key)+"/"] {
				t.Fatalf("ready, and the container of %s is gone", s.Key)
			}
			if s.Plugin != nil && !w.outside[s.Key] {
				t.Fatalf("ready, and plugin %s has no effect", s.Key)
			}
		}
		return
	case wire.PhaseFailed, wire.PhaseRemoved:
		if canceled != (phase == wire.PhaseRemoved) {
			t.Fatalf("cancelled %t, ended as %s", canceled, phase)
		}
	case wire.PhaseStuck:
		checkStuck(t, w)
	default:
		t.Fatalf("ended as %s", phase)
	}
	if len(w.containers) > 0 || w.network {
		t.Fatalf("%s, and left: %v, network %t", phase, w.containers, w.network)
	}
	for _, s := range p.Steps {
		undoable := s.Plugin != nil && s.Plugin.Component.CanUndo() && !w.stubborn[s.Key]
		if undoable && w.outside[s.Key] && phase != wire.PhaseStuck {
			t.Fatalf("%s, and plugin %s was not undone", phase, s.Key)
		}
	}
}

func checkStuck(t *rapid.T, w *world) {
	last := w.reports[len(w.reports)-1]
	if last.Phase != wire.PhaseStuck || len(last.Left) == 0 {
		t.Fatalf("stuck, and the last report is %+v", last)
	}
}

// checkLedger holds the executions to the order they must have.
func checkLedger(t *rapid.T, w *world, p pipeline.Pipeline) {
	for key, n := range w.jobRuns {
		if n > 1 {
			t.Fatalf("job %s ran %d times: %v", key, n, w.ledger)
		}
	}
	var started, deleted []string
	for _, line := range w.ledger {
		what, key, _ := strings.Cut(line, " ")
		step, _ := p.Step(pipeline.StepKey(key))
		switch what {
		case "rundelete":
			if !slices.Contains(deleted, key) {
				deleted = append(deleted, key)
			}
		case "runcreate":
			repeated := slices.Contains(started, key)
			if repeated && !step.Plugin.Component.Idempotent {
				t.Fatalf("plugin %s ran twice: %v", key, w.ledger)
			}
			started = appendOnce(t, w, started, key, len(deleted) > 0)
		case "start":
			started = appendOnce(t, w, started, key, false)
		}
	}
	// promise: P-01
	if !slices.IsSorted(started) {
		// Keys are in the order of the chain.
		t.Fatalf("started out of order: %v", w.ledger)
	}
	slices.Reverse(deleted)
	if !slices.IsSorted(deleted) {
		t.Fatalf("undone out of order: %v", w.ledger)
	}
}

func appendOnce(t *rapid.T, w *world, list []string, key string, undoing bool) []string {
	if slices.Contains(list, key) {
		return list
	}
	if undoing {
		t.Fatalf("%s was started while undoing: %v", key, w.ledger)
	}
	return append(list, key)
}

// checkReplay: the journal alone, and its compacted form, give the same state.
func checkReplay(t *rapid.T, w *world) {
	want := w.m.Snapshot()
	if d := cmp.Diff(want, engine.Replay("d", w.journal).Snapshot()); d != "" {
		t.Fatalf("replay differs: %s", d)
	}
	if d := cmp.Diff(want, engine.Replay("d", want).Snapshot()); d != "" {
		t.Fatalf("compacted replay differs: %s", d)
	}
}
