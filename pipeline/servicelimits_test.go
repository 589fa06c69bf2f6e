package pipeline_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/nullops/nullops/pipeline"
)

// The greatest value of each field of a service or plugin is accepted, and the next is not.
func TestValidate_ServicesAtTheirLimits(t *testing.T) {
	type step = pipeline.Step
	for name, c := range map[string]struct {
		step  pipeline.StepKey
		most  int
		apply func(s *step, n int)
		says  string
	}{
		"memory": {"web", 16 << 20, func(s *step, n int) { s.Service.Resources.MemoryMiB = n },
			"service.resources.memory_mib | range | 16777217 MiB; give 6 to 16777216"},
		"little memory": {"web", -6, func(s *step, n int) { s.Service.Resources.MemoryMiB = -n },
			"service.resources.memory_mib | range | 5 MiB"},
		"cores": {"web", 1024, func(s *step, n int) { s.Service.Resources.CPU = float64(n) },
			"service.resources.cpu | range | 1025 cores; give 0.01 to 1024"},
		"few cores": {"web", -10, func(s *step, n int) {
			s.Service.Resources.CPU = -float64(n) / 1000
		}, "service.resources.cpu | range | 0.009 cores"},
		"plugin's seconds": {"create-db", 86400, func(s *step, n int) { s.Plugin.TimeoutSeconds = n },
			"plugin.timeout_seconds | range | 86401 seconds; give 0 to 86400"},
		"GPUs": {"web", 64, func(s *step, n int) { s.Service.GPUs = &pipeline.GPUs{Count: n} },
			"service.gpus.count | range | 65 GPUs; give 1 to 64"},
		"VRAM": {"web", 4 << 20, func(s *step, n int) {
			s.Service.GPUs = &pipeline.GPUs{Count: 1, VRAMMiB: n}
		}, "service.gpus.vram_mib | range | 4194305 MiB; give 1 to 4194304"},
		"device": {"web", 128, func(s *step, n int) {
			s.Service.GPUs = &pipeline.GPUs{DeviceIDs: []string{strings.Repeat("a", n)}}
		}, "service.gpus.device_ids[0] | device |"},
		"file": {"web", 256 << 10, func(s *step, n int) {
			s.Service.Files = []pipeline.File{{Path: "/a", Content: strings.Repeat("a", n)}}
		}, "service.files[0].content | too_long | 262145 bytes; 262144 are the most"},
		"tmpfs": {"web", 16 << 20, func(s *step, n int) {
			s.Service.Tmpfs = []pipeline.Tmpfs{{Path: "/a", SizeMiB: n}}
		}, "service.tmpfs[0].size_mib | range | 16777217 MiB; give 1 to 16777216"},
		"name in a path": {"web", 255, func(s *step, n int) {
			s.Service.Files = []pipeline.File{{Path: "/" + strings.Repeat("a", n) + "/b"}}
		}, "service.files[0].path | too_long | the path has 259 bytes; 4095 are the most, and 255"},
		"path": {"web", 4095, func(s *step, n int) {
			path := strings.Repeat("/"+strings.Repeat("a", 99), 40) + "/" + strings.Repeat("b", n-4001)
			s.Service.Files = []pipeline.File{{Path: path}}
		}, "service.files[0].path | too_long | the path has 4096 bytes"},
		"key": {"web", 40, func(s *step, n int) { s.Key = pipeline.StepKey(strings.Repeat("a", n)) },
			" | key | name |"},
		"grace": {"web", 600, func(s *step, n int) { s.Service.StopGraceSeconds = n },
			"service.stop_grace_seconds | range | 601 seconds; give 1 to 600"},
		"signal": {"web", 64, func(s *step, n int) { s.Service.StopSignal = fmt.Sprint(n) },
			`service.stop_signal | signal | "65" is not a signal`},
		"first signal": {"web", -1, func(s *step, n int) { s.Service.StopSignal = fmt.Sprint(-n) },
			`service.stop_signal | signal | "0" is not a signal`},
		"hosts": {"web", 100, func(s *step, n int) {
			for _, name := range listNames(n) {
				s.Service.ExtraHosts = append(s.Service.ExtraHosts,
					pipeline.ExtraHost{Name: name, Address: "10.0.0.1"})
			}
		}, "service.extra_hosts | too_many | 101 hosts; 100 are the most"},
		"argument": {"web", 128<<10 - 1, func(s *step, n int) {
			s.Service.Command = []string{strings.Repeat("a", n)}
		}, "service.command[0] | too_long | 131072 bytes"},
		"variable": {"web", 128<<10 - 1, func(s *step, n int) {
			s.Service.Env = map[string]string{"A": strings.Repeat("a", n-2)}
		}, "service.env.A | too_long | 131072 bytes"},
		"user": {"web", 255, func(s *step, n int) { s.Service.User = strings.Repeat("a", n) },
			"service.user | user |"},
		"port": {"web", 65535, func(s *step, n int) {
			s.Service.Ports = append(s.Service.Ports, pipeline.Port{Name: "x", Port: n})
		}, "service.ports[1].port | range | port 65536; give 1 to 65535"},
		"retries": {"web", 10000, func(s *step, n int) { s.Service.Ready.Retries = n },
			"service.ready.retries | range | 10001 tries"},
	} {
		for _, n := range []int{c.most, c.most + 1} {
			p := editShop(t, c.step, func(s *step) { c.apply(s, n) })
			got := problemText(pipeline.Validate(p, pipeline.Settings{Secrets: readSettings().Secrets}))
			if (n > c.most) != strings.Contains(got, c.says) ||
				n == c.most && got != "" && name != "key" {
				t.Errorf("%s of %d: %.300q", name, n, got)
			}
		}
	}
}

