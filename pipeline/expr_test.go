package pipeline_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nullops/nullops/pipeline"
)

func testScope(r pipeline.Ref) (pipeline.Value, error) {
	switch r.String() {
	case "steps.db.outputs.port":
		return pipeline.Value{Data: float64(5432)}, nil
	case "steps.db.outputs.evil":
		return pipeline.Value{Data: "${{ secrets.password }}"}, nil
	case "steps.db.outputs.list":
		return pipeline.Value{Data: []any{"a", true}}, nil
	case "steps.db.outputs.none":
		return pipeline.Value{}, nil
	case "secrets.password":
		return pipeline.Value{Data: "hunter22", Secret: true}, nil
	case "deployment.name":
		return pipeline.Value{Data: "login"}, nil
	}
	return pipeline.Value{}, errors.New("unknown")
}

func TestEval(t *testing.T) {
	for _, c := range []struct {
		in   string
		want any
	}{
		{"plain", "plain"},
		{"", ""},
		{"${{ steps.db.outputs.port }}", float64(5432)},
		{"${{steps.db.outputs.port}}", float64(5432)},
		{"port ${{ steps.db.outputs.port }}!", "port 5432!"},
		{"${{ deployment.name }}-${{ deployment.name }}", "login-login"},
		{"${{ steps.db.outputs.list }}", []any{"a", true}},
		{"x${{ steps.db.outputs.list }}", `x["a",true]`},
		{"$${{ deployment.name }}", "${{ deployment.name }}"},
		{"$ {{ }} $", "$ {{ }} $"},
	} {
		got, err := pipeline.Eval(c.in, testScope)
		if err != nil {
			t.Errorf("Eval(%q): %v", c.in, err)
			continue
		}
		if d := cmp.Diff(c.want, got.Data); d != "" {
			t.Errorf("Eval(%q): %s", c.in, d)
		}
	}
}

// threat: T43
func TestEval_NeverScansAValueAgain(t *testing.T) {
	for _, in := range []string{"${{ steps.db.outputs.evil }}", "x ${{ steps.db.outputs.evil }}"} {
		got, err := pipeline.Eval(in, testScope)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := got.Data.(string)
		if !strings.Contains(text, "${{ secrets.password }}") || got.Secret {
			t.Errorf("Eval(%q) = %+v, the output's text was scanned", in, got)
		}
	}
}

func TestEval_TracksSecrets(t *testing.T) {
	tree := map[string]any{"a": []any{"x", "p=${{ secrets.password }}"}}
	got, err := pipeline.EvalTree(tree, testScope)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"a": []any{"x", "p=hunter22"}}
	if d := cmp.Diff(any(want), got.Data); d != "" || !got.Secret {
		t.Errorf("secret %t, %s", got.Secret, d)
	}
}

// Where only text can stand, a value is written as text, and nothing at all for null.
func TestEvalText(t *testing.T) {
	nothing := func(pipeline.Ref) (pipeline.Value, error) { return pipeline.Value{Secret: true}, nil }
	for in, want := range map[string]string{"a": "a", "${{ steps.db.outputs.port }}": "5432",
		"${{ steps.db.outputs.list }}": `["a",true]`, "${{ secrets.password }}": "hunter22",
		"${{ steps.db.outputs.none }}": ""} {
		got, secret, err := pipeline.EvalText(in, testScope)
		if err != nil || got != want || secret != strings.Contains(in, "secrets") {
			t.Errorf("%s is %q, secret %v, %v", in, got, secret, err)
		}
	}
	if got, secret, err := pipeline.EvalText("${{ secrets.x }}", nothing); got != "" || !secret ||
		err != nil {
		t.Errorf("null is %q, secret %v, %v", got, secret, err)
	}
	for _, in := range []string{"${{ steps.db.outputs.x }}", "${{ x", "}}${{ x",
		"x${{ steps.db.outputs.none }}"} {
		if got, _, err := pipeline.EvalText(in, testScope); err == nil || got != "" {
			t.Errorf("%s is %q without an error", in, got)
		}
	}
}

func TestEval_SaysWhere(t *testing.T) {
	for in, want := range map[string]string{
		"ab ${{ steps.db }}":            "at character 8",
		"${{ }}":                        "at character",
		"${{ deployment.name":           `not closed by "}}"`,
		"${{ secrets.a | lower }}":      `' ' cannot stand in a reference`,
		"${{ secrets..x }}":             "empty words",
		"${{ env.HOME }}":               `"env" is unknown`,
		"${{ services.db.address }}":    "services.KEY.host, .port or .url",
		"${{ deployment.owner }}":       "deployment.name",
		"${{ steps.a.results.b }}":      "steps.KEY.outputs.NAME",
		"${{ secrets.a.b }}":            "secrets.NAME",
		"${{ ${{ secrets.password }}":   "cannot stand in a reference",
		"x${{ steps.db.outputs.none }}": "null cannot stand inside text",
		"${{ secrets.other }}":          "${{ secrets.other }}: unknown",
	} {
		_, err := pipeline.Eval(in, testScope)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Eval(%q): %v, want %q in it", in, err, want)
		}
	}
	_, err := pipeline.EvalTree(map[string]any{"a": []any{"${{ x }}"}}, testScope)
	if err == nil || !strings.HasPrefix(err.Error(), "a[0]: ") {
		t.Errorf("EvalTree: %v, want the path a[0]", err)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"", "a", "${{ secrets.a }}", "$${{", "${{ steps.a.outputs.b }}x", "}}${{",
		"${{ base64( json(secrets.a) ) }}", "${{ lower(()) }}", "${{ json(}}",
	} {
		f.Add(s)
	}
	echo := func(r pipeline.Ref) (pipeline.Value, error) {
		return pipeline.Value{Data: "<${{" + r.String() + "}}>"}, nil
	}
	f.Fuzz(func(t *testing.T, s string) {
		parsed, err := pipeline.Parse(s)
		if err != nil {
			var syntax *pipeline.SyntaxError
			if !errors.As(err, &syntax) || syntax.Offset < 0 || syntax.Offset > len(s) {
				t.Fatalf("Parse(%q): %v", s, err)
			}
			return
		}
		for _, ref := range parsed.Refs() {
			again, err := pipeline.Parse("${{ " + ref.String() + " }}")
			if err != nil || again.Refs()[0] != ref {
				t.Fatalf("%q does not read back: %v", ref, err)
			}
		}
		if _, err := parsed.Eval(echo); err != nil {
			t.Fatalf("Eval(%q): %v", s, err)
		}
		if !strings.Contains(s, "${{") {
			if v, _ := parsed.Eval(echo); v.Data != s {
				t.Fatalf("plain text %q became %q", s, v.Data)
			}
		}
	})
}
