package pipeline

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// RefScope is the first word of a reference.
type RefScope string

// The scopes.
const (
	ScopeSteps      RefScope = "steps"
	ScopeSecrets    RefScope = "secrets"
	ScopeServices   RefScope = "services"
	ScopeDeployment RefScope = "deployment"
	ScopeInput      RefScope = "input"
)

// Ref is one reference:
//
//	steps.KEY.outputs.NAME
//	services.KEY.host | port | url
//	secrets.NAME
//	input.NAME
//	deployment.name | id | environment | project | domain
//
// Functions may stand around it, such as urlencode(secrets.NAME); they belong
// to the string that the reference is in (see functions.go).
type Ref struct {
	Scope RefScope
	// Key is the step's; it is empty for secrets, input and the deployment.
	Key StepKey
	// Name is the output, the secret, or the field.
	Name string
}

// String is the reference as it is written, without the braces.
func (r Ref) String() string {
	switch r.Scope {
	case ScopeSteps:
		return fmt.Sprintf("steps.%s.outputs.%s", r.Key, r.Name)
	case ScopeServices:
		return fmt.Sprintf("services.%s.%s", r.Key, r.Name)
	default:
		return string(r.Scope) + "." + r.Name
	}
}

// SyntaxError says where in a string a reference went wrong.
type SyntaxError struct {
	// Offset counts bytes from the start of the string.
	Offset  int
	Message string
}

// Error implements error.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("at character %d: %s", e.Offset+1, e.Message)
}

// Template is a parsed string: text with references in it.
type Template struct {
	parts []exprPart
}

// exprPart is text, or a reference when ref is set.
type exprPart struct {
	text string
	ref  *Ref
	// calls are the functions around the reference, the innermost first.
	calls []string
}

// Value is the result of evaluating a reference or a string.
type Value struct {
	Data any
	// Secret is set when any of it came from a secret.
	Secret bool
}

// Scope looks a reference up. An error means that it has no value.
type Scope func(Ref) (Value, error)

const (
	opening = "${{"
	closing = "}}"
)

// Parse reads a string. "$${{" is a literal "${{". Errors are *SyntaxError.
func Parse(s string) (Template, error) {
	var t Template
	rest, at := s, 0
	for rest != "" {
		i := strings.Index(rest, opening)
		if i < 0 {
			t.addText(rest)
			break
		}
		if i > 0 && rest[i-1] == '$' {
			t.addText(rest[:i-1] + opening)
			rest, at = rest[i+len(opening):], at+i+len(opening)
			continue
		}
		t.addText(rest[:i])
		end := strings.Index(rest[i:], closing)
		if end < 0 {
			return Template{}, &SyntaxError{at + i, `"${{" is not closed by "}}"`}
		}
		p, err := parseExpression(rest[i+len(opening):i+end], at+i+len(opening))
		if err != nil {
			return Template{}, err
		}
		t.parts = append(t.parts, p)
		rest, at = rest[i+end+len(closing):], at+i+end+len(closing)
	}
	return t, nil
}

func (t *Template) addText(s string) {
	if s == "" {
		return
	}
	if n := len(t.parts); n > 0 && t.parts[n-1].ref == nil {
		t.parts[n-1].text += s
		return
	}
	t.parts = append(t.parts, exprPart{text: s})
}

// parseRef reads a reference without spaces around it.
func parseRef(inner string, at int) (Ref, error) {
	if inner == "" {
		return Ref{}, &SyntaxError{at, "the reference is empty"}
	}
	words := strings.Split(inner, ".")
	for _, w := range words {
		if bad := invalidRefByte(w); bad >= 0 {
			return Ref{}, &SyntaxError{at + bad, fmt.Sprintf(
				"%q cannot stand in a reference; write no text and no operators there", w[bad])}
		}
		if w == "" {
			return Ref{}, &SyntaxError{at, "a reference has no empty words"}
		}
		at += len(w) + 1
	}
	start := at - len(inner) - 1
	return newRef(words, start)
}

