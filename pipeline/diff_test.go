package pipeline_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/nullops/nullops/pipeline"
)

func diffOf(t fataler, a, b pipeline.Pipeline) pipeline.Diff {
	d, err := pipeline.Compare(a, b)
	if err != nil {
		t.Fatalf("compare: %v", err)
	}
	return d
}

type fataler interface{ Fatalf(string, ...any) }

func TestCompare_NamesEachField(t *testing.T) {
	old, now := readShop(t), readShop(t)
	for i := range now.Steps {
		switch s := &now.Steps[i]; s.Key {
		case "web":
			s.Service.Resources.MemoryMiB++
			s.Service.Env = map[string]string{"ADDED": "1"}
			s.Key = "front"
		case "create-db":
			s.Plugin.Parameters["a.b"] = nil
			s.Plugin.TimeoutSeconds = 7
		}
	}
	d := diffOf(t, old, now)
	if len(d.Added) != 1 || d.Added[0].Key != "front" || len(d.Removed) != 1 ||
		d.Removed[0].Key != "web" || len(d.Changed) != 1 || d.Changed[0].Key != "create-db" {
		t.Fatalf("%+v", d)
	}
	got := fmt.Sprintf("%s", d.Changed[0].Fields)
	want := `[{plugin.parameters["a.b"]  null} {plugin.timeout_seconds  7}]`
	if got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestCompare_OrderOfCommonSteps(t *testing.T) {
	a := graphOf(map[string][]string{"a": nil, "b": nil})
	b := graphOf(map[string][]string{"a": {"b"}, "b": nil})
	d := diffOf(t, a, b)
	if d.Order == nil || fmt.Sprint(d.Order.Old, d.Order.New) != "[a b] [b a]" {
		t.Errorf("order %+v", d.Order)
	}
	c := graphOf(map[string][]string{"a": nil, "aa": nil, "b": nil})
	if d := diffOf(t, a, c); d.Order != nil || len(d.Added) != 1 {
		t.Errorf("a step in between is no other order of the others: %+v", d)
	}
}

// The three laws of a difference: none with itself, the same backwards, and
// enough to make one from the other.
func TestCompare_Laws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawDetailed(t, "a"), drawDetailed(t, "b")
		if d := diffOf(t, a, a); !d.Empty() {
			t.Fatalf("a pipeline differs from itself: %+v", d)
		}
		forth, back := diffOf(t, a, b), diffOf(t, b, a)
		if got, want := encodeText(t, reverseDiff(forth)), encodeText(t, back); got != want {
			t.Fatalf("backwards\n%s\nwant\n%s", got, want)
		}
		if got, want := applyDiff(t, a, forth), byKey(t, b); got != want {
			t.Fatalf("applied\n%s\nwant\n%s", got, want)
		}
		if forth.Empty() != (byKey(t, a) == byKey(t, b)) {
			t.Fatalf("empty %t", forth.Empty())
		}
	})
}

// drawDetailed returns steps with keys that often meet, and fields that differ.
func drawDetailed(t *rapid.T, label string) pipeline.Pipeline {
	p := drawGraph(t)
	for i := range p.Steps {
		word := rapid.SampledFrom([]string{"", "x", "y", "a.b", `c"[0]`})
		if rapid.Bool().Draw(t, label+" service") {
			s := &pipeline.ServiceStep{Name: word.Draw(t, label), Env: map[string]string{}}
			for range rapid.IntRange(0, 3).Draw(t, label+" env") {
				s.Env[word.Draw(t, label)] = word.Draw(t, label)
				s.Command = append(s.Command, word.Draw(t, label))
			}
			drawLists(t, label, s)
			p.Steps[i].Service = s
			continue
		}
		p.Steps[i].Plugin = &pipeline.PluginStep{Name: "p", Parameters: map[string]any{
			word.Draw(t, label): rapid.SampledFrom([]any{
				nil, true, 1.5, "a", []any{1.0, "b"}, []any{"b"}, map[string]any{"k": nil},
			}).Draw(t, label),
		}}
	}
	return p
}

