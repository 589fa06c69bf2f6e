package pipeline

import (
	"bytes"
	"encoding/json"
	"slices"
)

// orderKey is the annotation of a schema that lists its properties in the order in which they
// were written.
const orderKey = "x-order"

// DeclaredComponent is a component as somebody wrote it. Go and the database lose the order of an
// object's names, and a form shows its fields in the order of the schema: so reading one notes
// the order in its schemas.
type DeclaredComponent struct{ Component }

func (d *DeclaredComponent) UnmarshalJSON(text []byte) error {
	if err := json.Unmarshal(text, &d.Component); err != nil {
		return err
	}
	var written struct {
		Parameters json.RawMessage `json:"parameters"`
		Outputs    json.RawMessage `json:"outputs"`
	}
	if err := json.Unmarshal(text, &written); err != nil {
		return err
	}
	NotePropertyOrder(d.Parameters, written.Parameters)
	NotePropertyOrder(d.Outputs, written.Outputs)
	return nil
}

// NotePropertyOrder notes in a schema, and in those within it, in which order the text that it was
// read from has its properties. An order that is noted already stays. That of the alphabet is what
// schemas have without a note, such as those that were stored before orders were noted.
func NotePropertyOrder(schema any, text []byte) {
	object, ok := schema.(map[string]any)
	var parts map[string]json.RawMessage
	if !ok || json.Unmarshal(text, &parts) != nil {
		return
	}
	names := listNames(parts["properties"])
	if _, noted := object[orderKey]; !noted && !slices.IsSorted(names) {
		order := make([]any, len(names))
		for i, name := range names {
			order[i] = name
		}
		object[orderKey] = order
	}
	NotePropertyOrder(object["items"], parts["items"])
	for _, group := range []string{"properties", "$defs"} {
		within, _ := object[group].(map[string]any)
		var texts map[string]json.RawMessage
		if json.Unmarshal(parts[group], &texts) != nil {
			continue
		}
		for name, one := range within {
			NotePropertyOrder(one, texts[name])
		}
	}
}

// listNames returns the names of a JSON object as they were written.
func listNames(text []byte) (names []string) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	if start, err := decoder.Token(); err != nil || start != json.Delim('{') {
		return nil
	}
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return nil
		}
		names = append(names, name.(string)) // A decoder returns no other token for a name.
		var value json.RawMessage
		if decoder.Decode(&value) != nil {
			return nil
		}
	}
	return names
}
