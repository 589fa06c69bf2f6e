package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/nullops/nullops/agent/engine"
	"github.com/nullops/nullops/pipeline"
)

// CodeOutputSchema is a plugin's whose outputs are not what its component
// declares: later steps would build on what is not there.
const CodeOutputSchema = "output_schema"

// These texts precede the list of violations when outputs are not what was declared.
const (
	pluginMismatch = "the plugin's outputs are not what its component declares: "
	scriptMismatch = "the script's outputs are not what its step declares: "
)

// validateOutputs validates the outputs of a create against the component's schema. If they
// are invalid the step fails but keeps its outputs: what was created exists, and delete
// needs them to find it.
func validateOutputs(
	f operationResult, action string, c *pipeline.Component, mismatch string,
) operationResult {
	if !f.ran || action != "create" || c == nil || len(c.Outputs) == 0 {
		return f
	}
	schema, err := compileOutputs(c.Outputs)
	if err != nil {
		// The control plane refuses such a component; an old one may have it.
		f.result.Outcome, f.result.Code = engine.OutcomeNo, CodeOutputSchema
		f.result.Message = "the component's output schema cannot be used: " + err.Error()
		return f
	}
	if wrong, ok := errors.AsType[*jsonschema.ValidationError](schema.Validate(f.outputs)); ok {
		f.result.Outcome, f.result.Code = engine.OutcomeNo, CodeOutputSchema
		f.result.Message = mismatch + describeViolations(wrong)
	}
	return f
}

func compileOutputs(schema map[string]any) (*jsonschema.Schema, error) {
	text, err := json.Marshal(schema)
	if err != nil {
		return nil, err
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	const name = "nullops:///outputs.json"
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(noExternalSchemas{})
	if err := c.AddResource(name, document); err != nil {
		return nil, err
	}
	return c.Compile(name)
}

// noExternalSchemas refuses to load other documents: a schema must be self-contained, and a
// plugin must not make the agent fetch anything.
type noExternalSchemas struct{}

func (noExternalSchemas) Load(string) (any, error) {
	return nil, errors.New("a schema may not refer to other documents")
}

// maxComplaints keeps a step's message readable.
const maxComplaints = 5

// describeViolations lists the paths and schema keywords that failed. It quotes no values:
// an output may be a secret that is not known as one yet.
func describeViolations(wrong *jsonschema.ValidationError) string {
	var all []string
	var walk func(e *jsonschema.ValidationError)
	walk = func(e *jsonschema.ValidationError) {
		for _, cause := range e.Causes {
			walk(cause)
		}
		if len(e.Causes) == 0 {
			all = append(all, describeViolation(e))
		}
	}
	walk(wrong)
	more := ""
	if len(all) > maxComplaints {
		more = fmt.Sprintf(" and %d more", len(all)-maxComplaints)
		all = all[:maxComplaints]
	}
	return strings.Join(all, ", ") + more
}

func describeViolation(e *jsonschema.ValidationError) string {
	at := strings.Join(append([]string{"outputs"}, e.InstanceLocation...), ".")
	keyword := "schema"
	if path := e.ErrorKind.KeywordPath(); len(path) > 0 {
		keyword = path[len(path)-1]
	}
	if lacks, is := e.ErrorKind.(*kind.Required); is {
		return fmt.Sprintf("%s lacks %s", at, strings.Join(lacks.Missing, " and "))
	}
	return fmt.Sprintf("%s breaks %q", at, keyword)
}
