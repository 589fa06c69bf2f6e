package pipeline

import (
	"fmt"
	"slices"
	"strings"
)

func (v *validator) checkApproval(a *ApprovalStep) {
	if strings.TrimSpace(a.Prompt) == "" {
		v.addProblem("approval.prompt", "required", "the step asks nothing; write the question")
	}
	if len(a.Prompt) > MaxPrompt {
		v.addProblem("approval.prompt", "too_long", "%d bytes; %d are the most", len(a.Prompt), MaxPrompt)
	}
	for _, ref := range v.checkText("approval.prompt", a.Prompt) {
		if v.isSecret(ref) {
			v.addProblem("approval.prompt", "secret",
				"${{ %s }} is secret, and everybody who sees the deployment reads the question", ref)
		}
	}
	if a.TimeoutSeconds < 0 || a.TimeoutSeconds > MaxApprovalSeconds {
		v.addProblem("approval.timeout_seconds", "range", "%d seconds; give 1 to %d, or 0 for a day",
			a.TimeoutSeconds, MaxApprovalSeconds)
	}
	v.checkAnswerers("approval.teams", "team", a.Teams)
	v.checkAnswerers("approval.users", "user", a.Users)
	if len(a.Fields) > maxFields {
		v.addProblem(
			"approval.fields",
			"too_many",
			"%d fields; %d are the most",
			len(a.Fields),
			maxFields,
		)
	}
	seen := map[string]bool{}
	for i, f := range a.Fields {
		field := fmt.Sprintf("approval.fields[%d]", i)
		v.checkFieldName(field+".name", f.Name, seen)
		if oneOf(f.Name, OutputAnswer, OutputAnsweredBy, OutputAnsweredAt) {
			v.addProblem(field+".name", "reserved",
				"every approval has an output %q; choose another name", f.Name)
		}
		seen[f.Name] = true
		v.checkFieldType(field, f, FieldString, FieldNumber, FieldBoolean, FieldChoice)
	}
}

// checkAnswerers need not exist yet: a team is made after the projects it is about.
// If none ever does, an admin can answer.
func (v *validator) checkAnswerers(field, what string, names []string) {
	if len(names) > maxAnswerers {
		v.addProblem(field, "too_many", "%d %ss; %d are the most", len(names), what, maxAnswerers)
	}
	seen := map[string]bool{}
	for i, name := range names {
		at := fmt.Sprintf("%s[%d]", field, i)
		if name == "" {
			v.addProblem(at, "required", "give the name of a %s", what)
		}
		if seen[name] {
			v.addProblem(at, "duplicate", "%s %q is listed twice", what, name)
		}
		seen[name] = true
	}
}

func (v *validator) checkFieldName(field, name string, seen map[string]bool) {
	switch {
	case !matchesExpression(`^[A-Za-z][A-Za-z0-9_-]{0,39}$`, name):
		v.addProblem(field, "name", "the field's name %q must be 1 to 40 of a-z, A-Z, 0-9, _ and -, "+
			"starting with a letter", name)
	case seen[name]:
		v.addProblem(field, "duplicate", "two fields have the name %q", name)
	}
}

// checkFieldType checks what the fields of approvals and of input share.
func (v *validator) checkFieldType(field string, f ApprovalField, known ...FieldType) {
	if len(f.Label) > maxLabel {
		v.addProblem(field+".label", "too_long", "%d bytes; %d are the most", len(f.Label), maxLabel)
	}
	switch {
	case !slices.Contains(known, f.Type):
		v.addProblem(field+".type", "type", "%q is unknown; use %s", f.Type, joinTypes(known))
		return
	case f.Type == FieldChoice:
		v.checkChoices(field+".choices", f.Choices)
	case len(f.Choices) > 0:
		v.addProblem(field+".choices", "choices", "only a field of type choice has choices")
	}
	if f.Default == nil {
		return
	}
	if why := f.explainMismatch(f.Default); why != "" {
		v.addProblem(field+".default", "wrong_type", "the default does not fit: %s", why)
	}
}

func (v *validator) checkChoices(field string, choices []string) {
	if len(choices) == 0 {
		v.addProblem(field, "required", "a choice needs something to choose from")
	}
	if len(choices) > maxChoices {
		v.addProblem(field, "too_many", "%d choices; %d are the most", len(choices), maxChoices)
	}
	seen := map[string]bool{}
	for i, c := range choices {
		at := fmt.Sprintf("%s[%d]", field, i)
		if c == "" || len(c) > maxLabel || strings.Contains(c, "\x00") {
			v.addProblem(at, "choice", "a choice has 1 to %d bytes", maxLabel)
		}
		if seen[c] {
			v.addProblem(at, "duplicate", "the choice %q is listed twice", c)
		}
		seen[c] = true
	}
}

// joinTypes writes the types as "string, number or boolean".
func joinTypes(types []FieldType) string {
	var text strings.Builder
	for i, t := range types {
		switch {
		case i > 0 && i == len(types)-1:
			text.WriteString(" or ")
		case i > 0:
			text.WriteString(", ")
		}
		text.WriteString(string(t))
	}
	return text.String()
}
