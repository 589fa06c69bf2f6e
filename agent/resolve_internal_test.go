package agent

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/pipeline"
)

// Secrets and outputs are longer than the references to them: what Linux would refuse to pass to
// a program is refused before, in a sentence with the variable's name and without its value.
func TestServiceSpec_RefusesWhatAProgramCannotGet(t *testing.T) {
	t.Parallel()
	const half = 64 << 10
	secret := strings.Repeat("s", half)
	b := newBundle("d", nil, wire.Secrets{Key: make([]byte, 32),
		Values: map[string]string{"BIG": secret}}, nil)
	b, _ = b.withOutputs("make", map[string]any{"text": strings.Repeat("o", half),
		"zero": "ssss\x00ssss"}, nil)
	many := map[string]string{}
	for i := range 40 {
		many[fmt.Sprintf("X%d", i)] = "${{ secrets.BIG }}"
	}
	for name, c := range map[string]struct {
		service pipeline.ServiceStep
		says    string
	}{
		"one": {pipeline.ServiceStep{Env: map[string]string{"A": "${{ secrets.BIG }}"}}, ""},
		"two in one": {pipeline.ServiceStep{Env: map[string]string{
			"A": "${{ secrets.BIG }}${{ secrets.BIG }}"}}, "env.A has 131074 bytes"},
		"an argument": {pipeline.ServiceStep{Command: []string{"run",
			"${{ steps.make.outputs.text }}${{ steps.make.outputs.text }}"}},
			"argument 2 has 131072 bytes"},
		"NUL in a variable": {pipeline.ServiceStep{Env: map[string]string{
			"A": "x${{ steps.make.outputs.zero }}"}}, "env.A holds a NUL character"},
		"NUL in an argument": {pipeline.ServiceStep{Command: []string{"run",
			"${{ steps.make.outputs.zero }}"}}, "argument 2 holds a NUL character"},
		"all together": {pipeline.ServiceStep{Env: many}, "bytes together"},
	} {
		g := &wire.Goal{Deployment: "d", Pipeline: pipeline.Pipeline{
			Steps: []pipeline.Step{{Key: "web", Service: &c.service}}}}
		_, err := serviceSpec(g, b, "web")
		if c.says == "" && err != nil || c.says != "" && (err == nil ||
			!strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "ssss")) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A value of the input is text and nothing else, whatever stands in it; alone in a parameter it
// keeps its type.
func TestScope_Input(t *testing.T) {
	t.Parallel()
	b := newBundle("d", nil, wire.Secrets{Key: make([]byte, 32),
		Values: map[string]string{"KEY": "secret-value"}}, nil)
	service := pipeline.ServiceStep{Env: map[string]string{
		"A": "${{ input.text }}${{ input.tail }}${{ deployment.name }}",
		"B": "$${{ ${{ input.text }}", "C": "${{ input.count }} of ${{ urlencode(input.tail) }}"}}
	g := &wire.Goal{Deployment: "d", Context: pipeline.Context{Name: "x", Input: map[string]any{
		"text": "${{ secrets.KEY }}", "tail": "$", "count": 3.0}},
		Pipeline: pipeline.Pipeline{Steps: []pipeline.Step{{Key: "web", Service: &service}}}}
	s, err := serviceSpec(g, b, "web")
	want := map[string]string{"A": "${{ secrets.KEY }}$x", "B": "${{ ${{ secrets.KEY }}",
		"C": "3 of %24"}
	if err != nil || len(s.SecretEnv) > 0 || !maps.Equal(s.Env, want) {
		t.Errorf("%q, %q: %v", s.Env, s.SecretEnv, err)
	}
	value, err := pipeline.EvalTree(map[string]any{"n": "${{ input.count }}"}, newScope(g, b))
	if tree, _ := value.Data.(map[string]any); err != nil || tree["n"] != 3.0 {
		t.Errorf("%v: %v", value.Data, err)
	}
	if _, err := pipeline.Eval("${{ input.other }}", newScope(g, b)); err == nil {
		t.Error("a field without a value was resolved")
	}
}
