package pipeline_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nullops/nullops/pipeline"
)

// awkward has what URLs, JSON and letters of two sizes make different.
const awkward = `P@ss w/"d"+é<%`

func functionScope(r pipeline.Ref) (pipeline.Value, error) {
	switch r.String() {
	case "secrets.A":
		return pipeline.Value{Data: awkward, Secret: true}, nil
	case "steps.db.outputs.host":
		return pipeline.Value{Data: "DB.Local"}, nil
	case "steps.db.outputs.object":
		return pipeline.Value{Data: map[string]any{"b": 1.0, "a": "<x>"}}, nil
	case "services.db.port":
		return pipeline.Value{Data: float64(5432)}, nil
	case "steps.db.outputs.none":
		return pipeline.Value{}, nil
	}
	return pipeline.Value{}, errors.New("unknown")
}

func TestEval_Functions(t *testing.T) {
	for _, c := range []struct {
		in     string
		want   string
		secret bool
	}{
		{"${{ urlencode(secrets.A) }}", "P%40ss%20w%2F%22d%22%2B%C3%A9%3C%25", true},
		{"${{ base64(secrets.A) }}", "UEBzcyB3LyJkIivDqTwl", true},
		{"${{ json(secrets.A) }}", `"P@ss w/\"d\"+é<%"`, true},
		{"${{lower( secrets.A )}}", `p@ss w/"d"+é<%`, true},
		{"x${{ lower(steps.db.outputs.host) }}/${{ urlencode (secrets.A) }}",
			"xdb.local/P%40ss%20w%2F%22d%22%2B%C3%A9%3C%25", true},
		{"${{ lower(steps.db.outputs.host) }}", "db.local", false},
		{"${{ json(steps.db.outputs.object) }}", `{"a":"<x>","b":1}`, false},
		{"${{ json(steps.db.outputs.none) }}", "null", false},
		{"${{ json(services.db.port) }}", "5432", false},
		{"${{ base64(services.db.port) }}", "NTQzMg==", false},
		{"${{ base64(json(lower(steps.db.outputs.host))) }}", "ImRiLmxvY2FsIg==", false},
		{"$${{ lower(secrets.A) }}", "${{ lower(secrets.A) }}", false},
	} {
		got, err := pipeline.Eval(c.in, functionScope)
		if err != nil || got.Data != c.want || got.Secret != c.secret {
			t.Errorf("Eval(%q) = %+v, %v; want %q, secret %t", c.in, got, err, c.want, c.secret)
		}
	}
	_, err := pipeline.Eval("${{ lower(steps.db.outputs.none) }}", functionScope)
	if err == nil || err.Error() !=
		"${{ lower(steps.db.outputs.none) }}: null cannot stand inside text" {
		t.Errorf("null in a function: %v", err)
	}
}

func TestParse_RefusesWrongCalls(t *testing.T) {
	const all = "base64, json, lower and urlencode"
	for in, want := range map[string]string{
		"${{ upper(secrets.A) }}":                   `there is no function "upper"`,
		"${{ lower(upper(secrets.A)) }}":            `there is no function "upper"`,
		"${{ Lower(secrets.A) }}":                   `there is no function "Lower"`,
		"${{ (secrets.A) }}":                        `there is no function ""`,
		"${{ lower() }}":                            "lower takes exactly one reference",
		"${{ lower(secrets.A, secrets.B) }}":        "it has several arguments",
		`${{ base64("text") }}`:                     `'"' cannot stand in a reference`,
		"${{ json(env.HOME) }}":                     `"env" is unknown`,
		"${{ urlencode(secrets.A }}":                `")" has to end it`,
		"${{ urlencode(secrets.A) + 1 }}":           `")" has to end it`,
		"${{ json(json(json(json(secrets.A)))) }}":  "more than 3 functions",
		"${{ lower(secrets.A)(secrets.B) }}":        "there is no function",
		"ab ${{ lower(secrets.A.B) }}":              "at character 14: lower takes exactly one",
		"${{ urlencode(${{ secrets.A }}) }}":        "urlencode takes exactly one reference",
		"${{ json(steps.make.outputs.a.b) }}":       "steps.KEY.outputs.NAME",
		"${{ base64(secrets.A)) }}":                 "base64 takes exactly one reference",
		"${{ lower(secrets.A) }} ${{ nix(x.y.z) }}": `at character 29: there is no function "nix"`,
	} {
		_, err := pipeline.Parse(in)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), all) {
			t.Errorf("Parse(%q): %v, want %q and %q in it", in, err, want, all)
		}
	}
}

