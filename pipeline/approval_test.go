package pipeline_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nullops/nullops/pipeline"
)

func approvalPipeline(t *testing.T) pipeline.Pipeline {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "approval.json"))
	if err != nil {
		t.Fatal(err)
	}
	p, err := pipeline.Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func findQuestion(t *testing.T) *pipeline.ApprovalStep {
	t.Helper()
	s, _ := approvalPipeline(t).Step("approve")
	return s.Approval
}

func TestEncode_ApprovalIsCanonical(t *testing.T) {
	if got := pipeline.Validate(approvalPipeline(t), pipeline.Settings{}); len(got) != 0 {
		t.Fatalf("problems:\n%s", problemText(got))
	}
	encoded, err := pipeline.Encode(approvalPipeline(t))
	if err != nil {
		t.Fatal(err)
	}
	golden, err := os.ReadFile(filepath.Join("testdata", "approval.canonical.json"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(encoded, bytes.TrimSpace(golden)) {
		t.Errorf("the canonical form changed; stored versions would lose their digest:\n%s", encoded)
	}
}

func TestValidate_Approval(t *testing.T) {
	type ask = pipeline.ApprovalStep
	type field = pipeline.ApprovalField
	fields := func(f ...field) func(*ask) { return func(a *ask) { a.Fields = f } }
	for _, c := range []struct {
		change      func(*ask)
		field, code string
	}{
		{func(a *ask) { a.Prompt = " " }, "approval.prompt", "required"},
		{func(a *ask) { a.Prompt = strings.Repeat("a", 4001) }, "approval.prompt", "too_long"},
		{func(a *ask) { a.Prompt = "${{ secrets.key }}" }, "approval.prompt", "secret"},
		{func(a *ask) { a.Prompt = "${{ services.web.host }}" }, "approval.prompt", "not_ancestor"},
		{func(a *ask) { a.Prompt = "${{ steps.approve.outputs.size }}" },
			"approval.prompt", "not_ancestor"},
		{func(a *ask) { a.TimeoutSeconds = -1 }, "approval.timeout_seconds", "range"},
		{func(a *ask) { a.TimeoutSeconds = 31 * 86400 }, "approval.timeout_seconds", "range"},
		{func(a *ask) { a.Teams = []string{"a", ""} }, "approval.teams[1]", "required"},
		{func(a *ask) { a.Users = []string{"a", "a"} }, "approval.users[1]", "duplicate"},
		{fields(field{Name: "1", Type: "string"}), "approval.fields[0].name", "name"},
		{fields(field{Name: "answer", Type: "string"}), "approval.fields[0].name", "reserved"},
		{fields(field{Name: "a", Type: "string"}, field{Name: "a", Type: "number"}),
			"approval.fields[1].name", "duplicate"},
		{fields(field{Name: "a", Type: "date"}), "approval.fields[0].type", "type"},
		{fields(field{Name: "a", Type: "choice"}), "approval.fields[0].choices", "required"},
		{fields(field{Name: "a", Type: "choice", Choices: []string{"x", "x"}}),
			"approval.fields[0].choices[1]", "duplicate"},
		{fields(field{Name: "a", Type: "string", Choices: []string{"x"}}),
			"approval.fields[0].choices", "choices"},
		{fields(field{Name: "a", Type: "number", Default: "7"}),
			"approval.fields[0].default", "wrong_type"},
		{fields(field{Name: "a", Type: "choice", Choices: []string{"x"}, Default: "y"}),
			"approval.fields[0].default", "wrong_type"},
		{fields(make([]field, 21)...), "approval.fields", "too_many"},
		{fields(), "service.env.SIZE", "unknown_output"},
	} {
		p := approvalPipeline(t)
		c.change(p.Steps[0].Approval)
		got := problemText(pipeline.Validate(p, pipeline.Settings{Secrets: []string{"key"}}))
		if !strings.Contains(got, fmt.Sprintf(" | %s | %s | ", c.field, c.code)) {
			t.Errorf("want %s %s, got:\n%s", c.field, c.code, got)
		}
	}
}

// The type of a reference to an answer is known when the pipeline is saved.
func TestValidate_ApprovalOutputsAreTyped(t *testing.T) {
	wants := func(kind, text string) string {
		p := approvalPipeline(t)
		p.Steps[2] = pipeline.Step{Key: "load", Needs: []pipeline.StepKey{"approve"},
			Plugin: &pipeline.PluginStep{Name: "sql", Image: &pipeline.Image{Registry: "r",
				Repository: "sql", Digest: digest}, Parameters: map[string]any{"x": text},
				Component: &pipeline.Component{Parameters: map[string]any{"type": "object",
					"properties": map[string]any{"x": map[string]any{"type": kind}}}}}}
		return problemText(pipeline.Validate(p, pipeline.Settings{}))
	}
	for text, kind := range map[string]string{
		"${{ steps.approve.outputs.size }}":        "string",
		"${{ steps.approve.outputs.rows }}":        "number",
		"${{ steps.approve.outputs.anonymize }}":   "boolean",
		"${{ steps.approve.outputs.answered_at }}": "string",
	} {
		if got := wants(kind, text); got != "" {
			t.Errorf("%s for a %s: %s", text, kind, got)
		}
		// promise: I-12
		if got := wants("array", text); !strings.Contains(got, "wrong_type") {
			t.Errorf("%s for a list: %q", text, got)
		}
	}
	if got := wants("string", "${{ steps.approve.outputs.note }}"); !strings.Contains(got,
		"optional_output") {
		t.Errorf("an optional field without a default: %q", got)
	}
}

func TestAnswers_HoldsFieldsToTheirTypes(t *testing.T) {
	for _, c := range []struct{ given, want string }{
		{`{"rows":7}`, `{"anonymize":false,"rows":7,"size":"small"}`},
		{`{"rows":7.5,"size":"full","anonymize":true,"note":""}`,
			`{"anonymize":true,"note":"","rows":7.5,"size":"full"}`},
		{`{}`, "fields.rows required"},
		{`{"rows":"7"}`, "fields.rows wrong_value"},
		{`{"rows":null}`, "fields.rows wrong_value"},
		{`{"rows":1,"size":"huge"}`, "fields.size wrong_value"},
		{`{"rows":1,"note":["a"]}`, "fields.note wrong_value"},
		{`{"rows":1,"note":"a\u0000"}`, "fields.note wrong_value"},
		{`{"rows":1,"anonymize":"yes"}`, "fields.anonymize wrong_value"},
		{`{"rows":1,"colour":"red"}`, "fields.colour unknown_field"},
	} {
		var given map[string]any
		if err := json.Unmarshal([]byte(c.given), &given); err != nil {
			t.Fatal(err)
		}
		out, problems := findQuestion(t).Answers(true, given)
		got, err := json.Marshal(out)
		if err != nil {
			t.Fatal(err)
		}
		if len(problems) > 0 {
			got = []byte(problems[0].Field + " " + problems[0].Code)
		}
		if string(got) != c.want || len(problems) > 1 {
			t.Errorf("%s: %s, want %s (%v)", c.given, got, c.want, problems)
		}
	}
	if _, problems := findQuestion(t).Answers(false, nil); len(problems) > 0 {
		t.Errorf("a rejection has to fill nothing in: %v", problems)
	}
}
