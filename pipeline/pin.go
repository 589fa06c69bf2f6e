package pipeline

import (
	"maps"
	"slices"
	"strings"
)

// pinnedSource is the script that a pinned step becomes: it returns what it is given.
const pinnedSource = "export default ({parameters, secrets}) => " +
	"({outputs: {...parameters, ...secrets}});\n"

// IsPinned reports whether PinnedBranch made the step: it does nothing but return outputs.
func (s Step) IsPinned() bool {
	return s.Script != nil && s.Script.Source == pinnedSource
}

// PinnedBranch is Branch with given outputs in place of the steps that would produce them. Such a
// step becomes a script that returns its outputs, so that everything else treats it like any
// step; what only it needs does not run. No keys means all steps. An output is a literal value,
// but a secret one is a reference, because nothing secret is written into a pipeline.
func PinnedBranch(
	p Pipeline, pinned map[StepKey]map[string]any, keys ...StepKey,
) Pipeline {
	before := ancestorsByStep(p)
	p.Steps, p.Order = slices.Clone(p.Steps), nil
	for i, s := range p.Steps {
		if outputs, ok := pinned[s.Key]; ok {
			p.Steps[i] = pinStep(s, outputs)
		}
	}
	if len(keys) > 0 {
		p = Branch(p, keys...)
	}
	wanted := referredOutputs(p)
	for i, s := range p.Steps {
		if _, ok := pinned[s.Key]; !ok {
			continue
		}
		// Steps after it may rely on having waited for what it waited for.
		for _, earlier := range p.Steps {
			if before[s.Key][earlier.Key] {
				p.Steps[i].Needs = append(p.Steps[i].Needs, earlier.Key)
			}
		}
		if s.Script.Outputs != nil {
			s.Script.Outputs["required"] = wanted[s.Key]
		}
	}
	return p
}

// pinStep returns a step that gives these outputs and waits for nothing.
func pinStep(s Step, outputs map[string]any) Step {
	script := &ScriptStep{Source: pinnedSource}
	declared := s.Declares()
	if declared != nil {
		script.Outputs = maps.Clone(declared.Outputs)
	}
	for name, value := range outputs {
		if declared == nil || !declared.SecretOutput(name) {
			if script.Parameters == nil {
				script.Parameters = map[string]any{}
			}
			script.Parameters[name] = literalTree(value)
			continue
		}
		if script.Secrets == nil {
			script.Secrets = map[string]string{}
		}
		// Anything but a reference is refused by Validate.
		script.Secrets[name], _ = value.(string)
	}
	return Step{Key: s.Key, Script: script, Position: s.Position}
}

// referredOutputs lists the outputs that steps refer to, by the step that has them.
func referredOutputs(p Pipeline) map[StepKey][]any {
	names := map[StepKey][]any{}
	for _, s := range p.Steps {
		for _, text := range stepTexts(s) {
			t, err := Parse(text)
			if err != nil {
				// Validate says so.
				continue
			}
			for _, ref := range t.Refs() {
				if ref.Scope == ScopeSteps && !slices.Contains(names[ref.Key], any(ref.Name)) {
					names[ref.Key] = append(names[ref.Key], ref.Name)
				}
			}
		}
	}
	return names
}

// literalTree makes all text of a JSON tree literal.
func literalTree(tree any) any {
	switch v := tree.(type) {
	case string:
		return strings.ReplaceAll(v, opening, "$"+opening)
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = literalTree(item)
		}
		return list
	case map[string]any:
		object := make(map[string]any, len(v))
		for key, item := range v {
			object[key] = literalTree(item)
		}
		return object
	}
	return tree
}
