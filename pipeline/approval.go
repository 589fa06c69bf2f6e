package pipeline

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// ApprovalStep lets a run wait until a person answers its question. Approved,
// the answer is the step's outputs; rejected, too late or cancelled, the run
// fails like with any other step.
type ApprovalStep struct {
	// Prompt is the question. It may hold references, but none to a secret.
	Prompt string `json:"prompt"`
	// Fields are what the answer holds besides yes or no.
	Fields []ApprovalField `json:"fields,omitempty"`
	// Teams and Users may answer, if they can see the deployment. If both are empty, everybody
	// with full access to it may. Admins always may.
	Teams []string `json:"teams,omitempty"`
	Users []string `json:"users,omitempty"`
	// TimeoutSeconds is how long the run waits; zero means a day.
	TimeoutSeconds int `json:"timeout_seconds,omitempty"`
}

// ApprovalField is one value that the person who answers can fill in.
type ApprovalField struct {
	Name string `json:"name"`
	// Label is what people read; empty means the name.
	Label string    `json:"label,omitempty"`
	Type  FieldType `json:"type"`
	// Choices are the values of a choice.
	Choices []string `json:"choices,omitempty"`
	// Required has to be filled in to approve.
	Required bool `json:"required,omitempty"`
	// Default is the value of a field that is not filled in.
	Default any `json:"default,omitempty"`
}

// FieldType is what a field's value is.
type FieldType string

// The field types. A boolean that is not filled in is false.
const (
	FieldString  FieldType = "string"
	FieldNumber  FieldType = "number"
	FieldBoolean FieldType = "boolean"
	FieldChoice  FieldType = "choice"
)

// Outputs that every approval has. OutputAnswer is always "approved": a run does not
// continue otherwise.
const (
	OutputAnswer     = "answer"
	OutputAnsweredBy = "answered_by"
	OutputAnsweredAt = "answered_at"
)

// Limits of an approval. An unanswered one occupies room on a node until it times out, so the
// timeout is at most a month.
const (
	DefaultApprovalSeconds = 24 * 3600
	MaxApprovalSeconds     = 30 * 24 * 3600
	MaxPrompt              = 4000
	maxFields              = 20
	maxChoices             = 100
	maxAnswerers           = 50
	maxFieldText           = 4096
	maxLabel               = 200
)

// Seconds is how long the step waits.
func (a *ApprovalStep) Seconds() int { return cmp.Or(a.TimeoutSeconds, DefaultApprovalSeconds) }

// Field finds a field by its name.
func (a *ApprovalStep) Field(name string) (ApprovalField, bool) {
	for _, f := range a.Fields {
		if f.Name == name {
			return f, true
		}
	}
	return ApprovalField{}, false
}

// Answers holds what a person filled in to the declared fields, and fills in
// defaults. A rejection needs no field. Each problem's field is fields.NAME.
func (a *ApprovalStep) Answers(approved bool, given map[string]any) (map[string]any, []Problem) {
	var problems []Problem
	wrong := func(name, code, message string) {
		problems = append(problems, Problem{Field: "fields." + name, Code: code, Message: message})
	}
	out := map[string]any{}
	for _, name := range sortedKeys(given) {
		f, ok := a.Field(name)
		if !ok {
			wrong(name, "unknown_field", fmt.Sprintf("the question has no field %q; it has %s",
				name, a.fieldNames()))
			continue
		}
		if why := f.explainMismatch(given[name]); why != "" {
			wrong(name, "wrong_value", why)
			continue
		}
		out[name] = given[name]
	}
	for _, f := range a.Fields {
		_, filled := out[f.Name]
		_, tried := given[f.Name]
		if filled && f.Required && out[f.Name] == "" {
			wrong(f.Name, "required", fmt.Sprintf("fill in %s", cmp.Or(f.Label, f.Name)))
		}
		if filled || tried || !approved {
			continue
		}
		switch {
		case f.Default != nil:
			out[f.Name] = f.Default
		case f.Required:
			wrong(f.Name, "required", fmt.Sprintf("fill in %s", cmp.Or(f.Label, f.Name)))
		case f.Type == FieldBoolean:
			out[f.Name] = false
		}
	}
	return out, problems
}

func (a *ApprovalStep) fieldNames() string {
	if len(a.Fields) == 0 {
		return "none"
	}
	names := make([]string, len(a.Fields))
	for i, f := range a.Fields {
		names[i] = f.Name
	}
	return strings.Join(names, ", ")
}

// explainMismatch says why a value does not fit the field, or "" if it does. It does not
// repeat the value, which may be a secret pasted by mistake.
func (f ApprovalField) explainMismatch(value any) string {
	switch v := value.(type) {
	case bool:
		if f.Type == FieldBoolean {
			return ""
		}
	case float64:
		if f.Type == FieldNumber || f.Type == FieldInteger {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return "the number is out of range"
			}
			return ""
		}
	case string:
		if f.Type == FieldString || f.Type == FieldChoice {
			return f.explainTextMismatch(v)
		}
	}
	article := "a"
	if f.Type == FieldInteger {
		article = "an"
	}
	return fmt.Sprintf("give %s %s, not %s", article, f.valueName(), kindOf(value))
}

func (f ApprovalField) explainTextMismatch(text string) string {
	switch {
	case strings.Contains(text, "\x00"):
		return "the text holds a NUL character, which no program can receive"
	case f.Type == FieldChoice && !slices.Contains(f.Choices, text):
		return "choose one of " + strings.Join(f.Choices, ", ")
	case len(text) > maxFieldText:
		return fmt.Sprintf("%d bytes; %d are the most", len(text), maxFieldText)
	}
	return ""
}

func (f ApprovalField) valueName() string {
	if f.Type == FieldChoice {
		return "string"
	}
	return string(f.Type)
}

// kindOf is what JSON calls a value.
func kindOf(value any) string {
	switch value.(type) {
	case nil:
		return "null"
	case bool:
		return "a boolean"
	case float64:
		return "a number"
	case string:
		return "a string"
	case []any:
		return "a list"
	}
	return "an object"
}

// outputType returns the JSON types of an output, and whether there is one.
func (a *ApprovalStep) outputType(name string) ([]string, bool) {
	if oneOf(name, OutputAnswer, OutputAnsweredBy, OutputAnsweredAt) {
		return []string{"string"}, true
	}
	f, ok := a.Field(name)
	return []string{f.valueName()}, ok
}

// mayBeMissing reports whether an approved answer may come without the output.
func (a *ApprovalStep) mayBeMissing(name string) bool {
	f, ok := a.Field(name)
	return ok && !f.Required && f.Default == nil && f.Type != FieldBoolean
}
