package pipeline

import (
	"fmt"
	"maps"
	"slices"
)

// Version is what a tag stood for at the moment of creating.
type Version struct {
	Tag    string `json:"tag"`
	Digest string `json:"digest"`
}

// WithVersions fills the versions of services and jobs in and returns a copy; p is
// not changed. A selectable service must have a version, whose tag fits the
// pattern; a pinned one may only have its own tag. Every service must end with
// a digest, or the same deployment could be two different things.
func WithVersions(p Pipeline, versions map[StepKey]Version) (Pipeline, []Problem) {
	out := p
	out.Steps, out.Comments = slices.Clone(p.Steps), nil
	var problems []Problem
	for i, s := range out.Steps {
		c := s.Container()
		if c == nil || c.Image == nil {
			continue
		}
		image := *c.Image
		v, chosen := versions[s.Key]
		if problem := pickVersion(s.Key, &image, v, chosen); problem != nil {
			problems = append(problems, *problem)
			continue
		}
		out.Steps[i] = s.WithContainer(func(c *ServiceStep) { c.Image = &image })
	}
	return out, append(problems, unknownServices(p, versions)...)
}

func pickVersion(key StepKey, image *Image, v Version, chosen bool) *Problem {
	fail := func(code, format string, args ...any) *Problem {
		return &Problem{Step: key, Field: "tag", Code: code, Message: fmt.Sprintf(format, args...)}
	}
	switch {
	case !chosen && image.TagMode == Selectable && image.Digest == "":
		return fail("missing_version", "choose a version for service %q", key)
	case chosen && image.TagMode == Pinned && v.Tag != image.Tag:
		return fail("pinned", "service %q is pinned to %q; %q cannot be chosen",
			key, image.Tag, v.Tag)
	case chosen && image.TagMode == Selectable:
		ok, err := MatchTag(image.Pattern, v.Tag)
		if err != nil {
			return fail("pattern", "%v", err)
		}
		if !ok {
			return fail("outside_pattern", "tag %q of service %q does not fit the pattern %q",
				v.Tag, key, image.Pattern)
		}
	}
	if chosen {
		image.Tag, image.Digest = v.Tag, v.Digest
	}
	if !isDigest(image.Digest) {
		return fail("missing_digest", "the version %q of service %q has no digest", image.Tag, key)
	}
	return nil
}

func unknownServices(p Pipeline, versions map[StepKey]Version) []Problem {
	var problems []Problem
	for _, key := range slices.Sorted(maps.Keys(versions)) {
		if s, ok := p.Step(key); !ok || s.Container() == nil {
			problems = append(problems, Problem{Step: key, Field: "tag", Code: "unknown_service",
				Message: fmt.Sprintf("the pipeline has no service %q", key)})
		}
	}
	return problems
}

// Literals returns a copy of a plugin's parameters for a check against its schema, and the
// JSON pointers (RFC 6901) of the strings that hold references. The value of a reference is
// not known yet, so an error at or below such a pointer is meaningless; Validate compares
// declared types.
func Literals(parameters map[string]any) (tree map[string]any, references []string) {
	tree = make(map[string]any, len(parameters))
	for _, key := range sortedKeys(parameters) {
		value, refs := evalLiterals(parameters[key], "/"+pointerToken(key))
		tree[key] = value
		references = append(references, refs...)
	}
	return tree, references
}

func evalLiterals(v any, at string) (any, []string) {
	switch v := v.(type) {
	case string:
		t, err := Parse(v)
		if err != nil || len(t.Refs()) > 0 {
			return v, []string{at}
		}
		text, _ := t.Eval(nil)
		return text.Data, nil
	case []any:
		var references []string
		list := make([]any, len(v))
		for i, item := range v {
			value, refs := evalLiterals(item, fmt.Sprintf("%s/%d", at, i))
			list[i], references = value, append(references, refs...)
		}
		return list, references
	case map[string]any:
		var references []string
		object := make(map[string]any, len(v))
		for _, key := range sortedKeys(v) {
			value, refs := evalLiterals(v[key], at+"/"+pointerToken(key))
			object[key], references = value, append(references, refs...)
		}
		return object, references
	}
	return v, nil
}
