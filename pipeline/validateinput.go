package pipeline

import (
	"fmt"
	"math"
	"regexp"
)

// checkInput checks the declared fields themselves; checkRef checks what refers to them.
func (v *validator) checkInput() {
	v.at = ""
	if len(v.p.Input) > maxInputFields {
		v.addProblem("input", "too_many", "%d fields; %d are the most", len(v.p.Input), maxInputFields)
	}
	seen := map[string]bool{}
	for i, f := range v.p.Input {
		field := fmt.Sprintf("input[%d]", i)
		v.checkFieldName(field+".name", f.Name, seen)
		seen[f.Name] = true
		if len(f.Description) > maxInputText {
			v.addProblem(field+".description", "too_long", "%d bytes; %d are the most",
				len(f.Description), maxInputText)
		}
		v.checkInputLimits(field, f)
		v.checkFieldType(field, f.ApprovalField, FieldString, FieldInteger, FieldNumber,
			FieldBoolean, FieldChoice)
		if f.Default == nil || f.ApprovalField.explainMismatch(f.Default) != "" {
			continue
		}
		if why := f.explainMismatch(f.Default); why != "" {
			v.addProblem(field+".default", "wrong_value", "the default does not fit: %s", why)
		}
	}
}

// checkInputLimits refuses limits that another type of field has, and those that no value fits.
func (v *validator) checkInputLimits(field string, f InputField) {
	numeric := f.Type == FieldInteger || f.Type == FieldNumber
	if !numeric && (f.Min != nil || f.Max != nil) {
		v.addProblem(field+".min", "limit", "only a number has a lowest and a highest value; a text "+
			"has a shortest and a greatest length")
	}
	if f.Min != nil && f.Max != nil && *f.Min > *f.Max {
		v.addProblem(field+".max", "range",
			"the highest value is below the lowest, so that no value fits")
	}
	for name, n := range map[string]*float64{"min": f.Min, "max": f.Max} {
		if n != nil && math.Abs(*n) >= maxExact {
			v.addProblem(field+"."+name, "range", "the number cannot be kept exactly")
		}
	}
	if f.Type != FieldString && (f.MinLength != 0 || f.MaxLength != 0 || f.Pattern != "") {
		v.addProblem(field+".pattern", "limit",
			"only a text has a shortest and a greatest length and a pattern")
	}
	if f.MinLength < 0 || f.MinLength > maxFieldText || f.MaxLength < 0 ||
		f.MaxLength > maxFieldText {
		v.addProblem(field+".max_length", "range", "give lengths of 0 to %d", maxFieldText)
	}
	if f.MaxLength > 0 && f.MinLength > f.MaxLength {
		v.addProblem(field+".max_length", "range",
			"the greatest length is below the shortest, so that no value fits")
	}
	if len(f.Pattern) > maxInputPattern {
		v.addProblem(field+".pattern", "too_long", "%d bytes; %d are the most", len(f.Pattern),
			maxInputPattern)
	} else if _, err := regexp.Compile(f.Pattern); err != nil {
		v.addProblem(field+".pattern", "pattern", "%q is no regular expression of RE2: %v",
			f.Pattern, err)
	}
}

// inputRef requires a field that always has a value, as checkAnswer does.
func (v *validator) inputRef(field string, ref Ref) {
	f, ok := v.p.InputField(ref.Name)
	switch {
	case !ok && len(v.p.Input) == 0:
		v.addProblem(field, "unknown_input", "${{ %s }}: the pipeline declares no input; declare %q in "+
			"the pipeline's input", ref, ref.Name)
	case !ok:
		v.addProblem(field, "unknown_input", "${{ %s }}: the pipeline declares no input %q; it declares "+
			"%s", ref, ref.Name, v.p.inputNames())
	case f.mayBeMissing():
		v.addProblem(field, "optional_input", "${{ %s }}: a request may leave %q out; make it required "+
			"or give it a default", ref, ref.Name)
	}
}