// The same for scripts and jobs.
func TestValidate_ScriptsAndJobsAtTheirLimits(t *testing.T) {
	for name, c := range map[string]struct {
		most  int
		apply func(script *pipeline.ScriptStep, job *pipeline.JobStep, n int)
		says  string
	}{
		"script's seconds": {300, func(s *pipeline.ScriptStep, _ *pipeline.JobStep, n int) {
			s.TimeoutSeconds = n
		}, "script.timeout_seconds | range | 301 seconds; give 1 to 300"},
		"source": {64 << 10, func(s *pipeline.ScriptStep, _ *pipeline.JobStep, n int) {
			s.Source = strings.Repeat("a", n)
		}, "script.source | too_long | 65537 bytes; 65536 are the most"},
		"secret": {64, func(s *pipeline.ScriptStep, _ *pipeline.JobStep, n int) {
			s.Secrets = map[string]string{strings.Repeat("a", n): "${{ secrets.api-key }}"}
		}, "| name |"},
		"job's seconds": {86400, func(_ *pipeline.ScriptStep, j *pipeline.JobStep, n int) {
			j.TimeoutSeconds = n
		}, "job.timeout_seconds | range | 86401 seconds; give 1 to 86400"},
	} {
		for _, n := range []int{-1, c.most, c.most + 1} {
			if n < 0 && !strings.Contains(name, "seconds") {
				continue
			}
			p := newScriptPipeline(t)
			c.apply(p.Steps[2].Script, p.Steps[1].Job, n)
			got := problemText(pipeline.Validate(p, readSettings()))
			says := strings.ReplaceAll(c.says, fmt.Sprint(c.most+1), fmt.Sprint(n))
			if (n != c.most) != strings.Contains(got, says) || n == c.most && got != "" {
				t.Errorf("%s of %d: %.300q", name, n, got)
			}
		}
	}
}

