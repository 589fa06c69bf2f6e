package api

import (
	"errors"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
)

// A bound is written as people write it, however large.
func TestSchemaProblem_WritesBoundsInFull(t *testing.T) {
	most := openapi3.NewFloat64Schema().WithMax(67108864).WithMin(-0.5)
	for value, want := range map[float64]string{
		1e9: "number must be at most 67108864", -3: "number must be at least -0.5"} {
		var e *openapi3.SchemaError
		if err := most.VisitJSON(value); !errors.As(err, &e) {
			t.Fatalf("%v: %v", value, err)
		}
		if got := schemaProblem("disk_floor", e).Message; got != want {
			t.Errorf("%v: %q, want %q", value, got, want)
		}
	}
}