// drawLists returns ports and files, mostly with names of their own, in any order.
func drawLists(t *rapid.T, label string, s *pipeline.ServiceStep) {
	for _, name := range rapid.SliceOfN(rapid.SampledFrom([]string{"http", "a.b", "x", "y"}), 0, 4).
		Draw(t, label+" ports") {
		s.Ports = append(s.Ports, pipeline.Port{Name: name,
			Port: rapid.IntRange(1, 2).Draw(t, label+" port")})
		s.Files = append(s.Files, pipeline.File{Path: "/" + name,
			Content: rapid.SampledFrom([]string{"1", "2"}).Draw(t, label+" content")})
	}
}

// One port in front of another is one port more, not two that changed.
func TestCompare_MatchesListsByName(t *testing.T) {
	ports := func(names ...string) pipeline.Pipeline {
		s := &pipeline.ServiceStep{Name: "s"}
		for _, name := range names {
			s.Ports = append(s.Ports, pipeline.Port{Name: name, Port: int(name[0])})
		}
		return pipeline.Pipeline{Steps: []pipeline.Step{{Key: "s", Service: s}}}
	}
	for _, c := range []struct {
		old, now pipeline.Pipeline
		want     string
	}{
		{ports("b"), ports("b", "a"), `[{service.ports["a"]  {"name":"a","port":97}}]`},
		{ports("b"), ports("a", "b"), `[{service.ports["a"]  {"name":"a","port":97}} ` +
			`{service.ports.order ["b"] ["a","b"]}]`},
		{ports("a", "b", "c"), ports("a", "c"), `[{service.ports["b"] {"name":"b","port":98} } ` +
			`{service.ports.order ["a","b","c"] ["a","c"]}]`},
		{ports("a", "b"), ports("b", "a"), `[{service.ports.order ["a","b"] ["b","a"]}]`},
	} {
		d := diffOf(t, c.old, c.now)
		if len(d.Changed) != 1 || fmt.Sprintf("%s", d.Changed[0].Fields) != c.want {
			t.Errorf("got %s, want %s", d.Changed, c.want)
		}
	}
}

func encodeText(t fataler, v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatalf("encode: %v", err)
	}
	return string(b)
}

// byKey is the content of a pipeline, however it is drawn up.
func byKey(t fataler, p pipeline.Pipeline) string {
	p.Steps = slices.Clone(p.Steps)
	slices.SortFunc(p.Steps, func(a, b pipeline.Step) int {
		return strings.Compare(string(a.Key), string(b.Key))
	})
	return tidyJSON(t, []byte(encodeText(t, p.Steps)))
}

// tidyJSON sorts keys, whatever type they came from.
func tidyJSON(t fataler, text []byte) string {
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return encodeText(t, v)
}

func reverseDiff(d pipeline.Diff) pipeline.Diff {
	d.Added, d.Removed = d.Removed, d.Added
	d.Changed = slices.Clone(d.Changed)
	for i, c := range d.Changed {
		d.Changed[i].Fields = slices.Clone(c.Fields)
		for j, f := range c.Fields {
			d.Changed[i].Fields[j].Old, d.Changed[i].Fields[j].New = f.New, f.Old
		}
	}
	if d.Order != nil {
		d.Order = &pipeline.OrderChange{Old: d.Order.New, New: d.Order.Old}
	}
	return d
}

// applyDiff makes the second pipeline from the first and the difference alone.
func applyDiff(t fataler, p pipeline.Pipeline, d pipeline.Diff) string {
	var steps []pipeline.Step
	for _, s := range p.Steps {
		gone := slices.ContainsFunc(d.Removed, func(r pipeline.Step) bool { return r.Key == s.Key })
		if gone {
			continue
		}
		for _, c := range d.Changed {
			if c.Key == s.Key {
				s = appliedStep(t, s, c.Fields)
			}
		}
		steps = append(steps, s)
	}
	return byKey(t, pipeline.Pipeline{Steps: append(steps, d.Added...)})
}

