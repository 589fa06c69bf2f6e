package pipeline

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// InputField is one value that whoever creates a deployment may set. Steps read it as
// ${{ input.NAME }}. It is no secret: everybody who sees the deployment reads it.
type InputField struct {
	// ApprovalField has the name, the type, the default, and what else both kinds of fields
	// share.
	ApprovalField
	Description string `json:"description,omitempty"`
	// Min and Max limit a number.
	Min *float64 `json:"min,omitempty"`
	Max *float64 `json:"max,omitempty"`
	// MinLength and MaxLength limit the characters of a string; zero means no limit of its own.
	MinLength int `json:"min_length,omitempty"`
	MaxLength int `json:"max_length,omitempty"`
	// Pattern is a regular expression (RE2) that the whole of a string matches.
	Pattern string `json:"pattern,omitempty"`
}

// InputRequired is the code of the problem that a request does not fill in a required field.
const InputRequired = "required"

// FieldInteger is a whole number. Only input has it: an approval's fields are of the other types.
const FieldInteger FieldType = "integer"

// Limits of a pipeline's input. They bound what is stored with each run, and what a browser
// shows of it.
const (
	maxInputFields  = 50
	maxInputPattern = 500
	maxInputText    = 2000
	// MaxInput bounds all values of a request together, as JSON.
	MaxInput = 32 << 10
)

// InputField finds a declared field by its name.
func (p Pipeline) InputField(name string) (InputField, bool) {
	for _, f := range p.Input {
		if f.Name == name {
			return f, true
		}
	}
	return InputField{}, false
}

// FillInput checks the values of a request against the declared fields and fills in defaults.
// Each problem's field is input.NAME. Every field that a step can refer to has a value in the
// result if there is no problem.
func FillInput(p Pipeline, given map[string]any) (map[string]any, []Problem) {
	if len(p.Input) == 0 && len(given) == 0 {
		return nil, nil
	}
	var problems []Problem
	wrong := func(name, code, message string) {
		problems = append(problems, Problem{Field: "input." + name, Code: code, Message: message})
	}
	filled := map[string]any{}
	for _, name := range sortedKeys(given) {
		f, ok := p.InputField(name)
		if !ok {
			wrong(name, "unknown_input", p.explainUnknownInput(name))
			continue
		}
		if why := f.explainMismatch(given[name]); why != "" {
			wrong(name, "wrong_value", why)
			continue
		}
		filled[name] = given[name]
	}
	for _, f := range p.Input {
		value, has := filled[f.Name]
		_, tried := given[f.Name]
		switch {
		case has && f.Required && value == "", !has && !tried && f.Default == nil && f.Required:
			wrong(f.Name, InputRequired, "fill in "+cmp.Or(f.Label, f.Name))
		case has || tried:
		case f.Default != nil:
			filled[f.Name] = f.Default
		case f.Type == FieldBoolean:
			filled[f.Name] = false
		}
	}
	if encoded, err := json.Marshal(filled); err != nil || len(encoded) > MaxInput {
		problems = append(problems, Problem{Field: "input", Code: "too_large", Message: fmt.Sprintf(
			"%d bytes together; %d are the most", len(encoded), MaxInput)})
	}
	return filled, problems
}

func (p Pipeline) explainUnknownInput(name string) string {
	if len(p.Input) == 0 {
		return fmt.Sprintf("the pipeline takes no input; leave %q out", name)
	}
	return fmt.Sprintf("the pipeline declares no input %q; it declares %s", name, p.inputNames())
}

func (p Pipeline) inputNames() string {
	names := make([]string, len(p.Input))
	for i, f := range p.Input {
		names[i] = f.Name
	}
	return cmp.Or(strings.Join(names, ", "), "none")
}

// InputNames lists the input fields that the steps refer to, sorted.
func InputNames(p Pipeline) []string { return refNames(p, ScopeInput) }

// explainMismatch says why a value does not fit the field, or "" if it does. It does not repeat
// the value.
func (f InputField) explainMismatch(value any) string {
	if why := f.ApprovalField.explainMismatch(value); why != "" {
		return why
	}
	switch v := value.(type) {
	case float64:
		return f.explainNumber(v)
	case string:
		if f.Type == FieldString {
			return f.explainLength(v)
		}
	}
	return ""
}

func (f InputField) explainNumber(n float64) string {
	switch {
	case f.Type == FieldInteger && (n != math.Trunc(n) || math.Abs(n) >= maxExact):
		return "give a whole number"
	case f.Min != nil && n < *f.Min:
		return fmt.Sprintf("give at least %v", *f.Min)
	case f.Max != nil && n > *f.Max:
		return fmt.Sprintf("give at most %v", *f.Max)
	}
	return ""
}

func (f InputField) explainLength(text string) string {
	length := utf8.RuneCountInString(text)
	switch {
	case length < f.MinLength:
		return fmt.Sprintf("%d characters; give at least %d", length, f.MinLength)
	case f.MaxLength > 0 && length > f.MaxLength:
		return fmt.Sprintf("%d characters; give at most %d", length, f.MaxLength)
	case f.Pattern == "" || text == "" && !f.Required && f.MinLength == 0:
		return ""
	}
	// A saved pipeline has patterns that compile.
	whole, err := regexp.Compile(`\A(?:` + f.Pattern + `)\z`)
	if err != nil || !whole.MatchString(text) {
		return "it does not match the pattern " + f.Pattern
	}
	return ""
}

// mayBeMissing reports whether a request may leave the field without a value.
func (f InputField) mayBeMissing() bool {
	return !f.Required && f.Default == nil && f.Type != FieldBoolean
}

// referredInput keeps the fields that steps refer to.
func referredInput(p Pipeline) []InputField {
	names := InputNames(p)
	var kept []InputField
	for _, f := range p.Input {
		if slices.Contains(names, f.Name) {
			kept = append(kept, f)
		}
	}
	return kept
}
