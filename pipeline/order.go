package pipeline

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// CycleError names a cycle by its path, first step repeated at the end.
type CycleError struct {
	Path []StepKey
}

// Error implements error.
func (e *CycleError) Error() string {
	return "the steps wait for each other in a circle: " + e.pathText()
}

func (e *CycleError) pathText() string {
	words := make([]string, len(e.Path))
	for i, key := range e.Path {
		words[i] = string(key)
	}
	return strings.Join(words, " → ")
}

// Order returns the order in which the steps run: every step after all it
// needs, and among those that could run next the smallest key first, so that
// the same graph has the same order however it was drawn. The error is a
// *CycleError, or names a need that is no step.
func Order(p Pipeline) ([]StepKey, error) {
	waits := make(map[StepKey]map[StepKey]bool, len(p.Steps))
	for _, s := range p.Steps {
		waits[s.Key] = map[StepKey]bool{}
	}
	for _, s := range p.Steps {
		for _, need := range s.Needs {
			if _, ok := waits[need]; !ok {
				return nil, fmt.Errorf("step %q needs %q, which does not exist", s.Key, need)
			}
			waits[s.Key][need] = true
		}
	}
	order := takeRunnable(waits)
	if len(waits) > 0 {
		return nil, &CycleError{Path: findCycle(waits)}
	}
	return order, nil
}

// takeRunnable removes from waits, smallest key first, all steps that can ever run.
func takeRunnable(waits map[StepKey]map[StepKey]bool) []StepKey {
	followers := map[StepKey][]StepKey{}
	var ready []StepKey
	for key, needs := range waits {
		for need := range needs {
			followers[need] = append(followers[need], key)
		}
		if len(needs) == 0 {
			ready = append(ready, key)
		}
	}
	order := make([]StepKey, 0, len(waits))
	for len(ready) > 0 {
		slices.Sort(ready)
		next := ready[0]
		ready = ready[1:]
		order = append(order, next)
		delete(waits, next)
		for _, f := range followers[next] {
			delete(waits[f], next)
			if len(waits[f]) == 0 {
				ready = append(ready, f)
			}
		}
	}
	return order
}

// findCycle finds a cycle in a graph where every step waits for another: following the
// smallest need must come back. The path runs in the direction of time.
func findCycle(waits map[StepKey]map[StepKey]bool) []StepKey {
	at := slices.Min(slices.Collect(maps.Keys(waits)))
	seen := map[StepKey]int{}
	var path []StepKey
	for {
		if first, ok := seen[at]; ok {
			path = path[first:]
			break
		}
		seen[at] = len(path)
		path = append(path, at)
		at = slices.Min(slices.Collect(maps.Keys(waits[at])))
	}
	slices.Reverse(path)
	low := slices.Index(path, slices.Min(path))
	path = slices.Concat(path[low:], path[:low])
	return append(path, path[0])
}

// findCycles finds one cycle in each strongly connected group of steps, and removes it
// before it searches the next.
func findCycles(p Pipeline) []*CycleError {
	var found []*CycleError
	waits := map[StepKey]map[StepKey]bool{}
	for _, s := range p.Steps {
		waits[s.Key] = map[StepKey]bool{}
	}
	for _, s := range p.Steps {
		for _, need := range s.Needs {
			if _, ok := waits[need]; ok {
				waits[s.Key][need] = true
			}
		}
	}
	for takeRunnable(waits); len(waits) > 0; takeRunnable(waits) {
		path := findCycle(waits)
		found = append(found, &CycleError{Path: path})
		for _, key := range path {
			delete(waits, key)
		}
		for _, needs := range waits {
			for _, key := range path {
				delete(needs, key)
			}
		}
	}
	return found
}

// Reverse is the order of undoing.
func Reverse(order []StepKey) []StepKey {
	out := slices.Clone(order)
	slices.Reverse(out)
	return out
}

// Step returns the step with the key.
func (p Pipeline) Step(key StepKey) (Step, bool) {
	for _, s := range p.Steps {
		if s.Key == key {
			return s, true
		}
	}
	return Step{}, false
}

// ancestorsByStep returns, for each step, all steps that certainly run before it. It
// tolerates cycles and unknown needs, so that validation can continue after reporting them.
func ancestorsByStep(p Pipeline) map[StepKey]map[StepKey]bool {
	needs := map[StepKey][]StepKey{}
	for _, s := range p.Steps {
		needs[s.Key] = s.Needs
	}
	all := make(map[StepKey]map[StepKey]bool, len(p.Steps))
	for _, s := range p.Steps {
		reached := map[StepKey]bool{}
		queue := slices.Clone(s.Needs)
		for len(queue) > 0 {
			key := queue[0]
			queue = queue[1:]
			if !reached[key] {
				reached[key] = true
				queue = append(queue, needs[key]...)
			}
		}
		all[s.Key] = reached
	}
	return all
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K {
	return slices.Sorted(maps.Keys(m))
}
