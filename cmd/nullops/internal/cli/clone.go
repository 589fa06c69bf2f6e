package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nullops/nullops/cmd/nullops/internal/cli/output"
	"github.com/nullops/nullops/cmd/nullops/internal/exit"
	"github.com/nullops/nullops/controlplane/apiclient"
)

func cloneCommand() *cobra.Command {
	var env, name string
	var versions, input []string
	var sheetOnly, noWait bool
	c := &cobra.Command{
		Use:   "clone DEPLOYMENT [--name NAME] [--set STEP=TAG]… [--input NAME=VALUE]…",
		Args:  exit.ExactArgs(1),
		Short: "Create a copy of a deployment with the latest pipeline version",
		Long: "Create a copy of a deployment with the latest pipeline version, the same tags and\n" +
			"the same input.\n" +
			"First the clone sheet says what will differ; with --sheet nothing else is done.",
	}
	asJSON := output.JSONFlag[apiclient.Deployment](c)
	sheetJSON := output.JSONWith[apiclient.CloneSheet](c, "--sheet")
	f := c.Flags()
	f.StringVar(&env, "env", "", "environment, if the name exists in several")
	f.StringVar(&name, "name", "", "name of the copy; without it a free one is taken")
	f.StringArrayVar(&versions, "set", nil, "another version of a selectable service: STEP=TAG")
	f.StringArrayVar(&input, "input", nil, inputUsage)
	f.BoolVar(&sheetOnly, "sheet", false, "only say what a clone would be")
	f.BoolVar(&noWait, "no-wait", false, "return as soon as it is created")
	c.RunE = func(c *cobra.Command, args []string) error {
		ctx, out := c.Context(), c.OutOrStdout()
		chosen, err := parseVersions(versions)
		if err != nil {
			return err
		}
		api, err := newClient()
		if err != nil {
			return err
		}
		d, err := api.findDeployment(ctx, args[0], env)
		if err != nil {
			return err
		}
		r, err := api.GetCloneSheetWithResponse(ctx, d.Id)
		if err := checkAnswer(r, err); err != nil {
			return err
		}
		if sheetOnly && sheetJSON.Wanted() {
			return sheetJSON.Print(out, *r.JSON200)
		}
		if !asJSON.Wanted() {
			if err := printSheet(out, *r.JSON200); err != nil || sheetOnly {
				return err
			}
		}
		body := cloneOf(*r.JSON200, name, chosen)
		body.Input, err = api.readInput(ctx, d.Project, input, clonedInput(*r.JSON200))
		if err != nil {
			return err
		}
		made, err := api.CreateDeploymentWithResponse(ctx, &apiclient.CreateDeploymentParams{}, body)
		if err := checkAnswer(made, err); err != nil {
			return err
		}
		return api.watchUnlessNoWait(ctx, out, *made.JSON201, noWait, asJSON)
	}
	return c
}

// cloneOf requests what the sheet proposes, except where flags chose otherwise.
func cloneOf(s apiclient.CloneSheet, name string,
	chosen map[string]string) apiclient.DeploymentCreate {
	versions := map[string]string{}
	for _, one := range s.Services {
		selectable := one.TagMode == apiclient.TagModeSelectable
		if one.State != apiclient.CloneServiceStateRemoved && selectable && one.Choice != "" {
			versions[one.Step] = one.Choice
		}
	}
	maps.Copy(versions, chosen)
	if name == "" {
		name = s.Name
	}
	return apiclient.DeploymentCreate{Name: name, Project: s.Source.Project,
		Environment: s.Source.Environment, Versions: &versions, ClonedFrom: &s.Source.Id}
}

func printSheet(out io.Writer, s apiclient.CloneSheet) error {
	rows := [][]string{{"SERVICE", "SOURCE", "NEWEST", "OF BRANCH", "CHOICE", "NOTE"}}
	for _, one := range s.Services {
		note := ""
		switch {
		case one.State != apiclient.CloneServiceStateSame:
			note = string(one.State)
		case one.SourceMoved:
			note = "the tag means another image now"
		}
		rows = append(rows, []string{one.Step, valueOrZero(one.SourceTag), valueOrZero(one.NewestTag),
			valueOrZero(one.NewestOfBranch), one.Choice, note})
	}
	if err := output.PrintTable(out, rows); err != nil {
		return err
	}
	if err := printClonedInput(out, s); err != nil {
		return err
	}
	fmt.Fprintf(out, "\npipeline: v%d, now v%d\n", s.Source.PipelineVersion, s.PipelineVersion)
	if len(s.PipelineChanges) == 0 && s.InputChanges == nil {
		fmt.Fprintln(out, "  nothing changed")
	}
	for _, f := range valueOrZero(s.InputChanges) {
		fmt.Fprintf(out, "  %s: %s\n", output.SanitizeText(f.Path),
			output.SanitizeText(formatChange(f.Before, f.After)))
	}
	for _, c := range s.PipelineChanges {
		fmt.Fprintf(out, "  %s %s\n", output.SanitizeText(c.Step), c.Kind)
		for _, f := range c.Fields {
			fmt.Fprintf(
				out,
				"    %s: %s\n",
				output.SanitizeText(f.Path),
				output.SanitizeText(formatChange(f.Before, f.After)),
			)
		}
	}
	fmt.Fprintf(
		out,
		"carried over: %s\nnot carried over: %s\n",
		output.SanitizeText(
			strings.Join(s.CarriedOver, ", "),
		),
		output.SanitizeText(strings.Join(s.NotCarriedOver, ", ")),
	)
	return nil
}

// formatChange is a field's value before and after; a side that is absent is "-".
func formatChange(before, after any) string { return jsonText(before) + " → " + jsonText(after) }

func jsonText(v any) string {
	if v == nil {
		return "-"
	}
	text, err := json.Marshal(v)
	if err != nil {
		return "?"
	}
	return string(text)
}

func diffCommand() *cobra.Command {
	var env string
	c := &cobra.Command{Use: "diff DEPLOYMENT OTHER", Args: exit.ExactArgs(2),
		Short: "Show the differences between two deployments, field by field"}
	asJSON := output.JSONFlag[apiclient.DeploymentDiff](c)
	c.Flags().StringVar(&env, "env", "", "environment, if a name exists in several")
	c.RunE = func(c *cobra.Command, args []string) error {
		ctx, out := c.Context(), c.OutOrStdout()
		api, err := newClient()
		if err != nil {
			return err
		}
		left, err := api.findDeployment(ctx, args[0], env)
		if err != nil {
			return err
		}
		right, err := api.findDeployment(ctx, args[1], env)
		if err != nil {
			return err
		}
		r, err := api.DiffDeploymentsWithResponse(ctx, left.Id,
			&apiclient.DiffDeploymentsParams{With: right.Id})
		if err := checkAnswer(r, err); err != nil {
			return err
		}
		if asJSON.Wanted() {
			return asJSON.Print(out, *r.JSON200)
		}
		if r.JSON200.Same {
			fmt.Fprintln(out, "They are the same.")
			return nil
		}
		rows := [][]string{{"FIELD", r.JSON200.Left.Name, r.JSON200.Right.Name}}
		for _, f := range r.JSON200.Fields {
			rows = append(rows, []string{f.Path, jsonText(f.Left), jsonText(f.Right)})
		}
		return output.PrintTable(out, rows)
	}
	return c
}
