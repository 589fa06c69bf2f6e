package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/nullops/nullops/controlplane/apiclient"
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

// A problem is printed with the line that it is about, however its place is spelled, and wherever
// it was found.
func TestDocumentProblem_NamesTheLine(t *testing.T) {
	docs, problems := parseDocuments("x.yaml", []byte(`kind: project
name: p
resources:
  cpu: lots
pipeline:
  steps:
    - key: one
      service: {name: a}
    - key: two
      service:
        name: b
        env:
          A.B: c
          "A=B": d
        files:
          - path: /a
          - path: /b
        ports:
          - {name: http, port: 1}
          - name: more
            port: 2
`))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	none := ""
	for _, c := range []struct {
		step, field, want string
	}{
		{"", "resources.cpu", "x.yaml:4: project p, resources.cpu: m"},
		{"", "resources.gpu", "x.yaml:3: project p, resources.gpu: m"},
		{"", "nothing", "x.yaml:1: project p, nothing: m"},
		{"two", "service.env.A=B", "x.yaml:14: project p, step two, service.env.A=B: m"},
		{"two", "service.env.A.B", "x.yaml:13: project p, step two, service.env.A.B: m"},
		{"two", "service.files[1].path", "x.yaml:17: project p, step two, service.files[1].path: m"},
		{"two", `service.ports["more"].port`,
			`x.yaml:21: project p, step two, service.ports["more"].port: m`},
		{"", "pipeline.steps.1.service.name", "x.yaml:11: project p, step two, service.name: m"},
		{"none", "service", "x.yaml:6: project p, step none, service: m"},
	} {
		p := locateProblem(docs, apiclient.FieldProblem{Document: new(0), Step: &c.step, Field: c.field,
			Message: "m", Remedy: &none})
		if p.String() != c.want {
			t.Errorf("%s %s: %s, want %s", c.step, c.field, p, c.want)
		}
	}
}

// All files and folders are read, everything that is wrong with them is said at once,
// and the same definition twice is refused with both places.
func TestReadDocuments_FindsEverything(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	a := file("a.yaml", "kind: service\nname: web\n---\nkind: thing\nname: x\n")
	b := file("b.yml", "kind: team\n---\n\nkind: service\nname: web\n")
	c := file("c.yaml", "kind: service\nname: c\ntag: x\ntag: y\n")
	d := file("d.yaml", "a: [")
	docs, err := readDocuments([]string{a, b}, nil)
	if len(docs) != 2 || err == nil {
		t.Errorf("%v, %v", docs, err)
	}
	_, err = readDocuments([]string{dir}, nil)
	if err == nil {
		t.Fatal("nothing is wrong")
	}
	for _, want := range []string{"5 problems", a + ":4: kind: \"thing\" is not one of registry",
		b + ":1: name: a team needs a name", b + ":4: service web: it is already defined at " + a +
			":1", c + ":4: tag: the key stands there twice", d + ":1: this is not YAML"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in %v", want, err)
		}
	}
	if _, err := readDocuments([]string{"-"}, strings.NewReader("kind: user\nname: u")); err != nil {
		t.Error(err)
	}
	long := "kind: user\nname: u\n" + strings.Repeat("#"+strings.Repeat("x", 1<<20)+"\n", 16) +
		"---\nkind: user\nname: v\n"
	if docs, err := readDocuments([]string{"-"}, strings.NewReader(long)); len(docs) != 2 {
		t.Errorf("of a long standard input %d documents are read: %v", len(docs), err)
	}
}

// Values come from the environment, and never stand in a document.
func TestCompleteDocuments(t *testing.T) {
	t.Setenv("SET", "a long enough value")
	docs, problems := parseDocuments("x.yaml", []byte(`
kind: project
name: p
secrets: {A: {from_env: SET}, B: {from_env: NOT_SET}, C: {generate: {length: 20}},
  V: {vault: {path: apps/shop, field: token}}}
---
kind: registry
name: r
password_from_env: SET
---
kind: project
name: wrong
secrets: {A: {value: x}, B: {}, C: 1, D: {from_env: SET, generate: {length: 20}}, E: {from_env: 1}}
---
kind: user
name: u
password: x
password_from_env: SET
---
kind: plugin
name: g
component_file: not/there.json
`))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if err := completeDocuments(docs[:2]); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"A": map[string]any{"value": "a long enough value"},
		"B": map[string]any{"from_env": "NOT_SET"},
		"C": map[string]any{"generate": map[string]any{"length": int64(20)}},
		"V": map[string]any{"vault": map[string]any{"path": "apps/shop", "field": "token"}}}
	if !reflect.DeepEqual(docs[0].Body["secrets"], want) ||
		docs[1].Body["password"] != "a long enough value" || len(docs[1].Body) != 1 {
		t.Errorf("%v, %v", docs[0].Body, docs[1].Body)
	}
	err := completeDocuments(docs[2:])
	if err == nil {
		t.Fatal("nothing is wrong")
	}
	for _, want := range []string{"7 problems", "secrets.A.value: a value does not stand in",
		"secrets.B: give exactly one", "secrets.C: give exactly one", "secrets.D: give exactly one",
		"secrets.E.from_env: give the name", "x.yaml:18: user u, password_from_env: give one of",
		"x.yaml:22: plugin g, component_file: not/there.json cannot be read: no such"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in %v", want, err)
		}
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
	n, err := jsonToYAML(text)
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
		docs, _ := parseDocuments("f", text)
		for _, d := range docs {
			if _, err := json.Marshal(d.Body); err != nil {
				t.Fatalf("%q: %v", text, err)
			}
			_ = d.readSecrets()
			_, _ = d.stepOf("pipeline.steps.0.key")
			_ = d.lineOf("a", `pipeline.steps[0].service["x"].1`)
		}
	})
}