// What a document may hold as a whole.
func TestValidate_TheWholeAtItsLimits(t *testing.T) {
	const most = 8 << 10
	for _, n := range []int{most, most + 1} {
		p := readShop(t)
		p.Comments = []pipeline.Comment{{}, {Text: strings.Repeat("a", n)}}
		got := problemText(pipeline.Validate(p, readSettings()))
		want := ""
		if n > most {
			want = " | comments[1].text | too_long | a comment of 8193 bytes; 8192 are the most\n"
		}
		if got != want {
			t.Errorf("a comment of %d: %q", n, got)
		}
	}
	p := readShop(t)
	p.Order = []pipeline.StepKey{"db", "api", "create-db", "web"}
	got := problemText(pipeline.Validate(p, readSettings()))
	if !strings.HasPrefix(got, " | order | order |") {
		t.Errorf("another order: %q", got)
	}
	// A cycle is a problem of its first step, and the order of none.
	p = editShop(t, "db", func(s *pipeline.Step) { s.Needs = []pipeline.StepKey{"web"} })
	p.Comments = nil
	got = problemText(pipeline.Validate(p, readSettings()))
	if !strings.Contains(got, "api | needs | cycle |") || strings.Contains(got, "| order |") {
		t.Errorf("a cycle: %q", got)
	}
}

// More mistakes, each with its step and the words that say what to do.
func TestValidate_NamesMoreMistakes(t *testing.T) {
	type step = pipeline.Step
	for want, c := range map[string]struct {
		step   pipeline.StepKey
		change func(s *step)
	}{
		"web | service.volumes[0].name | name | the volume's name \"A\"": {"web", func(s *step) {
			s.Service.Volumes = []pipeline.Volume{{Name: "A", Path: "/a"}}
		}},
		"web | service.volumes[0].shared | name |": {"web", func(s *step) {
			s.Service.Volumes = []pipeline.Volume{{Name: "a", Path: "/a", Shared: "A"}}
		}},
		"web | service.image.registry | required | the image has no registry": {"web",
			func(s *step) { s.Service.Image.Registry = "" }},
		"web | service.image.repository | required | the image has no repository": {"web",
			func(s *step) { s.Service.Image.Repository = "" }},
		"web | service.image.digest | digest | \"x\" is not of the form": {"web",
			func(s *step) { s.Service.Image.Digest = "x" }},
		"web | service.image.tag | tag | \"a b\" is not a tag": {"web",
			func(s *step) { s.Service.Image.Tag = "a b" }},
		"web | service.image.tag_mode | tag_mode | \"x\" is unknown": {"web",
			func(s *step) { s.Service.Image.TagMode = "x" }},
		"web | service.image | missing_image |": {"web", func(s *step) { s.Service.Image = nil }},
		"create-db | plugin.name | required | the step names no plugin": {"create-db",
			func(s *step) { s.Plugin.Name = "" }},
		"web | service.name | required | the step names no service": {"web",
			func(s *step) { s.Service.Name = "" }},
		"web | service.gpus | gpus | give either how many": {"web",
			func(s *step) { s.Service.GPUs = &pipeline.GPUs{} }},
		"web | service.gpus.count | range | -1 GPUs": {"web",
			func(s *step) { s.Service.GPUs = &pipeline.GPUs{Count: -1} }},
		"web | service.gpus.vram_mib | range | -1 MiB": {"web",
			func(s *step) { s.Service.GPUs = &pipeline.GPUs{Count: 1, VRAMMiB: -1} }},
		"web | service.gpus.device_ids[1] | duplicate | device \"0\" is listed twice": {"web",
			func(s *step) { s.Service.GPUs = &pipeline.GPUs{DeviceIDs: []string{"0", "0"}} }},
		"web | service.tmpfs[0].size_mib | range | -1 MiB": {"web",
			func(s *step) { s.Service.Tmpfs = []pipeline.Tmpfs{{Path: "/a", SizeMiB: -1}} }},
		"web | service.resources.memory_mib | required | the project limits memory, so each service": {
			"web", func(s *step) { s.Service.Resources.MemoryMiB = 0 }},
		"web | service.resources.cpu | required | the project limits CPU, so each service": {"web",
			func(s *step) { s.Service.Resources.CPU = 0 }},
		"web | service.stop_grace_seconds | range | -1 seconds": {"web",
			func(s *step) { s.Service.StopGraceSeconds = -1 }},
		"web | service.env.X | not_ancestor |": {"web", func(s *step) {
			s.Needs, s.Service.Env = nil, map[string]string{"X": "${{ services.db.host }}"}
		}},
		"web | service.env.X | unknown_output | ${{ steps.api.outputs.a }}: step \"api\" is a service": {
			"web", func(s *step) {
				s.Service.Env = map[string]string{"X": "${{ steps.api.outputs.a }}"}
			}},
		"web | service.env.X | unknown_service |": {"web", func(s *step) {
			s.Service.Env = map[string]string{"X": "${{ services.create-db.host }}"}
		}},
		"web | service.env.X | no_port |": {"web", func(s *step) {
			s.Service.Ports, s.Service.Ready = nil, nil
			s.Service.Env = map[string]string{"X": "${{ services.web.port }}"}
		}},
		"web | service.env.X | not_exposed |": {"web", func(s *step) {
			s.Service.Env = map[string]string{"X": "${{ services.db.url }}"}
		}},
	} {
		got := problemText(pipeline.Validate(editShop(t, c.step, c.change), readSettings()))
		if !strings.Contains(got, want) {
			t.Errorf("%s is missing: %q", want, got)
		}
	}
	// A reference reaches back over several steps.
	p := editShop(t, "web", func(s *step) {
		s.Service.Env = map[string]string{"DB": "${{ services.db.host }}",
			"SELF": "${{ services.web.port }}"}
	})
	if got := pipeline.Validate(p, readSettings()); len(got) > 0 {
		t.Errorf("an earlier step: %s", problemText(got))
	}
}

