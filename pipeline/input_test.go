package pipeline_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nullops/nullops/pipeline"
)

func inputField(name string, kind pipeline.FieldType) pipeline.InputField {
	return pipeline.InputField{ApprovalField: pipeline.ApprovalField{Name: name, Type: kind}}
}

// inputShop is the shop with one field of each type, of which the service web reads some.
func inputShop(t *testing.T) pipeline.Pipeline {
	t.Helper()
	p := editShop(t, "web", func(s *pipeline.Step) {
		s.Service.Env["SEED"] = "${{ input.seed }}"
		s.Service.Env["MODE"] = "${{ lower(input.mode) }}!"
	})
	seed, mode, count := inputField("seed", pipeline.FieldString),
		inputField("mode", pipeline.FieldChoice), inputField("count", pipeline.FieldInteger)
	seed.Required, seed.MinLength, seed.MaxLength, seed.Pattern = true, 2, 8, "[a-zäöü$ {}.]+"
	mode.Choices, mode.Default = []string{"Fast", "Full"}, "Fast"
	low, high := 1.0, 9.0
	count.Min, count.Max = &low, &high
	p.Input = []pipeline.InputField{seed, mode, count, inputField("ratio", pipeline.FieldNumber),
		inputField("debug", pipeline.FieldBoolean)}
	return p
}

// An older reader would leave references to input unresolved, so it refuses the form.
func TestFormatOf_Input(t *testing.T) {
	p := inputShop(t)
	if problems := pipeline.Validate(p, readSettings()); len(problems) > 0 {
		t.Fatal(problemText(problems))
	}
	encoded, err := pipeline.Encode(p)
	if err != nil || !strings.HasPrefix(string(encoded), `{"format":4,`) {
		t.Fatalf("%.80s: %v", encoded, err)
	}
	again, err := pipeline.Decode(encoded)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(p.Input, again.Input); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(p.Input, pipeline.AsWritten(again).Input); diff != "" {
		t.Error(diff)
	}
}

