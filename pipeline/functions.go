package pipeline

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// Functions of references. The set is closed: each of them writes a value in
// the form that a place needs, none of them decides or looks anything up.
const (
	funcBase64    = "base64"
	funcJSON      = "json"
	funcLower     = "lower"
	funcURLEncode = "urlencode"
)

// knownFunctions is how messages list the functions.
const knownFunctions = "the functions are base64, json, lower and urlencode"

// maxCalls is how many functions may stand in one another.
const maxCalls = 3

// parseExpression parses the text between the braces: a reference, or one with functions around it.
func parseExpression(body string, at int) (exprPart, error) {
	inner := strings.TrimLeft(body, " \t")
	at += len(body) - len(inner)
	inner = strings.TrimRight(inner, " \t")
	open := strings.IndexByte(inner, '(')
	if open < 0 {
		ref, err := parseRef(inner, at)
		return exprPart{ref: &ref}, err
	}
	name := strings.TrimRight(inner[:open], " \t")
	if !oneOf(name, funcBase64, funcJSON, funcLower, funcURLEncode) {
		return exprPart{}, &SyntaxError{at, fmt.Sprintf("there is no function %q; %s",
			name, knownFunctions)}
	}
	if !strings.HasSuffix(inner, ")") {
		return exprPart{}, refuseArgument(at, name, `")" has to end it`)
	}
	return parseCall(name, inner[open+1:len(inner)-1], at, at+open+1)
}

// parseCall reads the argument of a function and puts the function around it.
func parseCall(name, argument string, at, argumentAt int) (exprPart, error) {
	if strings.Contains(argument, ",") {
		return exprPart{}, refuseArgument(at, name, "it has several arguments")
	}
	if strings.Trim(argument, " \t") == "" {
		return exprPart{}, refuseArgument(at, name, "it has no argument")
	}
	p, err := parseExpression(argument, argumentAt)
	if wrong := (*SyntaxError)(nil); errors.As(err, &wrong) {
		if strings.Contains(wrong.Message, knownFunctions) {
			return exprPart{}, wrong
		}
		return exprPart{}, refuseArgument(wrong.Offset, name, wrong.Message)
	}
	if len(p.calls) >= maxCalls {
		return exprPart{}, &SyntaxError{at, fmt.Sprintf("more than %d functions in one another; %s",
			maxCalls, knownFunctions)}
	}
	p.calls = append(p.calls, name)
	return p, nil
}

func refuseArgument(at int, name, why string) *SyntaxError {
	return &SyntaxError{at, fmt.Sprintf("%s takes exactly one reference, such as "+
		"%s(secrets.NAME), but %s; %s", name, name, why, knownFunctions)}
}

// String is the expression as it is written, without the braces.
func (p exprPart) String() string {
	text := p.ref.String()
	for _, name := range p.calls {
		text = name + "(" + text + ")"
	}
	return text
}

// applyFunction returns the result of a function, which is always text.
func applyFunction(name string, data any) (string, error) {
	if name == funcJSON {
		return encodeJSON(data)
	}
	text, err := toText(data)
	if err != nil {
		return "", err
	}
	switch name {
	case funcBase64:
		return base64.StdEncoding.EncodeToString([]byte(text)), nil
	case funcLower:
		return strings.ToLower(text), nil
	default:
		// A plus means a space in forms only; %20 is right everywhere in a URL.
		return strings.ReplaceAll(url.QueryEscape(text), "+", "%20"), nil
	}
}

// encodeJSON leaves <, > and & as they are, since a file of JSON is no HTML.
func encodeJSON(data any) (string, error) {
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(data); err != nil {
		return "", fmt.Errorf("write as JSON: %w", err)
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

// evalRef returns the value of a reference after its functions were applied.
func (p exprPart) evalRef(scope Scope) (Value, error) {
	v, err := scope(*p.ref)
	if err != nil {
		return Value{}, fmt.Errorf("${{ %s }}: %w", p, err)
	}
	for _, name := range p.calls {
		if v.Data, err = applyFunction(name, v.Data); err != nil {
			return Value{}, fmt.Errorf("${{ %s }}: %w", p, err)
		}
	}
	return v, nil
}

// Derived is a text that a function made of a secret.
type Derived struct {
	From Ref
	Text string
}

// DeriveSecrets lists the results of functions that a pipeline applies to secrets,
// including intermediate results: all of them reveal the secret and must be masked.
// References without a value yet are left out.
func DeriveSecrets(p Pipeline, scope Scope) []Derived {
	var all []Derived
	for _, s := range p.Steps {
		for _, text := range stepTexts(s) {
			t, err := Parse(text)
			if err != nil {
				continue
			}
			for _, one := range t.parts {
				all = append(all, one.deriveSecrets(scope)...)
			}
		}
	}
	return all
}

func (p exprPart) deriveSecrets(scope Scope) []Derived {
	if len(p.calls) == 0 {
		return nil
	}
	v, err := scope(*p.ref)
	if err != nil || !v.Secret {
		return nil
	}
	var all []Derived
	data := v.Data
	for _, name := range p.calls {
		text, err := applyFunction(name, data)
		if err != nil {
			return all
		}
		data = text
		all = append(all, Derived{*p.ref, withoutQuotes(name, text)})
	}
	return all
}

// withoutQuotes takes the quotes of a JSON string away. They are no part of
// the secret, and a log of JSON should stay JSON where it is hidden.
func withoutQuotes(name, text string) string {
	if name != funcJSON || !strings.HasPrefix(text, `"`) {
		return text
	}
	return strings.TrimSuffix(strings.TrimPrefix(text, `"`), `"`)
}