// invalidRefByte returns the place of the first byte no reference may hold, or -1.
func invalidRefByte(w string) int {
	for i := range len(w) {
		c := w[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (c < '0' || c > '9') && c != '_' && c != '-' {
			return i
		}
	}
	return -1
}

func newRef(words []string, at int) (Ref, error) {
	fail := func(form string) (Ref, error) {
		return Ref{}, &SyntaxError{at, fmt.Sprintf("%q is not of the form %s",
			strings.Join(words, "."), form)}
	}
	switch RefScope(words[0]) {
	case ScopeSteps:
		if len(words) != 4 || words[2] != "outputs" {
			return fail("steps.KEY.outputs.NAME")
		}
		return Ref{ScopeSteps, StepKey(words[1]), words[3]}, nil
	case ScopeServices:
		if len(words) != 3 || !oneOf(words[2], "host", "port", "url") {
			return fail("services.KEY.host, .port or .url")
		}
		return Ref{ScopeServices, StepKey(words[1]), words[2]}, nil
	case ScopeSecrets:
		if len(words) != 2 {
			return fail("secrets.NAME")
		}
		return Ref{Scope: ScopeSecrets, Name: words[1]}, nil
	case ScopeInput:
		if len(words) != 2 {
			return fail("input.NAME")
		}
		return Ref{Scope: ScopeInput, Name: words[1]}, nil
	case ScopeDeployment:
		if len(words) != 2 || !oneOf(words[1], "name", "id", "environment", "project", "domain") {
			return fail("deployment.name, .id, .environment, .project or .domain")
		}
		return Ref{Scope: ScopeDeployment, Name: words[1]}, nil
	}
	return Ref{}, &SyntaxError{at, fmt.Sprintf(
		"%q is unknown; a reference starts with steps, services, secrets, input or deployment",
		words[0])}
}

func oneOf(s string, all ...string) bool {
	return slices.Contains(all, s)
}

// Refs returns the references in the order they are written.
func (t Template) Refs() []Ref {
	var refs []Ref
	for _, p := range t.parts {
		if p.ref != nil {
			refs = append(refs, *p.ref)
		}
	}
	return refs
}

// Single reports whether the string is exactly one reference without a
// function, which keeps the type of its value.
func (t Template) Single() (Ref, bool) {
	if len(t.parts) == 1 && t.parts[0].ref != nil && len(t.parts[0].calls) == 0 {
		return *t.parts[0].ref, true
	}
	return Ref{}, false
}

// Eval replaces the references by their values. The values are not scanned for references again.
func (t Template) Eval(scope Scope) (Value, error) {
	if _, ok := t.Single(); ok {
		return t.parts[0].evalRef(scope)
	}
	var b strings.Builder
	var secret bool
	for _, p := range t.parts {
		if p.ref == nil {
			b.WriteString(p.text)
			continue
		}
		v, err := p.evalRef(scope)
		if err != nil {
			return Value{}, err
		}
		text, err := toText(v.Data)
		if err != nil {
			return Value{}, fmt.Errorf("${{ %s }}: %w", p, err)
		}
		b.WriteString(text)
		secret = secret || v.Secret
	}
	return Value{Data: b.String(), Secret: secret}, nil
}

// toText formats a value inside other text: strings as they are, everything else as JSON.
func toText(data any) (string, error) {
	if s, ok := data.(string); ok {
		return s, nil
	}
	if data == nil {
		return "", errors.New("null cannot stand inside text")
	}
	encoded, err := json.Marshal(data)
	if err != nil {
		return "", fmt.Errorf("put into text: %w", err)
	}
	return string(encoded), nil
}

// Eval parses a string and fills its references in.
func Eval(s string, scope Scope) (Value, error) {
	t, err := Parse(s)
	if err != nil {
		return Value{}, err
	}
	return t.Eval(scope)
}

// EvalText is Eval for places that hold text only, such as an environment.
func EvalText(s string, scope Scope) (text string, secret bool, err error) {
	v, err := Eval(s, scope)
	if err != nil {
		return "", false, err
	}
	if v.Data == nil {
		return "", v.Secret, nil
	}
	text, err = toText(v.Data)
	return text, v.Secret, err
}

// EvalTree fills in the references of every string in a JSON tree. Keys of
// objects are not scanned. Errors begin with the path of the string.
func EvalTree(tree any, scope Scope) (Value, error) {
	return evalTree(tree, scope, "")
}

func evalTree(tree any, scope Scope, path string) (Value, error) {
	switch v := tree.(type) {
	case string:
		out, err := Eval(v, scope)
		if err != nil && path != "" {
			err = fmt.Errorf("%s: %w", path, err)
		}
		return out, err
	case []any:
		list := make([]any, len(v))
		var secret bool
		for i, item := range v {
			out, err := evalTree(item, scope, fmt.Sprintf("%s[%d]", path, i))
			if err != nil {
				return Value{}, err
			}
			list[i], secret = out.Data, secret || out.Secret
		}
		return Value{list, secret}, nil
	case map[string]any:
		object := make(map[string]any, len(v))
		var secret bool
		for _, key := range sortedKeys(v) {
			out, err := evalTree(v[key], scope, joinPath(path, key))
			if err != nil {
				return Value{}, err
			}
			object[key], secret = out.Data, secret || out.Secret
		}
		return Value{object, secret}, nil
	}
	return Value{Data: tree}, nil
}

func joinPath(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}
