package pipeline

import (
	"fmt"
	"slices"
	"strings"
)

// checkTree checks the references of every string in a JSON tree.
func (v *validator) checkTree(field string, tree any) {
	switch t := tree.(type) {
	case string:
		v.checkText(field, t)
	case []any:
		for i, item := range t {
			v.checkTree(fmt.Sprintf("%s[%d]", field, i), item)
		}
	case map[string]any:
		for _, key := range sortedKeys(t) {
			v.checkTree(field+"."+key, t[key])
		}
	}
}

// checkText checks one string and returns its references.
func (v *validator) checkText(field, s string) []Ref {
	if strings.Contains(s, "\x00") {
		v.addProblem(field, "nul", "the text holds a NUL character, which no program can receive")
	}
	t, err := Parse(s)
	if err != nil {
		v.addProblem(field, "syntax", "%v", err)
		return nil
	}
	for _, ref := range t.Refs() {
		v.checkRef(field, ref)
	}
	return t.Refs()
}

func (v *validator) checkRef(field string, ref Ref) {
	switch ref.Scope {
	case ScopeSecrets:
		if !slices.Contains(v.settings.Secrets, ref.Name) {
			v.addProblem(field, "unknown_secret", "${{ %s }}: the project has no secret %q",
				ref, ref.Name)
		}
	case ScopeSteps:
		v.stepRef(field, ref)
	case ScopeServices:
		v.serviceRef(field, ref)
	case ScopeInput:
		v.inputRef(field, ref)
	case ScopeDeployment:
	}
}

func (v *validator) stepRef(field string, ref Ref) {
	s, ok := v.p.Step(ref.Key)
	switch {
	case !ok:
		v.addProblem(field, "unknown_step", "${{ %s }}: there is no step %q", ref, ref.Key)
	case s.Approval != nil:
		v.checkAnswer(field, ref, s.Approval)
		v.checkAncestor(field, ref)
	case s.Job != nil:
		v.addProblem(field, "unknown_output", "${{ %s }}: step %q is a job, which has no outputs; let "+
			"it write to a shared volume, or use a plugin", ref, ref.Key)
	case s.Plugin == nil && s.Script == nil:
		v.addProblem(field, "unknown_output", "${{ %s }}: step %q is a service, which has no outputs; "+
			"use services.%s.host, .port or .url", ref, ref.Key, ref.Key)
	default:
		v.checkOutput(field, ref, s.Declares())
		v.checkAncestor(field, ref)
	}
}

func (v *validator) checkOutput(field string, ref Ref, c *Component) {
	if c == nil || !c.declaresOutputs() {
		return
	}
	if _, ok := schemaProperty(c.Outputs, ref.Name); !ok {
		v.addProblem(
			field,
			"unknown_output",
			"${{ %s }}: step %q has no output %q",
			ref,
			ref.Key,
			ref.Name,
		)
	}
}

// checkAnswer requires a field that always has a value: an optional one would fail the run
// only after the approval was given.
func (v *validator) checkAnswer(field string, ref Ref, a *ApprovalStep) {
	if _, ok := a.outputType(ref.Name); !ok {
		v.addProblem(field, "unknown_output", "${{ %s }}: approval %q has no field %q; it has %s, %s, "+
			"%s and %s", ref, ref.Key, ref.Name, OutputAnswer, OutputAnsweredBy, OutputAnsweredAt,
			a.fieldNames())
		return
	}
	if a.mayBeMissing(ref.Name) {
		v.addProblem(field, "optional_output", "${{ %s }}: whoever answers may leave %q empty; make it "+
			"required or give it a default", ref, ref.Name)
	}
}

func (v *validator) checkAncestor(field string, ref Ref) {
	if v.at == ref.Key {
		v.addProblem(field, "not_ancestor", "${{ %s }}: step %q refers to itself", ref, v.at)
		return
	}
	if !v.before[v.at][ref.Key] {
		v.addProblem(field, "not_ancestor", "${{ %s }}: step %q does not wait for %q; draw an edge "+
			"from %q to it", ref, v.at, ref.Key, ref.Key)
	}
}

// serviceRef requires that host and port belong to an earlier step, since their user is
// going to connect. A URL is only text: a plugin may register the address of a service that
// starts later. A job has ended before another step could connect to it.
func (v *validator) serviceRef(field string, ref Ref) {
	s, _ := v.p.Step(ref.Key)
	c := s.Container()
	if c == nil {
		v.addProblem(field, "unknown_service", "${{ %s }}: there is no service step %q", ref, ref.Key)
		return
	}
	if s.Job != nil && ref.Key != v.at {
		v.addProblem(field, "job", "${{ %s }}: step %q is a job, which has ended when another step "+
			"runs; refer to a service", ref, ref.Key)
		return
	}
	exposed := slices.ContainsFunc(c.Ports, func(p Port) bool { return p.Expose })
	switch {
	case ref.Name == "port" && len(c.Ports) == 0:
		v.addProblem(field, "no_port", "${{ %s }}: service %q declares no port", ref, ref.Key)
	case ref.Name == "url" && !exposed:
		v.addProblem(field, "not_exposed", "${{ %s }}: service %q exposes no port", ref, ref.Key)
	case ref.Name != "url" && ref.Key != v.at:
		v.checkAncestor(field, ref)
	}
}

// typeOf returns the JSON types a reference may come to; none means any.
func (v *validator) typeOf(ref Ref) []string {
	if ref.Scope == ScopeServices && ref.Name == "port" {
		return []string{"integer"}
	}
	if ref.Scope == ScopeInput {
		f, _ := v.p.InputField(ref.Name)
		return []string{f.valueName()}
	}
	if ref.Scope != ScopeSteps {
		return []string{"string"}
	}
	s, ok := v.p.Step(ref.Key)
	if ok && s.Approval != nil {
		types, _ := s.Approval.outputType(ref.Name)
		return types
	}
	c := s.Declares()
	if !ok || c == nil {
		return nil
	}
	property, _ := schemaProperty(c.Outputs, ref.Name)
	return schemaTypes(property)
}

// isSecret reports whether a reference is known to be secret before it runs.
func (v *validator) isSecret(ref Ref) bool {
	if ref.Scope == ScopeSecrets {
		return true
	}
	s, ok := v.p.Step(ref.Key)
	c := s.Declares()
	return ref.Scope == ScopeSteps && ok && c != nil && c.SecretOutput(ref.Name)
}
