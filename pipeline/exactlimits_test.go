package pipeline_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/nullops/nullops/pipeline"
)

// listNames makes names that differ.
func listNames(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("n%d", i)
	}
	return names
}

// The most of everything that an approval has is accepted, and one more is not.
func TestValidate_ApprovalAtItsLimits(t *testing.T) {
	type field = pipeline.ApprovalField
	only := func(a *pipeline.ApprovalStep, f field) { a.Fields = append(a.Fields, f) }
	for name, c := range map[string]struct {
		most  int
		apply func(a *pipeline.ApprovalStep, n int)
		says  string
	}{
		"prompt": {4000, func(a *pipeline.ApprovalStep, n int) {
			a.Prompt = strings.Repeat("a", n)
		}, "approval.prompt | too_long | 4001 bytes; 4000 are the most"},
		"seconds": {30 * 24 * 3600, func(a *pipeline.ApprovalStep, n int) { a.TimeoutSeconds = n },
			"approval.timeout_seconds | range | 2592001 seconds; give 1 to 2592000"},
		"fields": {20, func(a *pipeline.ApprovalStep, n int) {
			for _, name := range listNames(n - len(a.Fields)) {
				only(a, field{Name: name, Type: pipeline.FieldString})
			}
		}, "approval.fields | too_many | 21 fields; 20 are the most"},
		"answerers": {50, func(a *pipeline.ApprovalStep, n int) { a.Users = listNames(n) },
			"approval.users | too_many | 51 users; 50 are the most"},
		"teams": {50, func(a *pipeline.ApprovalStep, n int) { a.Teams = listNames(n) },
			"approval.teams | too_many | 51 teams; 50 are the most"},
		"choices": {100, func(a *pipeline.ApprovalStep, n int) {
			only(a, field{Name: "x", Type: pipeline.FieldChoice, Choices: listNames(n)})
		}, "approval.fields[4].choices | too_many | 101 choices; 100 are the most"},
		"a choice": {200, func(a *pipeline.ApprovalStep, n int) {
			only(a, field{Name: "x", Type: pipeline.FieldChoice,
				Choices: []string{strings.Repeat("a", n)}})
		}, "approval.fields[4].choices[0] | choice | a choice has 1 to 200 bytes"},
		"label": {200, func(a *pipeline.ApprovalStep, n int) {
			only(a, field{Name: "x", Type: pipeline.FieldString, Label: strings.Repeat("a", n)})
		}, "approval.fields[4].label | too_long | 201 bytes; 200 are the most"},
		"name": {40, func(a *pipeline.ApprovalStep, n int) {
			only(a, field{Name: strings.Repeat("a", n), Type: pipeline.FieldString})
		}, "approval.fields[4].name | name |"},
		"default": {4096, func(a *pipeline.ApprovalStep, n int) {
			only(a, field{Name: "x", Type: pipeline.FieldString, Default: strings.Repeat("a", n)})
		}, "default does not fit: 4097 bytes; 4096 are the most"},
	} {
		for _, n := range []int{c.most, c.most + 1} {
			p := approvalPipeline(t)
			c.apply(p.Steps[0].Approval, n)
			got := problemText(pipeline.Validate(p, pipeline.Settings{}))
			if (n > c.most) != strings.Contains(got, c.says) || n == c.most && got != "" {
				t.Errorf("%s of %d: %q", name, n, got)
			}
		}
	}
	for name, c := range map[string]struct {
		edit func(a *pipeline.ApprovalStep)
		says string
	}{
		"an empty choice": {func(a *pipeline.ApprovalStep) { a.Fields[0].Choices[1] = "" },
			"approval.fields[0].choices[1] | choice |"},
		"NUL": {func(a *pipeline.ApprovalStep) { a.Fields[0].Choices[1] = "a\x00" },
			"approval.fields[0].choices[1] | choice |"},
		"types": {func(a *pipeline.ApprovalStep) { a.Fields[3].Type = "integer" },
			`"integer" is unknown; use string, number, boolean or choice`},
	} {
		p := approvalPipeline(t)
		c.edit(p.Steps[0].Approval)
		got := problemText(pipeline.Validate(p, pipeline.Settings{}))
		if !strings.Contains(got, c.says) {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// The same holds for the fields of a pipeline's input.
func TestValidate_InputAtItsLimits(t *testing.T) {
	const exact = 1 << 53
	for name, c := range map[string]struct {
		most  float64
		apply func(p *pipeline.Pipeline, n float64)
		says  string
	}{
		"fields": {50, func(p *pipeline.Pipeline, n float64) {
			for _, name := range listNames(int(n) - len(p.Input)) {
				p.Input = append(p.Input, inputField(name, pipeline.FieldString))
			}
		}, "input | too_many | 51 fields; 50 are the most"},
		"description": {2000, func(p *pipeline.Pipeline, n float64) {
			p.Input[0].Description = strings.Repeat("a", int(n))
		}, "input[0].description | too_long | 2001 bytes; 2000 are the most"},
		"pattern": {500, func(p *pipeline.Pipeline, n float64) {
			p.Input[0].Pattern = strings.Repeat("a", int(n))
		}, "input[0].pattern | too_long | 501 bytes; 500 are the most"},
		"max_length": {4096, func(p *pipeline.Pipeline, n float64) {
			p.Input[0].MaxLength = int(n)
		}, "input[0].max_length | range | give lengths of 0 to 4096"},
		"min_length": {4096, func(p *pipeline.Pipeline, n float64) {
			p.Input[0].MinLength, p.Input[0].MaxLength = int(n), 0
		}, "input[0].max_length | range | give lengths of 0 to 4096"},
		"both lengths": {8, func(p *pipeline.Pipeline, n float64) {
			p.Input[0].MinLength = int(n)
		}, "input[0].max_length | range | the greatest length is below the shortest"},
		"min": {9, func(p *pipeline.Pipeline, n float64) { p.Input[2].Min = &n },
			"input[2].max | range | the highest value is below the lowest"},
		"max": {exact - 1, func(p *pipeline.Pipeline, n float64) { p.Input[2].Max = &n },
			"input[2].max | range | the number cannot be kept exactly"},
	} {
		for _, n := range []float64{c.most, c.most + 1} {
			p := inputShop(t)
			c.apply(&p, n)
			got := problemText(pipeline.Validate(p, readSettings()))
			if (n > c.most) != strings.Contains(got, c.says) || n == c.most && got != "" {
				t.Errorf("%s of %v: %q", name, n, got)
			}
		}
	}
	low := -float64(exact)
	for says, edit := range map[string]func(f *pipeline.InputField){
		"input[2].min | range | the number cannot": func(f *pipeline.InputField) { f.Min = &low },
		"input[2].pattern | limit |":               func(f *pipeline.InputField) { f.MinLength = 1 },
		"input[2].pattern | limit | only a text":   func(f *pipeline.InputField) { f.MaxLength = 1 },
		"input[2].pattern | limit | only a text has": func(f *pipeline.InputField) {
			f.Pattern = "a"
		},
		"give lengths of 0 to":    func(f *pipeline.InputField) { f.MinLength = -1 },
		"give lengths of 0 to 40": func(f *pipeline.InputField) { f.MaxLength = -1 },
	} {
		p := inputShop(t)
		edit(&p.Input[2])
		if got := problemText(pipeline.Validate(p, readSettings())); !strings.Contains(got, says) {
			t.Errorf("%s is missing: %q", says, got)
		}
	}
}

// Values at the limits of their field fit.
func TestFillInput_AtTheLimits(t *testing.T) {
	p := inputShop(t)
	p.Input[0].Pattern = ""
	for value, fits := range map[any]bool{"ab": true, "äöüäöüäö": true, "a": false,
		"äöüäöüäöü": false, 1.0: true, 9.0: true, 0.999: false} {
		given := map[string]any{"seed": "abc"}
		if n, isNumber := value.(float64); isNumber {
			given["count"] = n
		} else {
			given["seed"] = value
		}
		if _, problems := pipeline.FillInput(p, given); (len(problems) == 0) != fits {
			t.Errorf("%v: %v", value, problems)
		}
	}
	// An optional string that is empty needs no match; a required one does, and is to be filled in.
	p.Input[0].Pattern, p.Input[0].MinLength = "[a-z]+", 0
	_, problems := pipeline.FillInput(p, map[string]any{"seed": ""})
	if text := problemText(problems); !strings.Contains(text, "does not match the pattern") {
		t.Errorf("required and empty: %q", text)
	}
	p.Input[0].Required = false
	if _, problems := pipeline.FillInput(p, map[string]any{"seed": ""}); len(problems) > 0 {
		t.Errorf("optional and empty: %v", problems)
	}
	if _, problems := pipeline.FillInput(p, map[string]any{"seed": "A"}); len(problems) != 1 {
		t.Errorf("optional and wrong: %v", problems)
	}
	p.Input[0].Required, p.Input[0].Pattern, p.Input[0].Label = true, "", "The seed"
	_, problems = pipeline.FillInput(p, map[string]any{"seed": ""})
	if text := problemText(problems); !strings.Contains(text, "required | fill in The seed") {
		t.Errorf("required and empty without a pattern: %q", text)
	}
}

// An answer says what is wrong with it, in words that name the fields and not their values.
func TestAnswers_SayWhatIsWrong(t *testing.T) {
	a := &pipeline.ApprovalStep{}
	if a.Seconds() != 24*3600 {
		t.Errorf("it waits for %d seconds", a.Seconds())
	}
	a.TimeoutSeconds = 7
	if a.Seconds() != 7 {
		t.Errorf("it waits for %d seconds instead of 7", a.Seconds())
	}
	first := func(given map[string]any) string {
		_, problems := a.Answers(true, given)
		if len(problems) == 0 {
			return ""
		}
		return problems[0].Code + ": " + problems[0].Message
	}
	check := func(given map[string]any, want string) {
		t.Helper()
		if got := first(given); got != want {
			t.Errorf("%v: %q", given, got)
		}
	}
	check(map[string]any{"x": 1.0}, `unknown_field: the question has no field "x"; it has none`)
	a.Fields = []pipeline.ApprovalField{
		{Name: "note", Label: "Your note", Type: pipeline.FieldString, Required: true},
		{Name: "rows", Type: pipeline.FieldNumber},
	}
	check(map[string]any{"note": "a", "x": 1.0},
		`unknown_field: the question has no field "x"; it has note, rows`)
	check(map[string]any{"note": ""}, "required: fill in Your note")
	check(nil, "required: fill in Your note")
	check(map[string]any{"note": strings.Repeat("a", 4096)}, "")
	check(map[string]any{"note": strings.Repeat("a", 4097)},
		"wrong_value: 4097 bytes; 4096 are the most")
	for _, n := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		check(map[string]any{"note": "a", "rows": n}, "wrong_value: the number is out of range")
	}
	for value, want := range map[any]string{nil: "null", true: "a boolean", 1.0: "a number"} {
		check(map[string]any{"note": value}, "wrong_value: give a string, not "+want)
	}
	check(map[string]any{"note": []any{}}, "wrong_value: give a string, not a list")
	check(map[string]any{"note": map[string]any{}}, "wrong_value: give a string, not an object")
	check(map[string]any{"note": "a", "rows": "1"}, "wrong_value: give a number, not a string")
}

// References are found wherever a step can hold one.
func TestSecretNames_LookEverywhere(t *testing.T) {
	ref := func(name string) string { return "x ${{ secrets." + name + " }}" }
	all := pipeline.Pipeline{Steps: []pipeline.Step{
		{Key: "a", Service: &pipeline.ServiceStep{Entrypoint: []string{ref("entrypoint")},
			Command: []string{"x", ref("command")}, Env: map[string]string{"X": ref("env")},
			Files: []pipeline.File{{Content: ref("file")}}}},
		{Key: "b", Plugin: &pipeline.PluginStep{Secrets: map[string]string{"x": ref("plugin")},
			Parameters: map[string]any{"x": []any{1.0, map[string]any{"y": ref("parameter")}}}}},
		{Key: "c", Script: &pipeline.ScriptStep{Secrets: map[string]string{"x": ref("script")},
			Parameters: map[string]any{"x": ref("argument")}}},
		{Key: "d", Approval: &pipeline.ApprovalStep{Prompt: ref("prompt")}},
		{Key: "e", Service: &pipeline.ServiceStep{Command: []string{"${{", "${{ input.seed }}"}}},
	}}
	want := "[argument command entrypoint env file parameter plugin prompt script]"
	if got := fmt.Sprint(pipeline.SecretNames(all)); got != want {
		t.Errorf("secrets %s", got)
	}
	if got := fmt.Sprint(pipeline.InputNames(all)); got != "[seed]" {
		t.Errorf("input %s", got)
	}
}

// The greatest number, depth and size of a document are read, and no more.
func TestCheckJSON_AtItsLimits(t *testing.T) {
	nest := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	for text, want := range map[string]string{
		"[9007199254740991]":                "",
		"[-9007199254740991]":               "",
		"[9007199254740992]":                "[0]: the number cannot be kept exactly",
		"[-9007199254740992]":               "[0]: the number cannot be kept exactly",
		"[0, 9007199254740993.5]":           "",
		"[1e999]":                           "[0]: the number is out of range",
		nest(pipeline.MaxDepth):             "",
		nest(pipeline.MaxDepth + 1):         "nested deeper than",
		"\xff{}":                            "invalid character",
		"[\"a\xff\"]":                       "not valid UTF-8",
		"{}{}":                              "text follows",
		strings.Repeat(" ", 4<<20-1) + "{}": "4194305 bytes; 4194304 are the most",
	} {
		err := pipeline.CheckJSON([]byte(text))
		if want == "" && err != nil || want != "" && !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%.40q: %v", text, err)
		}
	}
}

// Names, users and patterns of the greatest length.
func TestNames_AtTheirLimits(t *testing.T) {
	labels := strings.Repeat(strings.Repeat("a", 62)+".", 4) // 252 bytes
	for name, want := range map[string]bool{labels + "a": true, labels + "aa": false, "a_b": true,
		strings.Repeat("a", 63): true, strings.Repeat("a", 64): false, "-a": false, "": false} {
		if pipeline.IsHostName(name) != want {
			t.Errorf("host %q: %v", name, !want)
		}
	}
	for user, want := range map[string]bool{"2147483647": true, "2147483648": false, "0": true,
		"1:2147483648": false, "1:2": true, "a:": false, ":a": false, "a$": true} {
		if pipeline.IsUser(user) != want {
			t.Errorf("user %q: %v", user, !want)
		}
	}
	for n, want := range map[int]bool{128: true, 129: false} {
		if err := pipeline.CheckPattern(strings.Repeat("a", n)); (err == nil) != want {
			t.Errorf("a pattern of %d bytes: %v", n, err)
		}
	}
}

// A plugin that lists no outputs may have any; one that lists its parameters' needs says so in Go
// and in JSON alike.
func TestValidate_ReadsWhatPluginsDeclare(t *testing.T) {
	check := func(want string, change func(c *pipeline.Component)) {
		t.Helper()
		p := editShop(t, "create-db", func(s *pipeline.Step) {
			change(s.Plugin.Component)
			delete(s.Plugin.Parameters, "name")
		})
		for i := range p.Steps {
			if p.Steps[i].Key == "web" {
				p.Steps[i].Service.Env = map[string]string{"X": "${{ steps.create-db.outputs.x }}"}
			}
		}
		if got := problemText(pipeline.Validate(p, readSettings())); !strings.HasPrefix(got, want) ||
			want == "" && got != "" {
			t.Errorf("want %q: %q", want, got)
		}
	}
	none := func(c *pipeline.Component) { c.Parameters["required"] = []any{} }
	check("web | service.env.X | unknown_output |", none)
	check("", func(c *pipeline.Component) { none(c); c.Outputs = map[string]any{"type": "object"} })
	check("create-db | plugin.parameters.name | required |", func(c *pipeline.Component) {
		c.Parameters["required"] = []string{"name"}
	})
	check("create-db | plugin.component.resources.memory_mib | range |",
		func(c *pipeline.Component) { none(c); c.Resources.MemoryMiB = 1 })
	check("create-db | plugin.component.timeout_seconds | range |",
		func(c *pipeline.Component) { none(c); c.TimeoutSeconds = -1 })
}

// Volumes have names of their own, and a shared one stays or goes for all of its steps.
func TestValidate_NamesTheStepOfAVolume(t *testing.T) {
	p := editShop(t, "web", func(s *pipeline.Step) {
		s.Service.Volumes = []pipeline.Volume{{Name: "a", Path: "/a"}, {Name: "a", Path: "/b"}}
	})
	got := problemText(pipeline.Validate(p, readSettings()))
	if got != "web | service.volumes[1].name | duplicate | two volumes have the name \"a\"\n" {
		t.Errorf("%q", got)
	}
	p = editShop(t, "web", func(s *pipeline.Step) {
		s.Service.Volumes = []pipeline.Volume{{Name: "a", Path: "/a", Shared: "x", Stays: true}}
	})
	p.Steps[0].Service.Volumes[0].Shared = "x"
	got = problemText(pipeline.Validate(p, readSettings()))
	if !strings.HasPrefix(got,
		"web | service.volumes[0].stays | shared | step \"db\" says otherwise") {
		t.Errorf("%q", got)
	}
	p = readShop(t)
	for _, name := range listNames(pipeline.MaxSteps - len(p.Steps) + 1) {
		p.Steps = append(p.Steps, pipeline.Step{Key: pipeline.StepKey(name), Service: p.Steps[0].Service})
	}
	got = problemText(pipeline.Validate(p, pipeline.Settings{}))
	if !strings.HasPrefix(got, " | steps | too_many | 501 steps; 500 are the most\n") {
		t.Errorf("%.200q", got)
	}
}
