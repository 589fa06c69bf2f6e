package wire_test

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/nullops/nullops/agent/wire"
)

// readSamples reads testdata/v1: <name>.command.json and <name>.report.json.
func readSamples(t testing.TB, kind string) map[string][]byte {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("testdata", "v1", "*."+kind+".json"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no samples of %ss: %v", kind, err)
	}
	found := map[string][]byte{}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		found[strings.TrimSuffix(filepath.Base(path), "."+kind+".json")] = data
	}
	return found
}

// reencode decodes a sample and writes it again, with the type it became.
func reencode(kind string, data []byte) ([]byte, any, error) {
	if kind == "command" {
		m, err := wire.DecodeCommand(data)
		if err != nil {
			return nil, nil, err
		}
		again, err := wire.EncodeCommand(m)
		return again, m, err
	}
	m, err := wire.DecodeReport(data)
	if err != nil {
		return nil, nil, err
	}
	again, err := wire.EncodeReport(m)
	return again, m, err
}

// Every sample of version 1 decodes for ever, and no value in it is lost.
func TestMessages_SamplesOfVersion1(t *testing.T) {
	for _, kind := range []string{"command", "report"} {
		for name, data := range readSamples(t, kind) {
			again, _, err := reencode(kind, data)
			if err != nil {
				t.Errorf("%s %s: %v", kind, name, err)
				continue
			}
			var before, after any
			if err := json.Unmarshal(data, &before); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(again, &after); err != nil {
				t.Fatal(err)
			}
			// promise: V-06
			for _, lost := range missingFields(name, before, after) {
				t.Errorf("%s: %s", kind, lost)
			}
		}
	}
}

// missingFields lists what a has and b has not.
func missingFields(at string, a, b any) (lost []string) {
	switch a := a.(type) {
	case map[string]any:
		other, _ := b.(map[string]any)
		for key, value := range a {
			lost = append(lost, missingFields(at+"."+key, value, other[key])...)
		}
	case []any:
		other, _ := b.([]any)
		for i, value := range a {
			if i >= len(other) {
				return append(lost, fmt.Sprintf("%s[%d] is lost", at, i))
			}
			lost = append(lost, missingFields(fmt.Sprintf("%s[%d]", at, i), value, other[i])...)
		}
	default:
		if !reflect.DeepEqual(a, b) {
			lost = append(lost, fmt.Sprintf("%s: %v became %v", at, a, b))
		}
	}
	return lost
}

// A message without a sample could change unnoticed. The families are read
// from the source, since a closed interface can't be listed.
func TestMessages_EachHasASample(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "messages.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Recv == nil || (f.Name.Name != "command" && f.Name.Name != "report") {
			continue
		}
		n++
		text := f.Body.List[0].(*ast.ReturnStmt).Results[0].(*ast.BasicLit).Value
		name, err := strconv.Unquote(text)
		if err != nil {
			t.Fatal(err)
		}
		data, ok := readSamples(t, f.Name.Name)[name]
		if !ok {
			t.Errorf("testdata/v1/%s.%s.json is missing", name, f.Name.Name)
			continue
		}
		_, m, err := reencode(f.Name.Name, data)
		want := f.Recv.List[0].Type.(*ast.Ident).Name
		if err != nil || reflect.TypeOf(m).Name() != want {
			t.Errorf("%s %s became %T, %v", f.Name.Name, name, m, err)
		}
	}
	if n < 12 {
		t.Errorf("found only %d messages in the source", n)
	}
}

func FuzzDecode(f *testing.F) {
	for _, kind := range []string{"command", "report"} {
		for _, data := range readSamples(f, kind) {
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, kind := range []string{"command", "report"} {
			first, m, err := reencode(kind, data)
			if err != nil {
				continue
			}
			second, again, err := reencode(kind, first)
			if err != nil || string(first) != string(second) {
				t.Fatalf("%#v became %#v: %v", m, again, err)
			}
		}
	})
}

// A NUL that a container printed arrives as a character that can be stored, wherever it
// stands; text that only looks like the escape arrives as it is.
func TestDecodeReport_HasNoNUL(t *testing.T) {
	const before, after = "a\x00b\x00 \\u0000 \\\x00", "a\ufffdb\ufffd \\u0000 \\\ufffd"
	for _, c := range []struct{ sent, want wire.Report }{
		{wire.LogBatch{Seq: 1, Lines: []wire.LogLine{{Text: before}}},
			wire.LogBatch{Seq: 1, Lines: []wire.LogLine{{Text: after}}}},
		{wire.Event{Message: before, Left: []string{before}, Outputs: map[string]any{before: before}},
			wire.Event{Message: after, Left: []string{after}, Outputs: map[string]any{after: after}}},
	} {
		data, err := wire.EncodeReport(c.sent)
		if err != nil {
			t.Fatal(err)
		}
		got, err := wire.DecodeReport(data)
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%+v arrived as %+v, %v", c.sent, got, err)
		}
	}
}
