package pipeline

import "slices"

// Branch is the part of a pipeline that some steps need: the steps themselves and,
// transitively, what they wait for and refer to, fields of the input included. Keys of missing
// steps are ignored. The caller computes the order again.
func Branch(p Pipeline, keys ...StepKey) Pipeline {
	wanted := map[StepKey]bool{}
	for next := slices.Clone(keys); len(next) > 0; {
		key := next[0]
		next = next[1:]
		s, ok := p.Step(key)
		if !ok || wanted[key] {
			continue
		}
		wanted[key] = true
		next = append(append(next, s.Needs...), referredSteps(s)...)
	}
	p.Steps = slices.DeleteFunc(slices.Clone(p.Steps),
		func(s Step) bool { return !wanted[s.Key] })
	p.Order, p.Input = nil, referredInput(p)
	return p
}

// referredSteps lists the steps that the values of a step refer to.
func referredSteps(s Step) []StepKey {
	var all []StepKey
	for _, text := range stepTexts(s) {
		t, err := Parse(text)
		if err != nil {
			// Validate says so.
			continue
		}
		for _, ref := range t.Refs() {
			if ref.Scope == ScopeSteps || ref.Scope == ScopeServices {
				all = append(all, ref.Key)
			}
		}
	}
	return all
}
