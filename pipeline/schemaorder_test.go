package pipeline_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/nullops/nullops/pipeline"
)

// The order of properties survives Go's and the database's maps, at any depth; a property that is
// called "properties" is no schema.
func TestDeclaredComponent_KeepsTheOrderOfProperties(t *testing.T) {
	const text = `{"parameters": {"type": "object", "properties": {
		"zone": {"type": "string"},
		"sorted": {"properties": {"a": {}, "b": {}}},
		"account": {"type": "object", "properties": {"user": {}, "domain": {}, "a": {}}},
		"properties": {"type": "array", "items": {"properties": {"two": {}, "one": {}}}}}},
		"outputs": {"properties": {"url": {}, "id": {}}}}`
	var d pipeline.DeclaredComponent
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		t.Fatal(err)
	}
	at := func(schema any, path ...string) any {
		for _, name := range path {
			schema = schema.(map[string]any)[name]
		}
		return schema
	}
	for _, one := range []struct {
		got  any
		want any
	}{
		{at(d.Parameters, "x-order"), []any{"zone", "sorted", "account", "properties"}},
		{at(d.Parameters, "properties", "account", "x-order"), []any{"user", "domain", "a"}},
		{at(d.Parameters, "properties", "properties", "items", "x-order"), []any{"two", "one"}},
		{at(d.Outputs, "x-order"), []any{"url", "id"}},
		// The order of the alphabet needs no note.
		{at(d.Parameters, "properties", "sorted", "x-order"), nil},
	} {
		if !reflect.DeepEqual(one.got, one.want) {
			t.Errorf("the order is %v, want %v", one.got, one.want)
		}
	}
	if names := at(d.Parameters, "properties").(map[string]any); len(names) != 4 {
		t.Errorf("the properties became %v", names)
	}
	again, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	var stored pipeline.DeclaredComponent
	if err := json.Unmarshal(again, &stored); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(stored, d) {
		t.Errorf("what was stored is read as %v, and was %v", stored, d)
	}
}