// Wherever a reference may stand, a function may, and the wrong ones are
// refused with the step, the field and the functions there are.
func TestValidate_FunctionsStandWhereReferencesDo(t *testing.T) {
	places := map[string]func(p *pipeline.Pipeline, text string){
		"api service.env.X": func(p *pipeline.Pipeline, text string) {
			stepOf(p, "api").Service.Env["X"] = text
		},
		"api service.command[0]": func(p *pipeline.Pipeline, text string) {
			stepOf(p, "api").Service.Command = []string{text}
		},
		"api service.files[0].content": func(p *pipeline.Pipeline, text string) {
			stepOf(p, "api").Service.Files = []pipeline.File{{Path: "/a", Content: text}}
		},
		"create-db plugin.parameters.name": func(p *pipeline.Pipeline, text string) {
			stepOf(p, "create-db").Plugin.Parameters["name"] = text
		},
		"create-db plugin.secrets.password": func(p *pipeline.Pipeline, text string) {
			stepOf(p, "create-db").Plugin.Secrets["password"] = text
		},
	}
	for place, put := range places {
		p := readShop(t)
		put(&p, "${{ lower(deployment.name) }}")
		if got := pipeline.Validate(p, readSettings()); len(got) != 0 {
			t.Errorf("%s: refused:\n%s", place, problemText(got))
		}
		put(&p, "${{ upper(deployment.name) }}")
		got := pipeline.Validate(p, readSettings())
		want := strings.Replace(place, " ", " | ", 1) + ` | syntax | at character 5: there is no ` +
			`function "upper"; the functions are base64, json, lower and urlencode` + "\n"
		if problemText(got) != want {
			t.Errorf("%s: got:\n%swant:\n%s", place, problemText(got), want)
		}
	}
}

// What a reference inside a function leads to is checked like any other.
func TestValidate_ChecksWhatFunctionsRead(t *testing.T) {
	type step = pipeline.Step
	for _, m := range []mistake{
		{"secret", "api", func(s *step) { s.Service.Env["X"] = "${{ base64(secrets.nix) }}" },
			"service.env.X", "unknown_secret", `no secret "nix"`},
		{"step", "create-db", func(s *step) {
			s.Plugin.Parameters["name"] = "${{ lower(services.web.host) }}"
		}, "plugin.parameters.name", "not_ancestor", "does not wait"},
		{"command", "api", func(s *step) {
			s.Service.Command = []string{"${{ base64(secrets.api-key) }}"}
		}, "service.command[0]", "secret", "is secret"},
		{"type", "create-db", func(s *step) {
			s.Plugin.Parameters["port"] = "${{ json(services.db.port) }}"
		}, "plugin.parameters.port", "wrong_type", "is string, the parameter wants integer"},
	} {
		got := pipeline.Validate(editShop(t, m.step, m.change), readSettings())
		if len(got) != 1 || got[0].Field != m.field || got[0].Code != m.code ||
			!strings.Contains(got[0].Message, m.words) {
			t.Errorf("%s: got:\n%s", m.name, problemText(got))
		}
	}
}

func TestSecretNames_LooksIntoFunctions(t *testing.T) {
	p := readShop(t)
	stepOf(&p, "api").Service.Env = map[string]string{"A": "${{ base64(lower(secrets.inner)) }}"}
	if got := pipeline.SecretNames(p); !strings.Contains(strings.Join(got, " "), "inner") {
		t.Errorf("secrets %v", got)
	}
}

func TestDeriveSecrets_ListsEachStepOfACall(t *testing.T) {
	p := pipeline.Pipeline{Steps: []pipeline.Step{{Key: "a", Service: &pipeline.ServiceStep{
		Command: []string{"${{ lower(steps.db.outputs.host) }} ${{ base64(steps.db.outputs.nix) }}",
			"x ${{ base64(json(lower(secrets.A))) }} ${{ secrets.A }}"}}}}}
	want := []pipeline.Derived{
		{From: pipeline.Ref{Scope: "secrets", Name: "A"}, Text: `p@ss w/"d"+é<%`},
		{From: pipeline.Ref{Scope: "secrets", Name: "A"}, Text: `p@ss w/\"d\"+é<%`},
		{From: pipeline.Ref{Scope: "secrets", Name: "A"}, Text: "InBAc3Mgdy9cImRcIivDqTwlIg=="},
	}
	if d := cmp.Diff(want, pipeline.DeriveSecrets(p, functionScope)); d != "" {
		t.Error(d)
	}
}

func stepOf(p *pipeline.Pipeline, key pipeline.StepKey) *pipeline.Step {
	for i := range p.Steps {
		if p.Steps[i].Key == key {
			return &p.Steps[i]
		}
	}
	return nil
}