func appliedStep(
	t fataler, s pipeline.Step, fields []pipeline.FieldChange,
) (out pipeline.Step) {
	var tree any
	if err := json.Unmarshal([]byte(encodeText(t, s)), &tree); err != nil {
		t.Fatalf("%v", err)
	}
	// Backwards, so that the ends of lists go before what stands ahead of them.
	for _, f := range slices.Backward(fields) {
		if f.New == nil {
			tree = setAt(t, tree, parsePath(t, f.Path), nil)
		}
	}
	for _, f := range fields {
		if f.New != nil {
			tree = setAt(t, tree, parsePath(t, f.Path), f.New)
		}
	}
	dec := json.NewDecoder(bytes.NewReader([]byte(encodeText(t, tree))))
	if err := dec.Decode(&out); err != nil {
		t.Fatalf("%v", err)
	}
	return out
}

// setAt sets the value at a path of keys and indexes, or removes it.
func setAt(t fataler, tree any, path []any, to json.RawMessage) any {
	if len(path) == 0 {
		var v any
		if err := json.Unmarshal(to, &v); err != nil {
			t.Fatalf("%s: %v", to, err)
		}
		return v
	}
	switch at := path[0].(type) {
	case int:
		list, _ := tree.([]any)
		switch {
		case len(path) == 1 && to == nil:
			return slices.Delete(list, at, at+1)
		case at == len(list):
			return append(list, setAt(t, nil, path[1:], to))
		}
		list[at] = setAt(t, list[at], path[1:], to)
		return list
	case string:
		if list, ok := tree.([]any); ok {
			return setNamed(t, list, at, path[1:], to)
		}
		object, _ := tree.(map[string]any)
		if len(path) == 1 && to == nil {
			delete(object, at)
			return object
		}
		object[at] = setAt(t, object[at], path[1:], to)
		return object
	}
	return tree
}

// setNamed changes an item of a list by its name, or the order of all.
func setNamed(t fataler, list []any, name string, rest []any, to json.RawMessage) any {
	at := func(name any) int {
		return slices.IndexFunc(list, func(item any) bool {
			object, _ := item.(map[string]any)
			return object["name"] == name || object["name"] == nil && object["path"] == name
		})
	}
	i := at(name)
	switch {
	case i < 0 && name == "order":
		var names, sorted []any
		if err := json.Unmarshal(to, &names); err != nil {
			t.Fatalf("order %s: %v", to, err)
		}
		for _, n := range names {
			sorted = append(sorted, list[at(n)])
		}
		return sorted
	case i < 0:
		return append(list, setAt(t, nil, rest, to))
	case len(rest) == 0 && to == nil:
		return slices.Delete(list, i, i+1)
	}
	list[i] = setAt(t, list[i], rest, to)
	return list
}

func parsePath(t fataler, path string) (keys []any) {
	for rest := path; rest != ""; {
		if quoted, err := strconv.QuotedPrefix(strings.TrimPrefix(rest, "[")); err == nil &&
			rest[0] == '[' {
			key, _ := strconv.Unquote(quoted)
			keys, rest = append(keys, key), rest[len(quoted)+2:]
			continue
		}
		if rest[0] == '[' {
			end := strings.IndexByte(rest, ']')
			n, err := strconv.Atoi(rest[1:end])
			if err != nil {
				t.Fatalf("path %s: %v", path, err)
			}
			keys, rest = append(keys, n), rest[end+1:]
			continue
		}
		rest = strings.TrimPrefix(rest, ".")
		end := strings.IndexAny(rest, ".[")
		if end < 0 {
			end = len(rest)
		}
		keys, rest = append(keys, rest[:end]), rest[end:]
	}
	return keys
}
