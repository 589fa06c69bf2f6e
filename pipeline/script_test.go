package pipeline_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/nullops/nullops/pipeline"
)

// newScriptPipeline is the shop with a database, a script that reads its address, and a job
// that needs what the script returns.
func newScriptPipeline(t *testing.T) pipeline.Pipeline {
	t.Helper()
	p := migrationPipeline(t)
	p.Steps = append(p.Steps, pipeline.Step{Key: "derive", Needs: []pipeline.StepKey{"db"},
		Script: &pipeline.ScriptStep{Source: "export default () => {}",
			Parameters: map[string]any{"host": "${{ services.db.host }}"},
			Secrets:    map[string]string{"key": "${{ secrets.api-key }}"},
			Outputs: map[string]any{"type": "object", "properties": map[string]any{
				"name": map[string]any{"type": "string"}, "dsn": map[string]any{"writeOnly": true}}}}})
	p.Steps[1].Needs = append(p.Steps[1].Needs, "derive")
	p.Steps[1].Job.Env["NAME"] = "${{ steps.derive.outputs.name }}"
	return p
}

func TestEncode_ScriptIsFormat3(t *testing.T) {
	p := newScriptPipeline(t)
	if got := pipeline.Validate(p, readSettings()); len(got) != 0 {
		t.Fatalf("problems:\n%s", problemText(got))
	}
	encoded, err := pipeline.Encode(p)
	want := `"script":{"source":"export default () => {}","parameters":{"host":"${{ services.db.` +
		`host }}"},"secrets":{"key":"${{ secrets.api-key }}"},"outputs":{"properties":{"dsn":{"write` +
		`Only":true},"name":{"type":"string"}},"type":"object"}}`
	if err != nil || !strings.HasPrefix(string(encoded), `{"format":3,`) ||
		!strings.Contains(string(encoded), want) {
		t.Errorf("the canonical form changed; stored versions would lose their digest:\n%s", encoded)
	}
	if again, err := pipeline.Decode(encoded); err != nil || again.Format != 3 {
		t.Errorf("format %d: %v", again.Format, err)
	}
	if names := pipeline.SecretNames(p); !slices.Contains(names, "api-key") {
		t.Errorf("secrets: %v", names)
	}
	if s, _ := p.Step("derive"); !slices.Equal(s.Declares().Secrets,
		[]pipeline.SecretInput{{Name: "key", Required: true}}) || s.Declares().TimeoutSeconds != 10 {
		t.Errorf("a script declares %+v", s.Declares())
	}
	p.Steps[2].Script.Removes = true
	if s, _ := p.Step("derive"); !s.Declares().CanUndo() || !s.Declares().Idempotent {
		t.Errorf("a script that exports remove declares %+v", s.Declares())
	}
	if s, _ := pipeline.AsWritten(p).Step("derive"); s.Script.Removes || !p.Steps[2].Script.Removes {
		t.Error("as written, a script says what saving found out")
	}
}

func TestValidate_Script(t *testing.T) {
	type step = pipeline.Step
	for _, m := range []mistake{
		{"empty", "derive", func(s *step) { s.Script.Source = " \n" },
			"script.source", "required", "the script is empty"},
		{"too long", "derive", func(s *step) {
			s.Script.Source = strings.Repeat(" ", pipeline.MaxScript) + "x"
		}, "script.source", "too_long", "65537 bytes; 65536 are the most"},
		{"timeout", "derive", func(s *step) { s.Script.TimeoutSeconds = 301 },
			"script.timeout_seconds", "range", "give 1 to 300, or 0 for the usual 10"},
		{"unknown service", "derive", func(s *step) {
			s.Script.Parameters["host"] = "${{ services.nix.host }}"
		}, "script.parameters.host", "unknown_service", "nix"},
		{"secret as parameter", "derive", func(s *step) {
			s.Script.Parameters["key"] = []any{"${{ secrets.api-key }}"}
		}, "script.parameters", "secret", "give it to the script under secrets"},
		{"secret written down", "derive", func(s *step) { s.Script.Secrets["key"] = "hunter2" },
			"script.secrets.key", "reference", "a secret does not stand in a pipeline"},
		{"name of a secret", "derive", func(s *step) {
			s.Script.Secrets["a-b"] = "${{ secrets.api-key }}"
		}, "script.secrets.a-b", "name", "secrets.NAME"},
		{"outputs", "derive", func(s *step) { s.Script.Outputs["type"] = "array" },
			"script.outputs", "type", "the outputs are an object"},
		{"unknown output", "migrate", func(s *step) {
			s.Job.Env["NAME"] = "${{ steps.derive.outputs.nix }}"
		}, "job.env.NAME", "unknown_output", `has no output "nix"`},
		{"secret output", "migrate", func(s *step) {
			s.Job.Command = []string{"${{ steps.derive.outputs.dsn }}"}
		}, "job.command[0]", "secret", "can be read on the node"},
		{"two kinds", "derive", func(s *step) { s.Job = &pipeline.JobStep{} },
			"kind", "kind", "a job and a script at once"},
	} {
		t.Run(m.name, func(t *testing.T) {
			p := newScriptPipeline(t)
			for i := range p.Steps {
				if p.Steps[i].Key == m.step {
					m.change(&p.Steps[i])
				}
			}
			got := pipeline.Validate(p, readSettings())
			if !slices.ContainsFunc(got, func(found pipeline.Problem) bool {
				return found.Field == m.field && found.Code == m.code &&
					strings.Contains(found.Message, m.words)
			}) {
				t.Errorf("want %s %s %q, got:\n%s", m.field, m.code, m.words, problemText(got))
			}
		})
	}
}
