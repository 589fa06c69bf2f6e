package catalog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/pipeline"
)

// maxSchema is the largest schema in bytes: forms are made from it.
const maxSchema = 64 << 10

// refusingLoader refuses to load any other document: a schema must not refer to others.
type refusingLoader struct{}

func (refusingLoader) Load(string) (any, error) {
	return nil, errors.New("a schema may not refer to other documents")
}

// compileSchema reads a JSON Schema of draft 2020-12.
func compileSchema(schema map[string]any) (*jsonschema.Schema, error) {
	b, err := json.Marshal(schema)
	if err != nil {
		return nil, err
	}
	if len(b) > maxSchema {
		return nil, fmt.Errorf("it has %d bytes, at most %d are allowed", len(b), maxSchema)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	const name = "nullops:///schema.json"
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(refusingLoader{})
	if err := c.AddResource(name, doc); err != nil {
		return nil, err
	}
	return c.Compile(name)
}

// checkSchema refuses what is not a schema of an object.
func checkSchema(field string, schema map[string]any) error {
	if len(schema) == 0 {
		return nil
	}
	if t, ok := schema["type"]; ok && t != "object" {
		return controlplane.NewInvalidError(
			field+".type", "schema_not_object", "the schema is not of an object",
			"Set type to object and list properties.")
	}
	if _, err := compileSchema(schema); err != nil {
		text := err.Error()
		var failed *jsonschema.SchemaValidationError
		var wrong *jsonschema.ValidationError
		if errors.As(err, &failed) && errors.As(failed.Err, &wrong) {
			leaves := leavesOf(wrong)
			text = jsonPointer(leaves[0]) + ": " + localizeError(leaves[0])
		}
		return controlplane.NewInvalidError(
			field, "schema_invalid", "this is not a JSON Schema: "+text,
			"Write it as JSON Schema, draft 2020-12.")
	}
	return nil
}

// ParameterProblems holds the parameters of a saved pipeline's plugins to the
// schemas that it carries.
func (c *Catalog) ParameterProblems(p pipeline.Pipeline) (all []controlplane.Problem, err error) {
	for _, s := range p.Steps {
		if s.Plugin == nil {
			continue
		}
		problems, err := checkParameters(s)
		if err != nil {
			return nil, err
		}
		all = append(all, problems...)
	}
	return all, nil
}

// checkParameters holds a plugin step's literal parameters to their schema.
// What a reference will come to is not known yet, so complaints about one are
// left out; missing parameters were found before.
func checkParameters(step pipeline.Step) ([]controlplane.Problem, error) {
	component := step.Plugin.Component
	if component == nil || len(component.Parameters) == 0 {
		return nil, nil
	}
	schema, err := compileSchema(component.Parameters)
	if err != nil {
		return nil, fmt.Errorf("schema of plugin %s: %w", step.Plugin.Name, err)
	}
	tree, references := pipeline.Literals(step.Plugin.Parameters)
	value, err := normalizeJSON(tree)
	if err != nil {
		return nil, err
	}
	var wrong *jsonschema.ValidationError
	if !errors.As(schema.Validate(value), &wrong) {
		return nil, nil
	}
	var all []controlplane.Problem
	for _, leaf := range leavesOf(wrong) {
		if isUnderReference(jsonPointer(leaf), references) || isRequired(leaf) {
			continue
		}
		all = append(all, controlplane.Problem{
			Step: string(step.Key), Code: "parameter_invalid",
			Field:   "plugin.parameters" + strings.ReplaceAll(jsonPointer(leaf), "/", "."),
			Message: localizeError(leaf),
		})
	}
	return all, nil
}

// PinnedProblems holds given outputs to what their steps declare. The value of a secret is not
// known yet.
func (c *Catalog) PinnedProblems(p pipeline.Pipeline) (all []controlplane.Problem, err error) {
	for _, s := range p.Steps {
		if !s.IsPinned() || len(s.Script.Outputs) == 0 {
			continue
		}
		schema, err := compileSchema(s.Script.Outputs)
		if err != nil {
			return nil, fmt.Errorf("outputs of step %s: %w", s.Key, err)
		}
		tree, _ := pipeline.Literals(s.Script.Parameters)
		var secrets []string
		for name := range s.Script.Secrets {
			tree[name] = ""
			secrets = append(secrets, "/"+name)
		}
		value, err := normalizeJSON(tree)
		if err != nil {
			return nil, err
		}
		var wrong *jsonschema.ValidationError
		if !errors.As(schema.Validate(value), &wrong) {
			continue
		}
		for _, leaf := range leavesOf(wrong) {
			if isUnderReference(jsonPointer(leaf), secrets) {
				continue
			}
			all = append(all, controlplane.Problem{Step: string(s.Key), Code: "output_invalid",
				Field:   "pinned" + strings.ReplaceAll(jsonPointer(leaf), "/", "."),
				Message: localizeError(leaf)})
		}
	}
	return all, nil
}

// normalizeJSON converts the value to the types that the JSON Schema library expects.
func normalizeJSON(tree map[string]any) (any, error) {
	b, err := json.Marshal(tree)
	if err != nil {
		return nil, fmt.Errorf("encode parameters: %w", err)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err != nil {
		return nil, fmt.Errorf("decode parameters: %w", err)
	}
	return v, nil
}

// isRequired reports whether a top-level property is missing; pipeline.Validate has a
// better message for that.
func isRequired(e *jsonschema.ValidationError) bool {
	path := e.ErrorKind.KeywordPath()
	return len(e.InstanceLocation) == 0 && len(path) > 0 && path[len(path)-1] == "required"
}

func isUnderReference(at string, references []string) bool {
	for _, r := range references {
		if at == r || strings.HasPrefix(at, r+"/") {
			return true
		}
	}
	return false
}

// leavesOf returns the errors themselves, without those that only say that something
// below is wrong.
func leavesOf(e *jsonschema.ValidationError) []*jsonschema.ValidationError {
	if len(e.Causes) == 0 {
		return []*jsonschema.ValidationError{e}
	}
	var all []*jsonschema.ValidationError
	for _, c := range e.Causes {
		all = append(all, leavesOf(c)...)
	}
	return all
}

func jsonPointer(e *jsonschema.ValidationError) string {
	var b strings.Builder
	for _, part := range e.InstanceLocation {
		b.WriteString("/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(part))
	}
	return b.String()
}

func localizeError(e *jsonschema.ValidationError) string {
	return e.ErrorKind.LocalizedString(message.NewPrinter(language.English))
}
