package api

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/nullops/nullops/controlplane"
)

// schemaProblem is what a value's schema says against it, in words for people: those of the
// validator are for authors of schemas, quote regular expressions and name fields of the API.
// The field is in the problem, and whoever shows it says it in their own way.
func schemaProblem(at string, e *openapi3.SchemaError) controlplane.Problem {
	parts := e.JSONPointer()
	name, unsupported := unsupportedProperty(e)
	if unsupported {
		parts = append(parts, name)
	}
	p := controlplane.Problem{Field: strings.Join(parts, "."), Code: "invalid"}
	if at != "" {
		p.Field = at
	}
	switch {
	case unsupported:
		p.Code = "unknown_field"
		p.Message, p.Remedy = "there is no such field", "Leave it out, or check its spelling."
	case e.SchemaField == "required":
		p.Code = "missing"
		p.Message, p.Remedy = "this is missing", "Fill it in."
	default:
		p.Message, p.Remedy = boundText(e)
		if p.Message == "" {
			p.Message, p.Remedy = formText(e)
		}
	}
	return p
}

// boundText words a bound that a value does not keep; it is empty for anything else.
func boundText(e *openapi3.SchemaError) (message, remedy string) {
	s := e.Schema
	switch {
	case e.SchemaField == "maximum" && s.Max != nil:
		most := strconv.FormatFloat(*s.Max, 'f', -1, 64)
		return "the number is larger than " + most, "Give at most " + most + "."
	case e.SchemaField == "minimum" && s.Min != nil:
		least := strconv.FormatFloat(*s.Min, 'f', -1, 64)
		return "the number is smaller than " + least, "Give at least " + least + "."
	case e.SchemaField == "maxLength" && s.MaxLength != nil:
		return fmt.Sprintf("the text is longer than %d characters", *s.MaxLength), "Shorten it."
	case e.SchemaField == "minLength" && s.MinLength > 1:
		return fmt.Sprintf("the text is shorter than %d characters", s.MinLength),
			fmt.Sprintf("Use at least %d characters.", s.MinLength)
	case e.SchemaField == "minLength":
		return "this is empty", "Fill it in."
	case e.SchemaField == "maxItems" && s.MaxItems != nil:
		return fmt.Sprintf("there are more than %d entries", *s.MaxItems),
			fmt.Sprintf("Give at most %d.", *s.MaxItems)
	case e.SchemaField == "minItems":
		return "there are too few entries", fmt.Sprintf("Give at least %d.", s.MinItems)
	case e.SchemaField == "uniqueItems":
		return "an entry is there twice", "Name each once."
	}
	return "", ""
}

// formText words what else a schema asks for: a choice, a type, a form of text.
func formText(e *openapi3.SchemaError) (message, remedy string) {
	switch e.SchemaField {
	case "enum":
		allowed := convertAll(e.Schema.Enum, func(v any) string { return fmt.Sprint(v) })
		return "this is not one of " + strings.Join(allowed, ", "), "Choose one of them."
	case "type":
		wanted := expectedType(e.Schema)
		return "this is " + plainType(e.Value) + ", and " + wanted + " is expected",
			"Give " + wanted + "."
	case "format", "pattern":
		return "the text does not have the form that is expected here", formRemedy(e.Schema)
	}
	return "this is not what is expected here", "Compare it with the API's description."
}

// formRemedy says how a text is written.
func formRemedy(s *openapi3.Schema) string {
	example, _ := s.Example.(string)
	switch {
	case s.Pattern == `^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$`:
		return "Use 1 to 40 lowercase letters, digits and hyphens, " +
			"with a letter or digit at both ends."
	case s.Pattern == "^[A-Z][A-Z0-9_]{0,62}$":
		return "Use capital letters, digits and underscores, starting with a letter."
	case s.Format == "date-time":
		return "Write it like 2026-11-27T17:05:00Z."
	case example != "":
		return "Write it like " + example + "."
	}
	return "Compare it with the API's description."
}

// unsupportedProperty finds the name in "property "x" is unsupported": the validator
// names the object, and the property only in this text.
func unsupportedProperty(e *openapi3.SchemaError) (string, bool) {
	rest, ok := strings.CutPrefix(e.Reason, `property "`)
	if !ok {
		return "", false
	}
	return strings.CutSuffix(rest, `" is unsupported`)
}

func plainType(value any) string {
	switch v := value.(type) {
	case nil:
		return "empty"
	case string:
		return "text"
	case bool:
		return "true or false"
	case float64:
		if v != float64(int64(v)) {
			return "a number with a fraction"
		}
		return "a number"
	case []any:
		return "a list"
	case map[string]any:
		return "a mapping"
	}
	return "something else"
}

func expectedType(schema *openapi3.Schema) string {
	words := map[string]string{"string": "text", "boolean": "true or false",
		"number": "a number", "integer": "a whole number", "array": "a list",
		"object": "a mapping"}
	if schema.Type != nil {
		for _, t := range schema.Type.Slice() {
			if word, ok := words[t]; ok {
				return word
			}
		}
	}
	return "another type"
}
