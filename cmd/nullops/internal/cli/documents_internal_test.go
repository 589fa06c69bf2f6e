package cli

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/nullops/nullops/controlplane/apiclient"
	"github.com/nullops/nullops/internal/documents"
)

// A problem is printed with the line that it is about, however its place is spelled, and wherever
// it was found.
func TestDocumentProblem_NamesTheLine(t *testing.T) {
	docs, problems := documents.Parse("x.yaml", []byte(`kind: project
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
	docs, problems := documents.Parse("x.yaml", []byte(`
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
