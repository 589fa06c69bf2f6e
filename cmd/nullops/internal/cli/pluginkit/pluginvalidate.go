package pluginkit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/spf13/cobra"

	"github.com/nullops/nullops/cmd/nullops/internal/cli/output"
	"github.com/nullops/nullops/cmd/nullops/internal/exit"
	"github.com/nullops/nullops/internal/quantity"
	"github.com/nullops/nullops/plugins/stdio"
)

// Limits of a component, the same that the control plane and the nodes have.
const (
	maxSchemaBytes    = 64 << 10
	maxTimeoutSeconds = 86_400
	maxPluginMemory   = 1 << 20 // MiB
	maxPluginCPU      = 256
)

func pluginValidateCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "validate DIR", Short: "Check component.json and the recorded inputs",
		Args: exit.ExactArgs(1),
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		return validatePlugin(c.OutOrStdout(), args[0])
	}
	return c
}

func validatePlugin(out io.Writer, dir string) error {
	p, err := openPlugin(dir)
	if err != nil {
		return err
	}
	problems := checkComponentFile(p)
	recorded, more, err := checkSamples(p)
	if err != nil {
		return err
	}
	problems = append(problems, more...)
	for _, problem := range problems {
		fmt.Fprintln(out, output.SanitizeText(problem))
	}
	if len(problems) > 0 {
		return fmt.Errorf("%s: %d problems", p.name, len(problems))
	}
	_, err = fmt.Fprintf(out, "%s is valid: %d recorded inputs, actions %v, timeout %s\n",
		p.name, recorded, p.component.Actions, p.component.Timeout())
	return err
}

// checkComponentFile finds problems that ParseComponent allows, but the control plane
// refuses or people who choose a plugin would trip over.
func checkComponentFile(p pluginFolder) []string {
	problems := append(checkLimits(p.component), checkSchemas(p.component)...)
	for i, problem := range problems {
		problems[i] = "component.json: " + problem
	}
	return problems
}

func checkLimits(c stdio.Component) (problems []string) {
	say := func(format string, args ...any) {
		problems = append(problems, fmt.Sprintf(format, args...))
	}
	if c.Description == "" {
		say("description is missing: one sentence that people choose the plugin by")
	}
	if !c.Offers(stdio.ActionDelete) {
		say("actions lacks \"delete\": a plugin with nothing to undo answers it with success")
	}
	if c.TimeoutSeconds > maxTimeoutSeconds {
		say("timeout_seconds is %d, at most %d are allowed", c.TimeoutSeconds, maxTimeoutSeconds)
	}
	if c.Resources.CPU > maxPluginCPU || c.Resources.MemoryMiB > maxPluginMemory {
		say("resources are more than any node has: at most %s and %s",
			quantity.FormatCores(maxPluginCPU), quantity.FormatLimit(maxPluginMemory))
	}
	seen := map[string]bool{}
	for i, s := range c.Secrets {
		if s.Name == "" || seen[s.Name] {
			say("secrets[%d]: name is empty or there twice", i)
		}
		seen[s.Name] = true
	}
	return problems
}

func checkSchemas(c stdio.Component) (problems []string) {
	if _, err := schemaOf("parameters", c.Parameters); err != nil {
		problems = append(problems, err.Error())
	} else {
		problems = checkDefaults(c.Parameters)
	}
	if _, err := schemaOf("outputs", c.Outputs); err != nil {
		problems = append(problems, err.Error())
	}
	return problems
}

// schemaOf compiles one of the two schemas. It stands alone, and it is of an
// object, since both parameters and outputs are named values.
func schemaOf(field string, text json.RawMessage) (*jsonschema.Schema, error) {
	if len(text) == 0 {
		return nil, fmt.Errorf("%s is missing: write {\"type\": \"object\"} for none", field)
	}
	if len(text) > maxSchemaBytes {
		return nil, fmt.Errorf("%s has %d bytes, at most %d are allowed",
			field, len(text), maxSchemaBytes)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", field, err)
	}
	object, is := document.(map[string]any)
	if !is || object["type"] != nil && object["type"] != "object" {
		return nil, fmt.Errorf("%s: the schema must be of an object", field)
	}
	name := "nullops:///" + field + ".json"
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	compiler.UseLoader(standsAlone{})
	if err := compiler.AddResource(name, document); err != nil {
		return nil, fmt.Errorf("%s: %w", field, err)
	}
	schema, err := compiler.Compile(name)
	if err != nil {
		return nil, fmt.Errorf("%s is not JSON Schema 2020-12: %w", field, err)
	}
	return schema, nil
}

type standsAlone struct{}

func (standsAlone) Load(string) (any, error) {
	return nil, errors.New("a schema may not refer to other documents")
}

// checkDefaults holds each default to its own schema: forms start with them.
func checkDefaults(parameters json.RawMessage) []string {
	var s struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if json.Unmarshal(parameters, &s) != nil {
		return nil // it was reported already
	}
	var problems []string
	for name, text := range s.Properties {
		var property map[string]any
		if json.Unmarshal(text, &property) != nil || property["default"] == nil {
			continue
		}
		wrapped, err := json.Marshal(map[string]any{"properties": map[string]any{name: property}})
		if err != nil {
			continue
		}
		schema, err := schemaOf("parameters", wrapped)
		if err != nil {
			continue // compiled with the whole before
		}
		if err := checkSchema(schema, map[string]any{name: property["default"]}); err != nil {
			problems = append(problems, fmt.Sprintf("the default of %q: %v", name, err))
		}
	}
	slices.Sort(problems)
	return problems
}

// checkSchema compares a value with a schema, through JSON, as it will travel.
func checkSchema(schema *jsonschema.Schema, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return err
	}
	err = schema.Validate(document)
	if wrong, is := errors.AsType[*jsonschema.ValidationError](err); is {
		// The first line names the schema's document, which is one of our own making.
		lines := strings.Split(strings.TrimSpace(wrong.Error()), "\n")
		lines = lines[min(1, len(lines)-1):]
		for i, line := range lines {
			lines[i] = strings.TrimLeft(line, " -")
		}
		return errors.New(strings.Join(lines, "; "))
	}
	return err
}

// checkSamples holds the recorded inputs to the schemas. One whose answer is a
// refusal may be wrong on purpose.
func checkSamples(p pluginFolder) (int, []string, error) {
	samples, err := p.readSamples(nil)
	if err != nil {
		return 0, nil, err
	}
	parameters, err := schemaOf("parameters", p.component.Parameters)
	if err != nil {
		return len(samples), nil, nil //nolint:nilerr // reported by checkComponentFile
	}
	var problems []string
	for _, s := range samples {
		if problem := checkSample(s, parameters); problem != "" {
			problems = append(problems, "testdata/"+s.name+": "+problem)
		}
	}
	return len(samples), problems, nil
}

func checkSample(s recordedSample, parameters *jsonschema.Schema) string {
	if len(s.missing) > 0 {
		return "" // a value that is not there yet may stand for a number: "port": ${PORT}
	}
	if len(s.out) > 0 && !json.Valid(s.out) {
		return "the recorded answer is not JSON"
	}
	if len(s.out) > 0 && !s.isSuccess() {
		return ""
	}
	request := s.requestObject()
	if request == nil {
		return "the input is not a JSON object"
	}
	if request["action"] != string(stdio.ActionCreate) {
		return ""
	}
	given, _ := request["parameters"].(map[string]any)
	if given == nil {
		given = map[string]any{}
	}
	if err := checkSchema(parameters, given); err != nil {
		return "parameters do not fit the schema: " + err.Error()
	}
	return ""
}
