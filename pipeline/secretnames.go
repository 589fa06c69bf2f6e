package pipeline

import (
	"maps"
	"slices"
)

// SecretNames lists the project secrets that the pipeline refers to anywhere,
// sorted. Strings that do not parse are Validate's business.
func SecretNames(p Pipeline) []string { return refNames(p, ScopeSecrets) }

// RefersToOutputs reports whether a string has a value only after an earlier step has ended. One
// that does not parse is Validate's business, and counts as such.
func RefersToOutputs(text string) bool {
	t, err := Parse(text)
	return err != nil || slices.ContainsFunc(t.Refs(),
		func(r Ref) bool { return r.Scope == ScopeSteps })
}

// refNames lists the names that the steps refer to in one scope, sorted.
func refNames(p Pipeline, scope RefScope) []string {
	found := map[string]bool{}
	for _, s := range p.Steps {
		for _, text := range stepTexts(s) {
			t, err := Parse(text)
			if err != nil {
				continue
			}
			for _, ref := range t.Refs() {
				if ref.Scope == scope {
					found[ref.Name] = true
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// stepTexts lists every string of a step that may hold references.
func stepTexts(s Step) []string {
	var all []string
	if c := s.Container(); c != nil {
		all = append(all, c.Entrypoint...)
		all = append(all, c.Command...)
		for _, v := range c.Env {
			all = append(all, v)
		}
		for _, f := range c.Files {
			all = append(all, f.Content)
		}
	}
	if s.Plugin != nil {
		for _, v := range s.Plugin.Secrets {
			all = append(all, v)
		}
		all = appendTexts(all, s.Plugin.Parameters)
	}
	if s.Script != nil {
		for _, v := range s.Script.Secrets {
			all = append(all, v)
		}
		all = appendTexts(all, s.Script.Parameters)
	}
	if s.Approval != nil {
		all = append(all, s.Approval.Prompt)
	}
	return all
}

func appendTexts(all []string, tree any) []string {
	switch v := tree.(type) {
	case string:
		return append(all, v)
	case []any:
		for _, item := range v {
			all = appendTexts(all, item)
		}
	case map[string]any:
		for _, item := range v {
			all = appendTexts(all, item)
		}
	}
	return all
}
