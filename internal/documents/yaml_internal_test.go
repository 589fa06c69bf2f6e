package documents

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

func TestParseYAML_Refuses(t *testing.T) {
	deep := "kind: service\nname: a\nx: " + strings.Repeat("[", 70) + strings.Repeat("]", 70)
	for in, want := range map[string]string{
		"kind: service\nname: a\ntag: x\ntag: y":   "line 4: tag: the key stands there twice",
		"a:\n  b: 1\n  c:\n    - d: 1\n      d: 2": "line 5: a.c[0].d: the key stands there",
		deep:                                  "line 3: x",
		"a: \xff":                             "line 1: the text is not valid UTF-8",
		"a: b\nc: d\n\n# \xc3":                "line 4: the text is not valid UTF-8",
		"a: 1e999":                            "line 1: a: the number 1e999 is out of range",
		"a: .inf":                             "a: the number .inf is out of range",
		"a: .nan":                             "a: the number .nan is out of range",
		"a: 12345678901234567890":             "a: the number 12345678901234567890 cannot",
		"a: {b: 9007199254740993}":            "a.b: the number 9007199254740993 cannot",
		"a: &x b\nc: *x":                      "line 2: c: aliases are not supported",
		"a: &x {b: 1}\nc:\n  <<: *x":          "c: a key is text",
		"a: !!binary aGk=":                    "a: the tag !!binary is not supported",
		"- a":                                 "a document is a mapping",
		"just text":                           "a document is a mapping",
		"a: [":                                "line 1",
		"a: 1\n---\nb: 1\nb: 2":               "line 4: b: the key stands there twice",
		"? [a]\n: b":                          "a key is text",
		"a: " + strings.Repeat("{a: ", 20000): "depth",
		"kind: x\nb: " + strings.Repeat("\n - ", 70) + "a": "",
	} {
		_, err := parseYAML([]byte(in))
		if want == "" {
			continue
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("parseYAML(%.60q): %v, want %q", in, err, want)
		}
	}
}

func TestParseYAML_ReadsWhatPeopleMean(t *testing.T) {
	got, err := parseYAML([]byte("tag: 2026-01-01\non: yes\nn: 1.0\ni: 0x10\nz: ~\n8080: a\n" +
		"s: \"1\"\n---\n# nothing\n---\na: b"))
	var bodies []map[string]any
	for _, one := range got {
		bodies = append(bodies, one.body)
	}
	want := []map[string]any{{"tag": "2026-01-01", "on": "yes", "n": 1.0, "i": int64(16), "z": nil,
		"8080": "a", "s": "1"}, nil, {"a": "b"}}
	if err != nil || !reflect.DeepEqual(bodies, want) {
		t.Errorf("%#v, %v", bodies, err)
	}
}

// Any JSON survives a round trip through YAML, and writing it again yields the same bytes: that
// makes an export stable.
func FuzzJSONToYAML(f *testing.F) {
	for _, s := range []string{`{}`, `{"a":["b",1,1.5,true,null,{}]}`, `{"a":"yes"}`,
		`{"a":"line\nline\n"}`, `{"a":"  x\n y"}`, `{"a":"\u0000\u001b"}`, `{"y":"2026-01-01"}`,
		`{"a":"#x: y"}`, `{"":""}`, `{"a":"\t\n"}`, `{"a":"\n\n"}`, `{"<<":"x"}`, `{"a":1e21}`,
		`{"~":"~"}`, `{"a":"x \n"}`, `{"a":"\ufeff\u2028\u0085"}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var tree map[string]any
		if !json.Valid(text) || json.Unmarshal(text, &tree) != nil || tree == nil {
			return
		}
		// Normal form: no doubled keys, no invalid text, no odd numbers.
		normal, err := json.Marshal(tree)
		if err != nil || bytes.Contains(normal, []byte(`\ufffd`)) {
			return
		}
		first := writeAndRead(t, normal)
		docs, err := parseYAML(first)
		if err != nil {
			// Numbers and depths that YAML refuses are refused, not changed.
			return
		}
		again, err := json.Marshal(docs[0].body)
		if err != nil || len(docs) != 1 || !bytes.Equal(again, normal) {
			t.Fatalf("%s became\n%s\nwhich reads\n%s, %v", normal, first, again, err)
		}
		if second := writeAndRead(t, again); !bytes.Equal(first, second) {
			t.Fatalf("%s\nbecame\n%s", first, second)
		}
	})
}

func writeAndRead(t *testing.T, text []byte) []byte {
	t.Helper()
	n, err := JSONToYAML(text)
	if err != nil {
		t.Fatal(err)
	}
	out, err := yaml.Marshal(n)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// No text makes the reader of documents fall over, and what it accepts is JSON.
func FuzzParseDocuments(f *testing.F) {
	f.Add([]byte("kind: service\nname: a\n---\nkind: project\nname: b\npipeline: {steps: []}"))
	f.Add([]byte("a: &a [*a]"))
	f.Add([]byte("kind: team\nname: !!int x"))
	f.Fuzz(func(t *testing.T, text []byte) {
		docs, _ := Parse("f", text)
		for _, d := range docs {
			if _, err := json.Marshal(d.Body); err != nil {
				t.Fatalf("%q: %v", text, err)
			}
			_ = Surroundings{Getenv: func(string) string { return "" }}.readSecrets(d)
			_, _ = d.StepOf("pipeline.steps.0.key")
			_ = d.LineOf("a", `pipeline.steps[0].service["x"].1`)
		}
	})
}