// A schema's types bound what a reference may stand for: a list of types is each of them, true
// is any, and whole numbers are numbers.
func TestValidate_FitsTypesOfSchemas(t *testing.T) {
	for name, c := range map[string]struct {
		schema any
		text   string
		fits   bool
	}{
		"one of two": {map[string]any{"type": []any{"null", "integer"}},
			"${{ services.db.port }}", true},
		"none of two": {map[string]any{"type": []any{"null", "boolean"}},
			"${{ services.db.port }}", false},
		"a number":           {map[string]any{"type": "number"}, "${{ services.db.port }}", true},
		"any":                {true, "${{ services.db.host }}", true},
		"not said":           {map[string]any{}, "${{ services.db.host }}", true},
		"text":               {map[string]any{"type": "integer"}, "${{ services.db.host }}", false},
		"input of a number":  {map[string]any{"type": "integer"}, "${{ input.ratio }}", true},
		"input of a boolean": {map[string]any{"type": "integer"}, "${{ input.debug }}", false},
	} {
		p := editShop(t, "create-db", func(s *pipeline.Step) {
			s.Plugin.Component.Parameters["properties"].(map[string]any)["x"] = c.schema
			s.Plugin.Parameters["x"] = c.text
		})
		p.Input = inputShop(t).Input
		p.Input[3].Required = true
		got := problemText(pipeline.Validate(p, readSettings()))
		if (got == "") != c.fits || !c.fits && !strings.Contains(got,
			"plugin.parameters.x | wrong_type") {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// A plugin step's own numbers replace those of the plugin, each by itself.
func TestPluginStep_ReplacesItsComponent(t *testing.T) {
	yes, no := true, false
	for name, c := range map[string]struct {
		step      pipeline.PluginStep
		limits    pipeline.Resources
		networked bool
	}{
		"unknown": {pipeline.PluginStep{}, pipeline.Resources{}, false},
		"the plugin's": {pipeline.PluginStep{Component: &pipeline.Component{Network: true,
			Resources: pipeline.Resources{CPU: 1, MemoryMiB: 2}}},
			pipeline.Resources{CPU: 1, MemoryMiB: 2}, true},
		"one of its own": {pipeline.PluginStep{Network: &no, Resources: &pipeline.Resources{MemoryMiB: 3},
			Component: &pipeline.Component{Network: true,
				Resources: pipeline.Resources{CPU: 1, MemoryMiB: 2}}},
			pipeline.Resources{CPU: 1, MemoryMiB: 3}, false},
		"its own": {pipeline.PluginStep{Network: &yes, Resources: &pipeline.Resources{CPU: 4},
			Component: &pipeline.Component{}}, pipeline.Resources{CPU: 4}, true},
	} {
		if c.step.Limits() != c.limits || c.step.Networked() != c.networked {
			t.Errorf("%s: %+v, %v", name, c.step.Limits(), c.step.Networked())
		}
	}
	delete := &pipeline.Component{Actions: []string{"create", "delete"}}
	if !delete.CanUndo() || (&pipeline.Component{Actions: []string{"create"}}).CanUndo() {
		t.Error("a plugin can undo what it says")
	}
}

// What saving fills in is left out again, and the pipeline itself stays as it is.
func TestAsWritten_LeavesOutWhatSavingFilledIn(t *testing.T) {
	p := readShop(t)
	got := pipeline.AsWritten(p)
	if got.Order != nil || got.Steps[0].Service.Image != nil || got.Steps[1].Plugin.Image != nil ||
		got.Steps[1].Plugin.Component != nil || got.Steps[1].Plugin.Name != "postgres-database" {
		t.Errorf("%+v", got)
	}
	if p.Order == nil || p.Steps[0].Service.Image == nil || p.Steps[1].Plugin.Component == nil {
		t.Errorf("the pipeline was changed: %+v", p)
	}
}

// An output is secret when the plugin says so of it, and not when the plugin does not know it.
func TestComponent_KnowsItsSecretOutputs(t *testing.T) {
	c := readShop(t).Steps[1].Plugin.Component
	for name, secret := range map[string]bool{"connectionString": true, "port": false, "x": false} {
		if c.SecretOutput(name) != secret {
			t.Errorf("%s: secret is %v", name, !secret)
		}
	}
	p := editShop(t, "web", func(s *pipeline.Step) {
		s.Service.Command = []string{"${{ steps.create-db.outputs.port }}"}
	})
	if got := pipeline.Validate(p, readSettings()); len(got) > 0 {
		t.Errorf("an output that is not secret: %s", problemText(got))
	}
}

// What a project's limits ask of each step is a problem of that step, by the name of its kind.
func TestValidate_LimitsNameTheirStep(t *testing.T) {
	p := migrationPipeline(t)
	want := ""
	for _, s := range p.Steps {
		if c := s.Container(); c != nil {
			c.Resources = pipeline.Resources{CPU: 0.1}
			kind := "service"
			if s.Job != nil {
				kind = "job"
			}
			want += string(s.Key) + " | " + kind + ".resources.memory_mib | required | the project " +
				"limits memory, so each " + kind + " needs a limit; give MiB, such as 256\n"
		}
	}
	if got := problemText(pipeline.Validate(p, readSettings())); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	p = editShop(t, "web", func(s *pipeline.Step) {
		s.Needs = []pipeline.StepKey{"api", "api"}
		s.Service.Resources.MemoryMiB = 1024
	})
	got := problemText(pipeline.Validate(p, readSettings()))
	if !strings.HasPrefix(got, "web | needs[1] | duplicate | step \"web\" needs \"api\" twice\n") ||
		!strings.Contains(got, "\n | resources.memory_mib | over_limit |") {
		t.Errorf("got\n%s", got)
	}
	p = editShop(t, "create-db", func(s *pipeline.Step) { s.Plugin.Image.Repository = "" })
	got = problemText(pipeline.Validate(p, readSettings()))
	if got != "create-db | plugin.image.repository | required | the image has no repository\n" {
		t.Errorf("got\n%s", got)
	}
}

// An output of a plugin that is not known yet may be of any type.
func TestValidate_UnknownOutputsFit(t *testing.T) {
	p := editShop(t, "create-db", func(s *pipeline.Step) {
		s.Plugin.Parameters["port"] = "${{ steps.first.outputs.x }}"
		s.Needs = append(s.Needs, "first")
	})
	first := *p.Steps[1].Plugin
	first.Component, first.Parameters, first.Secrets = nil, nil, nil
	p.Order = nil
	p.Steps = append(p.Steps, pipeline.Step{Key: "first", Plugin: &first})
	got := problemText(pipeline.Validate(p, readSettings()))
	if !strings.HasPrefix(got, "first | plugin.component | missing_component |") ||
		strings.Contains(got, "wrong_type") {
		t.Errorf("got\n%s", got)
	}
}

// What is only just right is accepted.
func TestValidate_AcceptsWhatIsJustRight(t *testing.T) {
	noProblem := func(name string, p pipeline.Pipeline, settings pipeline.Settings) {
		t.Helper()
		if got := problemText(pipeline.Validate(p, settings)); got != "" {
			t.Errorf("%s: %s", name, got)
		}
	}
	p := approvalPipeline(t)
	p.Steps[0].Approval.TimeoutSeconds = 0
	noProblem("an approval's usual time", p, pipeline.Settings{})
	p = newScriptPipeline(t)
	p.Steps[1].Job.TimeoutSeconds, p.Steps[2].Script.TimeoutSeconds = 0, 0
	noProblem("the usual time of a job and a script", p, readSettings())
	noProblem("a literal, which is checked elsewhere", editShop(t, "create-db",
		func(s *pipeline.Step) { s.Plugin.Parameters["port"] = "5432" }), readSettings())
	p = editShop(t, "create-db", func(s *pipeline.Step) {
		s.Plugin.Component.Outputs["properties"].(map[string]any)["any"] = true
	})
	for i := range p.Steps {
		if p.Steps[i].Key == "web" {
			p.Steps[i].Service.Env["X"] = "${{ steps.create-db.outputs.any }}"
		}
	}
	noProblem("an output of any type", p, readSettings())
	p = inputShop(t)
	p.Input[0].MaxLength, p.Input[0].MinLength = 1, 2
	if got := problemText(pipeline.Validate(p, readSettings())); !strings.Contains(got,
		"is below") {
		t.Errorf("one character and two: %q", got)
	}
	p = inputShop(t)
	p.Input[2].Default = "x"
	got := problemText(pipeline.Validate(p, readSettings()))
	if strings.Count(got, "\n") != 1 || !strings.Contains(got, "| wrong_type |") {
		t.Errorf("a default of another type: %q", got)
	}
	p = inputShop(t)
	p.Input[2].Max = nil
	for n, fits := range map[float64]bool{1<<53 - 1: true, 1 << 53: false} {
		_, problems := pipeline.FillInput(p, map[string]any{"seed": "abc", "count": n})
		if (len(problems) == 0) != fits {
			t.Errorf("%.0f: %v", n, problems)
		}
	}
	if err := pipeline.CheckPattern("[a-z]/b"); err != nil {
		t.Errorf("a slash after a set: %v", err)
	}
	nested := func(n int) []byte {
		return []byte(strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n))
	}
	if pipeline.CheckJSON(nested(pipeline.MaxDepth)) != nil ||
		pipeline.CheckJSON(nested(pipeline.MaxDepth+1)) == nil {
		t.Error("objects nest less deeply, or deeper")
	}
}

// The first field of a pipeline's input is told by its name, as all others are.
func TestCompare_NamesTheFirstInput(t *testing.T) {
	old, now := readShop(t), readShop(t)
	now.Input = []pipeline.InputField{inputField("seed", pipeline.FieldString)}
	for _, d := range []pipeline.Diff{diffOf(t, old, now), diffOf(t, now, old)} {
		if len(d.Input) == 0 || !strings.HasPrefix(fmt.Sprint(d.Input[0]), `{input["seed"]`) {
			t.Errorf("the change is %+v", d.Input)
		}
	}
	if d := diffOf(t, old, old); d.Input != nil {
		t.Errorf("no input differs as %+v", d.Input)
	}
}

// A version that was chosen before counts where none is chosen now, whatever its tag.
func TestWithVersions_KeepsWhatIsChosen(t *testing.T) {
	p := editShop(t, "api", func(s *pipeline.Step) {
		s.Service.Image.Tag, s.Service.Image.Digest = "other", digest
	})
	versions := testVersions()
	delete(versions, "api")
	if _, problems := pipeline.WithVersions(p, versions); len(problems) > 0 {
		t.Errorf("problems: %s", problemText(problems))
	}
}
