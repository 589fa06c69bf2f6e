package cli

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/nullops/nullops/cmd/nullops/internal/cli/output"
	"github.com/nullops/nullops/cmd/nullops/internal/exit"
	"github.com/nullops/nullops/controlplane/apiclient"
	"github.com/nullops/nullops/pipeline"
)

const inputUsage = "value of a field that the pipeline declares: NAME=VALUE; may be repeated"

// findField returns a declared field by its name.
type findField func(name string) (pipeline.ApprovalField, bool)

// parseFields parses NAME=VALUE as the fields declare their types. Unknown fields are sent as
// text: the control plane has the better error message.
func parseFields(flag string, pairs []string, find findField) (map[string]any, error) {
	fields := map[string]any{}
	for _, p := range pairs {
		name, text, ok := strings.Cut(p, "=")
		if !ok || name == "" {
			return nil, exit.AsUsageError(fmt.Errorf("%s %q: write NAME=VALUE", flag, p))
		}
		if _, twice := fields[name]; twice {
			return nil, exit.AsUsageError(fmt.Errorf("%s %s is given twice", flag, name))
		}
		fields[name] = text
		if f, ok := find(name); ok {
			fields[name] = fieldValue(f, text)
		}
	}
	return fields, nil
}

// readInput parses the values of --input by what the project's pipeline declares, and adds those
// of earlier, which count less. It returns nil if there is none.
func (c *client) readInput(
	ctx context.Context, project string, pairs []string, earlier *apiclient.Input,
) (*apiclient.Input, error) {
	if len(pairs) == 0 {
		return earlier, nil
	}
	r, err := c.GetPipelineWithResponse(ctx, project)
	if err := checkAnswer(r, err); err != nil {
		return nil, err
	}
	values, err := parseFields("--input", pairs, func(name string) (pipeline.ApprovalField, bool) {
		f, ok := r.JSON200.Pipeline.InputField(name)
		return f.ApprovalField, ok
	})
	if err != nil {
		return nil, err
	}
	for name, value := range valueOrZero(earlier) {
		if _, given := values[name]; !given {
			values[name] = value
		}
	}
	return new(apiclient.Input(values)), nil
}

// clonedInput is what the sheet proposes.
func clonedInput(s apiclient.CloneSheet) *apiclient.Input {
	values := apiclient.Input{}
	for _, i := range valueOrZero(s.Input) {
		if i.State != apiclient.CloneInputStateRemoved && i.Choice != nil {
			values[i.Name] = i.Choice
		}
	}
	if len(values) == 0 {
		return nil
	}
	return &values
}

// printInput prints one line for each value.
func printInput(w io.Writer, values *apiclient.Input) {
	all := valueOrZero(values)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(w, "input %s: %s\n", name, output.SanitizeText(inputText(all[name])))
	}
}

// inputText is a value as it is written after NAME=.
func inputText(value any) string {
	if text, ok := value.(string); ok {
		return text
	}
	return jsonText(value)
}

// printClonedInput prints the input of a clone sheet.
func printClonedInput(out io.Writer, s apiclient.CloneSheet) error {
	if s.Input == nil {
		return nil
	}
	rows := [][]string{{"INPUT", "SOURCE", "CHOICE", "NOTE"}}
	for _, i := range *s.Input {
		note := valueOrZero(i.Problem)
		if note == "" && i.State != apiclient.CloneInputStateSame {
			note = string(i.State)
		}
		rows = append(rows, []string{i.Name, jsonText(i.Source), jsonText(i.Choice), note})
	}
	fmt.Fprintln(out)
	return output.PrintTable(out, rows)
}
