package pipeline_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/nullops/nullops/pipeline"
)

func graphOf(edges map[string][]string) pipeline.Pipeline {
	var p pipeline.Pipeline
	for key, needs := range edges {
		s := pipeline.Step{Key: pipeline.StepKey(key)}
		for _, n := range needs {
			s.Needs = append(s.Needs, pipeline.StepKey(n))
		}
		p.Steps = append(p.Steps, s)
	}
	return p
}

func TestOrder_TakesTheSmallestKeyFirst(t *testing.T) {
	got, err := pipeline.Order(graphOf(map[string][]string{
		"z": nil, "b": {"z"}, "a": {"z"}, "c": nil,
	}))
	want := []pipeline.StepKey{"c", "z", "a", "b"}
	if err != nil || !slices.Equal(got, want) {
		t.Fatalf("got %v, %v; want %v", got, err, want)
	}
}

func TestOrder_NamesTheCycleByItsPath(t *testing.T) {
	_, err := pipeline.Order(graphOf(map[string][]string{
		"a": {"c"}, "b": {"a"}, "c": {"b"}, "d": {"c"}, "e": nil,
	}))
	var cycle *pipeline.CycleError
	if !errors.As(err, &cycle) {
		t.Fatalf("got %v", err)
	}
	if got := fmt.Sprint(cycle.Path); got != "[a b c a]" {
		t.Errorf("path %s", got)
	}
}

// drawGraph makes an acyclic graph: edges lead from lower to higher numbers,
// keys are shuffled so that they say nothing about it.
func drawGraph(t *rapid.T) pipeline.Pipeline {
	n := rapid.IntRange(1, 12).Draw(t, "steps")
	names := rapid.Permutation(slices.Collect(letterKeys(n))).Draw(t, "names")
	var p pipeline.Pipeline
	for i := range n {
		s := pipeline.Step{Key: names[i]}
		for j := range i {
			if rapid.IntRange(0, 3).Draw(t, "edge") == 0 {
				s.Needs = append(s.Needs, names[j])
			}
		}
		p.Steps = append(p.Steps, s)
	}
	return p
}

func letterKeys(n int) func(func(pipeline.StepKey) bool) {
	return func(yield func(pipeline.StepKey) bool) {
		for i := range n {
			if !yield(pipeline.StepKey(fmt.Sprintf("s%02d", i))) {
				return
			}
		}
	}
}

func TestOrder_RespectsEdgesAndNotTheDrawing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawGraph(t)
		order, err := pipeline.Order(p)
		if err != nil {
			t.Fatal(err)
		}
		at := map[pipeline.StepKey]int{}
		for i, key := range order {
			at[key] = i
		}
		if len(at) != len(p.Steps) {
			t.Fatalf("%d of %d steps", len(at), len(p.Steps))
		}
		for _, s := range p.Steps {
			for _, need := range s.Needs {
				// promise: N-044
				if at[need] >= at[s.Key] {
					t.Fatalf("%s runs before %s, which it needs", s.Key, need)
				}
			}
		}
		p.Steps = rapid.Permutation(p.Steps).Draw(t, "redrawn")
		again, err := pipeline.Order(p)
		if err != nil || !slices.Equal(order, again) {
			t.Fatalf("redrawn: %v, %v; want %v", again, err, order)
		}
	})
}

func TestOrder_FindsEveryCycle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawGraph(t)
		if len(p.Steps) < 2 {
			return
		}
		order, err := pipeline.Order(p)
		if err != nil {
			t.Fatal(err)
		}
		// An edge from the last step back to the first, and one forward.
		for i := range p.Steps {
			switch p.Steps[i].Key {
			case order[0]:
				p.Steps[i].Needs = append(p.Steps[i].Needs, order[len(order)-1])
			case order[len(order)-1]:
				p.Steps[i].Needs = append(p.Steps[i].Needs, order[0])
			}
		}
		_, err = pipeline.Order(p)
		var cycle *pipeline.CycleError
		if !errors.As(err, &cycle) {
			t.Fatalf("got %v", err)
		}
		for i, key := range cycle.Path[1:] {
			s, _ := p.Step(key)
			if !slices.Contains(s.Needs, cycle.Path[i]) {
				t.Fatalf("%v: %s does not need %s", cycle.Path, key, cycle.Path[i])
			}
		}
	})
}

func TestReverse(t *testing.T) {
	in := []pipeline.StepKey{"a", "b"}
	if got := pipeline.Reverse(in); !slices.Equal(got, []pipeline.StepKey{"b", "a"}) || in[0] != "a" {
		t.Errorf("got %v, input now %v", got, in)
	}
}
