package api

import (
	"errors"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
)

// What a schema refuses is said in words for people: no bound in powers of ten, no regular
// expression, no word of schemas.
func TestSchemaProblem_SpeaksToPeople(t *testing.T) {
	name := openapi3.NewStringSchema().WithPattern(`^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$`)
	day := openapi3.NewStringSchema().WithPattern(`^[0-9]{4}-[0-9]{2}-[0-9]{2}$`)
	day.Example = "2026-11-01"
	object := openapi3.NewObjectSchema().WithProperty("wait_minutes", openapi3.NewIntegerSchema())
	object.Required = []string{"wait_minutes"}
	closed := openapi3.NewObjectSchema().WithoutAdditionalProperties()
	bounds := openapi3.NewFloat64Schema().WithMax(67108864).WithMin(-0.5)
	for _, c := range []struct {
		schema                 *openapi3.Schema
		value                  any
		message, remedy, field string
	}{
		{bounds, 1e9, "the number is larger than 67108864", "Give at most 67108864.", ""},
		{bounds, -3.0, "the number is smaller than -0.5", "Give at least -0.5.", ""},
		{openapi3.NewStringSchema().WithMaxLength(2), "abc",
			"the text is longer than 2 characters", "Shorten it.", ""},
		{openapi3.NewStringSchema().WithMinLength(12), "short",
			"the text is shorter than 12 characters", "Use at least 12 characters.", ""},
		{openapi3.NewStringSchema().WithMinLength(1), "", "this is empty", "Fill it in.", ""},
		{openapi3.NewArraySchema().WithItems(bounds).WithMinItems(1), []any{},
			"there are too few entries", "Give at least 1.", ""},
		{name, "Not A Name", "the text does not have the form that is expected here",
			"Use 1 to 40 lowercase letters, digits and hyphens, " +
				"with a letter or digit at both ends.", ""},
		{day, "yesterday", "the text does not have the form that is expected here",
			"Write it like 2026-11-01.", ""},
		{openapi3.NewStringSchema().WithEnum("pinned", "selectable"), "pined",
			"this is not one of pinned, selectable", "Choose one of them.", ""},
		{openapi3.NewIntegerSchema(), "ten",
			"this is text, and a whole number is expected", "Give a whole number.", ""},
		{object, map[string]any{}, "this is missing", "Fill it in.", "wait_minutes"},
		{closed, map[string]any{"lables": 1.0}, "there is no such field",
			"Leave it out, or check its spelling.", "lables"},
	} {
		var e *openapi3.SchemaError
		if err := c.schema.VisitJSON(c.value); !errors.As(err, &e) {
			t.Fatalf("%v: %v", c.value, err)
		}
		got := schemaProblem("", e)
		if got.Message != c.message || got.Remedy != c.remedy || got.Field != c.field {
			t.Errorf("%v: %q %q %q, want %q %q %q", c.value, got.Field, got.Message, got.Remedy,
				c.field, c.message, c.remedy)
		}
	}
}
