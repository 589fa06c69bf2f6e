package stdio_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/nullops/nullops/plugins/stdio"
)

// Every plugin of the repository describes itself correctly: a description,
// schemas that compile, and defaults that its own schema accepts.
func TestComponents_OfAllPlugins(t *testing.T) {
	found, err := filepath.Glob("../*/component.json")
	if err != nil || len(found) < 5 {
		t.Fatalf("found %d components, %v", len(found), err)
	}
	for _, path := range found {
		t.Run(filepath.Base(filepath.Dir(path)), func(t *testing.T) {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			c, err := stdio.ParseComponent(data)
			if err != nil {
				t.Fatal(err)
			}
			if c.Description == "" {
				t.Error("the description is missing")
			}
			compileSchema(t, c.Parameters)
			compileSchema(t, c.Outputs)
			checkDefaults(t, c.Parameters)
		})
	}
}

// A component is an action anybody can add; these three show how.
func TestComponents_IncludeTheThreeExamples(t *testing.T) {
	for _, name := range []string{"postgres-database", "sql-script", "keycloak-user"} {
		data, err := os.ReadFile("../" + name + "/component.json")
		if err != nil {
			t.Fatal(err)
		}
		// promise: N-055
		if c, err := stdio.ParseComponent(data); err != nil || !c.Offers(stdio.ActionCreate) {
			t.Errorf("%s: %+v, %v", name, c, err)
		}
	}
}

func compileSchema(t *testing.T, schema json.RawMessage) *jsonschema.Schema {
	t.Helper()
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	if err := compiler.AddResource("mem:///schema.json", document); err != nil {
		t.Fatal(err)
	}
	compiled, err := compiler.Compile("mem:///schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return compiled
}

func checkDefaults(t *testing.T, schema json.RawMessage) {
	t.Helper()
	var s struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if err := json.Unmarshal(schema, &s); err != nil {
		t.Fatal(err)
	}
	for name, property := range s.Properties {
		var p map[string]any
		if err := json.Unmarshal(property, &p); err != nil {
			t.Fatal(err)
		}
		if value, given := p["default"]; given {
			if err := compileSchema(t, property).Validate(value); err != nil {
				t.Errorf("the default of %q: %v", name, err)
			}
		}
	}
}

func TestParseComponent_NamesTheFault(t *testing.T) {
	cases := map[string]string{
		`{"actions":["delete"]}`:                                  `actions must list "create"`,
		`{"actions":["create","undo"]}`:                           `action "undo" is not known`,
		`{"actions":["create"],"timeout_seconds":-1}`:             "cannot be negative",
		`{"actions":["create"],"time_out":1}`:                     `unknown field "time_out"`,
		`{"actions":["create"],"resources":{"memory_mib":-5}}`:    "cannot be negative",
		`{"actions":["create","delete","delete"]}`:                `lists "delete" twice`,
		`{"actions":["create"],"actions":["create"]}`:             `"actions" is there twice`,
		`{"actions":["create"],"parameters":{"type":1,"type":2}}`: `"parameters.type" is there twice`,
		`{"actions":["create"]} {}`:                               "goes on after the object",
		`{"parameters":` + strings.Repeat("[", 65) + `}`:          "deeper than 64",
	}
	for in, says := range cases {
		if _, err := stdio.ParseComponent([]byte(in)); err == nil ||
			!strings.Contains(err.Error(), says) {
			t.Errorf("%s: got %v, want %q", in, err, says)
		}
	}
	c, err := stdio.ParseComponent([]byte(`{"actions":["create"]}`))
	if err != nil || c.Timeout() != 5*time.Minute || c.Offers(stdio.ActionDelete) {
		t.Errorf("got %+v, %v", c, err)
	}
}
