package pipeline

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Diff is what differs between two pipelines. In which order a document lists
// its steps means nothing, and is no difference.
type Diff struct {
	// Added and Removed are whole steps, by key.
	Added   []Step `json:"added"`
	Removed []Step `json:"removed"`
	// Changed are the steps that both have, by key.
	Changed []StepChange `json:"changed"`
	// Input are the changes of the declared input, as input["NAME"].default.
	Input []FieldChange `json:"input,omitempty"`
	// Order is set when steps that both have run in another order.
	Order *OrderChange `json:"order,omitempty"`
}

// StepChange is one step that differs, field by field.
type StepChange struct {
	Key    StepKey       `json:"key"`
	Fields []FieldChange `json:"fields"`
}

// FieldChange is one field that differs. Old is absent where the field was
// added, New where it was removed.
type FieldChange struct {
	// Path is written as in a Problem: service.env.PORT, needs[0]. An ambiguous key is quoted:
	// plugin.parameters["a.b"]. List items with a name are addressed by it, as
	// service.ports["http"].port; see compareNamed.
	Path string          `json:"path"`
	Old  json.RawMessage `json:"old,omitempty"`
	New  json.RawMessage `json:"new,omitempty"`
}

// OrderChange holds both orders, each with all of its steps.
type OrderChange struct {
	Old []StepKey `json:"old"`
	New []StepKey `json:"new"`
}

// Empty reports whether nothing differs.
func (d Diff) Empty() bool {
	return len(d.Added)+len(d.Removed)+len(d.Changed)+len(d.Input) == 0 && d.Order == nil
}

// Compare lists the changes from one pipeline to another. It includes what the control
// plane filled in: a new image for the same plugin is a change. The orders are the stored
// ones, or computed if there is none.
func Compare(old, now Pipeline) (Diff, error) {
	d := Diff{Added: []Step{}, Removed: []Step{}, Changed: []StepChange{}}
	for _, key := range stepKeys(old, now) {
		before, had := old.Step(key)
		after, has := now.Step(key)
		switch {
		case !had:
			d.Added = append(d.Added, after)
		case !has:
			d.Removed = append(d.Removed, before)
		default:
			fields, err := compareSteps(before, after)
			if err != nil {
				return d, fmt.Errorf("compare step %s: %w", key, err)
			}
			if len(fields) > 0 {
				d.Changed = append(d.Changed, StepChange{Key: key, Fields: fields})
			}
		}
	}
	input, err := compareInput(old.Input, now.Input)
	if err != nil {
		return d, fmt.Errorf("compare input: %w", err)
	}
	d.Input = input
	was, is := orderOf(old), orderOf(now)
	if !slices.Equal(commonKeys(was, now), commonKeys(is, old)) {
		d.Order = &OrderChange{Old: was, New: is}
	}
	return d, nil
}

// stepKeys are the keys of both, sorted, each once.
func stepKeys(a, b Pipeline) []StepKey {
	var keys []StepKey
	for _, s := range slices.Concat(a.Steps, b.Steps) {
		keys = append(keys, s.Key)
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

func orderOf(p Pipeline) []StepKey {
	if len(p.Order) > 0 {
		return p.Order
	}
	order, err := Order(p)
	if err != nil {
		// A graph with a cycle has no order that could differ.
		return nil
	}
	return order
}

// commonKeys keeps the keys that the other pipeline has too.
func commonKeys(keys []StepKey, other Pipeline) []StepKey {
	var both []StepKey
	for _, key := range keys {
		if _, ok := other.Step(key); ok {
			both = append(both, key)
		}
	}
	return both
}

func compareInput(old, now []InputField) ([]FieldChange, error) {
	before, err := toTree(old)
	if err != nil {
		return nil, err
	}
	after, err := toTree(now)
	if err != nil || len(old)+len(now) == 0 {
		return nil, err
	}
	before, after = listOf(before), listOf(after)
	return compareTrees(nil, "input", before, after)
}

// listOf is the list, or an empty one for null.
func listOf(tree any) any {
	if tree == nil {
		return []any{}
	}
	return tree
}

func compareSteps(old, now Step) ([]FieldChange, error) {
	before, err := toTree(old)
	if err != nil {
		return nil, err
	}
	after, err := toTree(now)
	if err != nil {
		return nil, err
	}
	return CompareJSON(before, after)
}

// CompareJSON compares two JSON trees, as encoding/json decodes them.
func CompareJSON(old, now any) ([]FieldChange, error) {
	return compareTrees(nil, "", old, now)
}

// toTree goes through the encoded form, so that whatever is stored is compared
// and no field can be forgotten here.
func toTree(value any) (any, error) {
	encoded, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("encode: %w", err)
	}
	var tree any
	if err := json.Unmarshal(encoded, &tree); err != nil {
		return nil, fmt.Errorf("decode: %w", err)
	}
	return tree, nil
}

func compareTrees(all []FieldChange, path string, old, now any) ([]FieldChange, error) {
	if a, ok := old.(map[string]any); ok {
		if b, ok := now.(map[string]any); ok {
			return compareObjects(all, path, a, b)
		}
	}
	if a, ok := old.([]any); ok {
		if b, ok := now.([]any); ok {
			return compareLists(all, path, a, b)
		}
	}
	if reflect.DeepEqual(old, now) {
		return all, nil
	}
	return appendChange(all, path, &old, &now)
}

func compareObjects(
	all []FieldChange, path string, old, now map[string]any,
) (_ []FieldChange, err error) {
	both := map[string]any{}
	for _, m := range []map[string]any{old, now} {
		for key := range m {
			both[key] = nil
		}
	}
	for _, key := range sortedKeys(both) {
		before, had := old[key]
		after, has := now[key]
		at := joinKey(path, key)
		switch {
		case !had:
			all, err = appendChange(all, at, nil, &after)
		case !has:
			all, err = appendChange(all, at, &before, nil)
		default:
			all, err = compareTrees(all, at, before, after)
		}
		if err != nil {
			return all, err
		}
	}
	return all, nil
}

// compareLists matches items by name if they have names, and else by index: an insertion at
// the front then shows as a change of every later item, which is true and can be applied.
func compareLists(
	all []FieldChange, path string, old, now []any,
) (_ []FieldChange, err error) {
	for _, key := range []string{"name", "path"} {
		before, after, ok := namedLists(key, old, now)
		if ok {
			return compareNamed(all, path, before, after)
		}
	}
	for i := range max(len(old), len(now)) {
		at := fmt.Sprintf("%s[%d]", path, i)
		switch {
		case i >= len(old):
			all, err = appendChange(all, at, nil, &now[i])
		case i >= len(now):
			all, err = appendChange(all, at, &old[i], nil)
		default:
			all, err = compareTrees(all, at, old[i], now[i])
		}
		if err != nil {
			return all, err
		}
	}
	return all, nil
}

func appendChange(all []FieldChange, path string, old, now *any) ([]FieldChange, error) {
	c := FieldChange{Path: path}
	for value, to := range map[*any]*json.RawMessage{old: &c.Old, now: &c.New} {
		if value == nil {
			continue
		}
		encoded, err := json.Marshal(*value)
		if err != nil {
			return all, fmt.Errorf("%s: %w", path, err)
		}
		*to = encoded
	}
	return append(all, c), nil
}

// joinKey adds a key to a path, quoted if the path could not be read otherwise.
func joinKey(path, key string) string {
	if key == "" || strings.ContainsAny(key, ".[]\"\\ ") {
		return fmt.Sprintf("%s[%q]", path, key)
	}
	return joinPath(path, key)
}