func TestFillInput(t *testing.T) {
	type values = map[string]any
	p := inputShop(t)
	plain := readShop(t)
	for name, c := range map[string]struct {
		in    pipeline.Pipeline
		given values
		want  values
		says  string
	}{
		"defaults": {p, values{"seed": "abc"},
			values{"seed": "abc", "mode": "Fast", "debug": false}, ""},
		"everything": {p, values{"seed": "äöü", "mode": "Full", "count": 9.0, "ratio": 0.5,
			"debug": true},
			values{"seed": "äöü", "mode": "Full", "count": 9.0, "ratio": 0.5, "debug": true}, ""},
		"reference stays text": {p, values{"seed": "${{ x }}"},
			values{"seed": "${{ x }}", "mode": "Fast", "debug": false}, ""},
		"required": {p, nil, nil, "input.seed | required | fill in seed"},
		"unknown": {p, values{"seed": "abc", "sed": "x"}, nil,
			"input.sed | unknown_input | the pipeline declares no input \"sed\"; it declares seed, mode"},
		"no input": {plain, values{"seed": "abc"}, nil,
			"input.seed | unknown_input | the pipeline takes no input"},
		"type": {p, values{"seed": 1.0}, nil,
			"input.seed | wrong_value | give a string, not a number"},
		"too short":     {p, values{"seed": "a"}, nil, "give at least 2"},
		"too long":      {p, values{"seed": "aaaaaaaaa"}, nil, "give at most 8"},
		"pattern whole": {p, values{"seed": "abc1"}, nil, "does not match the pattern"},
		"pattern line":  {p, values{"seed": "abc\n"}, nil, "does not match the pattern"},
		"choice": {p, values{"seed": "abc", "mode": "fast"}, nil,
			"choose one of Fast, Full"},
		"whole": {p, values{"seed": "abc", "count": 1.5}, nil, "give a whole number"},
		"integer": {p, values{"seed": "abc", "count": "1"}, nil,
			"give an integer, not a string"},
		"min":     {p, values{"seed": "abc", "count": 0.0}, nil, "give at least 1"},
		"max":     {p, values{"seed": "abc", "count": 10.0}, nil, "give at most 9"},
		"null":    {p, values{"seed": nil}, nil, "give a string, not null"},
		"neither": {plain, nil, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, problems := pipeline.FillInput(c.in, c.given)
			text := problemText(problems)
			if c.says != "" && !strings.Contains(text, c.says) || (c.says == "") != (text == "") {
				t.Fatalf("problems %q, want %q", text, c.says)
			}
			if c.says != "" {
				return
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestFillInput_BoundsTheWhole(t *testing.T) {
	p, given := readShop(t), map[string]any{}
	for name := range strings.SplitSeq("a b c d e f g h i", " ") {
		p.Input = append(p.Input, inputField(name, pipeline.FieldString))
		given[name] = strings.Repeat("x", 4000)
	}
	_, problems := pipeline.FillInput(p, given)
	if text := problemText(problems); !strings.Contains(text, "| input | too_large |") {
		t.Errorf("%q", text)
	}
}

func TestValidate_Input(t *testing.T) {
	low, high := 5.0, 1.0
	for name, c := range map[string]struct {
		change func(p *pipeline.Pipeline)
		says   string
	}{
		"unknown": {func(p *pipeline.Pipeline) { p.Input = p.Input[1:] },
			`web | service.env.SEED | unknown_input | ${{ input.seed }}: the pipeline declares no ` +
				`input "seed"; ` +
				`it declares mode`},
		"undeclared": {func(p *pipeline.Pipeline) { p.Input = nil },
			"unknown_input | ${{ input.seed }}: the pipeline declares no input; declare"},
		"optional": {func(p *pipeline.Pipeline) { p.Input[0].Required = false },
			"web | service.env.SEED | optional_input |"},
		"name": {func(p *pipeline.Pipeline) { p.Input[4].Name = "a.b" },
			" | input[4].name | name |"},
		"duplicate": {func(p *pipeline.Pipeline) { p.Input[4].Name = "seed" },
			" | input[4].name | duplicate |"},
		"type": {func(p *pipeline.Pipeline) { p.Input[4].Type = "date" },
			"| input[4].type | type | \"date\" is unknown; use string, integer, number, boolean or choice"},
		"default": {func(p *pipeline.Pipeline) { p.Input[2].Default = 10.0 },
			"| input[2].default | wrong_value | the default does not fit: give at most 9"},
		"pattern": {func(p *pipeline.Pipeline) { p.Input[0].Pattern = "a)(b" },
			"| input[0].pattern | pattern |"},
		"limits": {func(p *pipeline.Pipeline) { p.Input[2].Min, p.Input[2].Max = &low, &high },
			"| input[2].max | range |"},
		"no limit": {func(p *pipeline.Pipeline) { p.Input[0].Min = &low },
			"| input[0].min | limit |"},
		"lengths": {func(p *pipeline.Pipeline) { p.Input[0].MinLength = 9 },
			"| input[0].max_length | range |"},
		"too many": {func(p *pipeline.Pipeline) {
			p.Input = append(p.Input,
				make([]pipeline.InputField, 50)...)
		}, "| input | too_many |"},
		"parameter of another type": {func(p *pipeline.Pipeline) {
			for i := range p.Steps {
				if p.Steps[i].Plugin != nil {
					p.Steps[i].Plugin.Component.Parameters = map[string]any{"properties": map[string]any{
						"count": map[string]any{"type": "integer"}}}
					p.Steps[i].Plugin.Parameters = map[string]any{"count": "${{ input.mode }}"}
				}
			}
		}, "plugin.parameters.count"},
	} {
		t.Run(name, func(t *testing.T) {
			p := inputShop(t)
			c.change(&p)
			if text := problemText(pipeline.Validate(p, readSettings())); !strings.Contains(text,
				c.says) {
				t.Errorf("%s\nwant %s", text, c.says)
			}
		})
	}
}

// A part of a pipeline asks for what its own steps read, and nothing else.
func TestBranch_KeepsTheInputOfItsSteps(t *testing.T) {
	p := inputShop(t)
	if names := pipeline.InputNames(pipeline.Branch(p, "web")); strings.Join(names,
		" ") != "mode seed" {
		t.Errorf("branch web has input %v", names)
	}
	if left := pipeline.Branch(p, "db").Input; len(left) > 0 {
		t.Errorf("branch db has input %v", left)
	}
}

func TestCompare_Input(t *testing.T) {
	old, now := inputShop(t), inputShop(t)
	now.Input[0].MaxLength = 9
	now.Input = now.Input[:4]
	d, err := pipeline.Compare(old, now)
	if err != nil || d.Empty() || len(d.Input) != 2 || d.Input[0].Path != `input["debug"]` ||
		d.Input[1].Path != `input["seed"].max_length` || string(d.Input[1].New) != "9" {
		t.Errorf("%+v, %v", d.Input, err)
	}
	if d, err = pipeline.Compare(old, old); err != nil || !d.Empty() {
		t.Errorf("%+v, %v", d, err)
	}
}
