package lifecycle

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/pipeline"
)

// checkInput checks the input of a request against the fields that the pipeline declares, and
// returns it with defaults.
func checkInput(p pipeline.Pipeline, r Request, c *checks) (map[string]any, error) {
	given := r.Input
	if r.Inherited {
		given = maps.Clone(given)
		maps.DeleteFunc(given, func(name string, _ any) bool {
			_, declared := p.InputField(name)
			return !declared
		})
	}
	filled, problems := pipeline.FillInput(p, given)
	remedy := "Give only what the pipeline's input declares, and all that it requires."
	if r.Inherited {
		remedy = "Run the same pipeline version again, or clone the deployment with other values."
	}
	if len(problems) > 0 {
		c.refuse(inputProblems(problems, remedy)) // creating is refused with all of them at once
	}
	for _, one := range problems {
		_, name, _ := strings.Cut(one.Field, ".")
		err := c.record("input", name, "", inputProblems([]pipeline.Problem{one}, remedy))
		if err != nil {
			return nil, err
		}
	}
	if len(problems) == 0 && len(p.Input) > 0 {
		c.recordOK("input", "Every value fits the pipeline's input.")
	}
	return filled, nil
}

func inputProblems(problems []pipeline.Problem, remedy string) error {
	e := &controlplane.Error{Kind: controlplane.Invalid, Code: "input_refused",
		Field:   problems[0].Field,
		Message: fmt.Sprintf("%s: %s", problems[0].Field, problems[0].Message), Remedy: remedy}
	for _, p := range problems {
		e.Problems = append(e.Problems, controlplane.Problem{Field: p.Field, Code: p.Code,
			Message: p.Message})
	}
	return e
}

// checkTemplateInput checks the values that a template keeps for later requests. They need not be
// complete, and what is stored stays possible after the pipeline has changed: each request is
// checked again.
func checkTemplateInput(
	ctx context.Context, tx *postgres.Tx, project string, id controlplane.ProjectID,
	x controlplane.Template,
) error {
	if len(x.Input) == 0 {
		return nil
	}
	stored, err := tx.Templates().Get(ctx, id, x.Name)
	if known, err := controlplane.IsFound(err); err != nil {
		return err
	} else if known && reflect.DeepEqual(stored.Input, x.Input) {
		return nil
	}
	t, err := tx.Projects().LoadRunTarget(ctx, project)
	if err != nil {
		return err
	}
	return CheckStoredInput(t.Pipeline, x.Input)
}

// CheckStoredInput checks values that are kept for later requests, such as a rule's, as far as
// that can be said before a request is made.
func CheckStoredInput(p pipeline.Pipeline, values map[string]any) error {
	_, problems := pipeline.FillInput(p, values)
	problems = slices.DeleteFunc(problems, func(one pipeline.Problem) bool {
		return one.Code == pipeline.InputRequired
	})
	if len(problems) == 0 {
		return nil
	}
	return inputProblems(problems, "Give only what the pipeline's input declares.")
}

// listInput names the fields of an input for the audit log, without their values.
func listInput(values map[string]any) string {
	if len(values) == 0 {
		return ""
	}
	return "input " + strings.Join(slices.Sorted(maps.Keys(values)), ", ")
}

// CloneInput is one field of the source's input, of the clone's, or of both.
type CloneInput struct {
	Name  string
	State CloneState
	// Source is the source's value, and Choice what the clone has by default; nil for none.
	Source, Choice any
	// Problem says why the source's value is not carried over, or why somebody has to choose.
	Problem string
}

// pairInput pairs the values of the source with the fields that the pipeline declares now.
func pairInput(values map[string]any, before, now pipeline.Pipeline) []CloneInput {
	var all []CloneInput
	for _, f := range now.Input {
		c := CloneInput{Name: f.Name, State: CloneAdded, Source: values[f.Name]}
		if _, ok := before.InputField(f.Name); ok {
			c.State = CloneSame
		}
		one := pipeline.Pipeline{Input: []pipeline.InputField{f}}
		if c.Source != nil {
			kept, problems := pipeline.FillInput(one, map[string]any{f.Name: c.Source})
			if len(problems) == 0 {
				c.Choice = kept[f.Name]
				all = append(all, c)
				continue
			}
			c.Problem = problems[0].Message
		}
		filled, problems := pipeline.FillInput(one, nil)
		c.Choice = filled[f.Name]
		if c.Problem == "" && len(problems) > 0 {
			c.Problem = problems[0].Message
		}
		all = append(all, c)
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if _, ok := now.InputField(name); !ok {
			all = append(all, CloneInput{Name: name, State: CloneRemoved, Source: values[name],
				Problem: "the pipeline no longer declares it; it is left out"})
		}
	}
	return all
}
