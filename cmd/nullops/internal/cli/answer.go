package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/nullops/nullops/cmd/nullops/internal/cli/output"
	"github.com/nullops/nullops/cmd/nullops/internal/exit"
	"github.com/nullops/nullops/controlplane/apiclient"
	"github.com/nullops/nullops/internal/quantity"
	"github.com/nullops/nullops/pipeline"
)

type answerOptions struct {
	env             string
	approve, reject bool
	fields          []string
	json            output.JSON[apiclient.Deployment]
}

func answerCommand() *cobra.Command {
	var o answerOptions
	c := &cobra.Command{
		Use:   "answer DEPLOYMENT [STEP] --approve|--reject [--field NAME=VALUE]…",
		Short: "Answer the question that a deployment waits for",
		Args:  cobra.RangeArgs(1, 2),
	}
	f := c.Flags()
	f.StringVar(&o.env, "env", "", "environment, if the name exists in several")
	f.BoolVar(&o.approve, "approve", false, "let the run go on")
	f.BoolVar(&o.reject, "reject", false, "let the run fail; everything it made is undone")
	f.StringArrayVar(&o.fields, "field", nil, "value of a field of the question: NAME=VALUE")
	o.json = output.JSONFlag[apiclient.Deployment](c)
	c.RunE = func(c *cobra.Command, args []string) error {
		if o.approve == o.reject {
			return exit.AsUsageError(errors.New("say one of --approve and --reject"))
		}
		api, err := newClient()
		if err != nil {
			return err
		}
		step := ""
		if len(args) > 1 {
			step = args[1]
		}
		return api.answerQuestion(c.Context(), c.OutOrStdout(), args[0], step, o)
	}
	return c
}

func (c *client) answerQuestion(ctx context.Context, out io.Writer, name, step string,
	o answerOptions) error {
	d, err := c.findDeployment(ctx, name, o.env)
	if err != nil {
		return err
	}
	if step == "" && d.Question == nil {
		return exit.WithCode(fmt.Errorf("%s waits for no answer; it is %s", d.Name, d.Status),
			exit.Refused)
	}
	if step == "" {
		step = d.Question.Step
	}
	fields, err := answerFields(d.Question, step, o.fields)
	if err != nil {
		return err
	}
	r, err := c.AnswerStepWithResponse(ctx, d.Id, d.Run, step,
		apiclient.StepAnswer{Approved: o.approve, Fields: &fields})
	if err := checkAnswer(r, err); err != nil {
		return err
	}
	if o.json.Wanted() {
		return o.json.Print(out, *r.JSON200)
	}
	verb := "rejected"
	if o.approve {
		verb = "approved"
	}
	fmt.Fprintf(out, "%s: %s %s\n", d.Name, step, verb)
	return nil
}

// answerFields parses NAME=VALUE as the question declares the field.
func answerFields(q *apiclient.Question, step string, pairs []string) (map[string]any, error) {
	return parseFields("--field", pairs, func(name string) (f pipeline.ApprovalField, ok bool) {
		if q == nil || q.Step != step {
			return f, false
		}
		i := slices.IndexFunc(q.Fields, func(f pipeline.ApprovalField) bool { return f.Name == name })
		if i < 0 {
			return f, false
		}
		return q.Fields[i], true
	})
}

func fieldValue(f pipeline.ApprovalField, text string) any {
	switch f.Type {
	case pipeline.FieldNumber, pipeline.FieldInteger:
		if n, err := strconv.ParseFloat(text, 64); err == nil {
			return n
		}
	case pipeline.FieldBoolean:
		if b, err := strconv.ParseBool(text); err == nil {
			return b
		}
	default:
	}
	return text
}

// printQuestion shows a deployment's open question, and who can answer it.
func printQuestion(w io.Writer, d apiclient.Deployment) {
	q := d.Question
	if q == nil {
		return
	}
	fmt.Fprintf(w, "\nwaits at %s: %s\n", q.Step, output.SanitizeText(q.Prompt))
	for _, f := range q.Fields {
		fmt.Fprintf(w, "  %s\n", output.SanitizeText(fieldText(f)))
	}
	if q.AnsweredBy != nil {
		verb := "rejected"
		if valueOrZero(q.Approved) {
			verb = "approved"
		}
		fmt.Fprintf(w, "  %s by %s %s ago; the node has yet to hear of it\n", verb,
			output.SanitizeText(*q.AnsweredBy), output.FormatAge(valueOrZero(q.AnsweredAt)))
		return
	}
	fmt.Fprintf(w, "  the run fails without an answer in %s\n",
		quantity.FormatSpan(max(time.Until(q.Deadline), 0)))
	if !q.MayAnswer {
		fmt.Fprintf(w, "  %s\n", output.SanitizeText(valueOrZero(q.Refusal)))
		return
	}
	fmt.Fprintf(w, "  nullops answer %s --approve|--reject\n", d.Name)
}

func fieldText(f pipeline.ApprovalField) string {
	text := fmt.Sprintf("--field %s=<%s>", f.Name, f.Type)
	if f.Type == pipeline.FieldChoice {
		text = fmt.Sprintf("--field %s=%s", f.Name, strings.Join(f.Choices, "|"))
	}
	if f.Label != "" {
		text += "  " + f.Label
	}
	switch {
	case f.Default != nil:
		text += fmt.Sprintf(" (default %v)", f.Default)
	case f.Required:
		text += " (required)"
	}
	return text
}
