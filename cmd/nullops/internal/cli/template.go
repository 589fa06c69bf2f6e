package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/nullops/nullops/cmd/nullops/internal/cli/output"
	"github.com/nullops/nullops/cmd/nullops/internal/exit"
	"github.com/nullops/nullops/controlplane/apiclient"
)

func templateCommand() *cobra.Command {
	c := &cobra.Command{Use: "template", Short: "Manage templates for new deployments of a project"}
	c.AddCommand(listTemplates(), saveTemplate(), deleteTemplate())
	return c
}

func listTemplates() *cobra.Command {
	c := &cobra.Command{Use: "list PROJECT", Short: "List the templates of a project",
		Args: exit.ExactArgs(1)}
	asJSON := output.JSONFlag[[]apiclient.Template](c)
	c.RunE = func(c *cobra.Command, args []string) error {
		api, err := newClient()
		if err != nil {
			return err
		}
		r, err := api.ListTemplatesWithResponse(c.Context(), args[0])
		if err := checkAnswer(r, err); err != nil {
			return err
		}
		if asJSON.Wanted() {
			return asJSON.Print(c.OutOrStdout(), r.JSON200.Items)
		}
		rows := [][]string{{"NAME", "ENVIRONMENT", "VERSIONS", "BY", "DESCRIPTION"}}
		for _, t := range r.JSON200.Items {
			rows = append(rows, []string{t.Name, valueOrZero(t.Environment), fmt.Sprint(len(t.Versions)),
				t.UpdatedBy, t.Description})
		}
		return output.PrintTable(c.OutOrStdout(), rows)
	}
	return c
}

func saveTemplate() *cobra.Command {
	var body apiclient.TemplatePut
	var description, env, name string
	var versions, input []string
	c := &cobra.Command{Use: "save PROJECT TEMPLATE [--set STEP=TAG]…", Args: exit.ExactArgs(2),
		Short: "Create or change a template; this takes full access to the project"}
	f := c.Flags()
	f.StringVar(&description, "description", "", "what it is for")
	f.StringVar(&env, "env", "", "environment")
	f.StringVar(&name, "name", "", "proposed name of the deployment")
	f.StringArrayVar(&versions, "set", nil, "version of a selectable service: STEP=TAG")
	f.StringArrayVar(&input, "input", nil, inputUsage)
	c.RunE = func(c *cobra.Command, args []string) error {
		chosen, err := parseVersions(versions)
		if err != nil {
			return err
		}
		api, err := newClient()
		if err != nil {
			return err
		}
		body.Description, body.Environment = nilIfZero(description), nilIfZero(env)
		body.DeploymentName, body.Versions = nilIfZero(name), &chosen
		if body.Input, err = api.readInput(c.Context(), args[0], input, nil); err != nil {
			return err
		}
		r, err := api.PutTemplateWithResponse(c.Context(), args[0], args[1], body)
		if err := checkAnswer(r, err); err != nil {
			return err
		}
		fmt.Fprintf(c.OutOrStdout(), "template %s of %s: saved\n", args[1], args[0])
		return nil
	}
	return c
}

func deleteTemplate() *cobra.Command {
	return &cobra.Command{Use: "delete PROJECT TEMPLATE", Args: exit.ExactArgs(2),
		Short: "Delete a template; its deployments stay",
		RunE: func(c *cobra.Command, args []string) error {
			api, err := newClient()
			if err != nil {
				return err
			}
			r, err := api.DeleteTemplateWithResponse(c.Context(), args[0], args[1])
			return checkAnswer(r, err)
		}}
}

// prefillOptions adds what a template and a branch say to what was chosen by hand,
// which counts more.
func (c *client) prefillOptions(ctx context.Context, out io.Writer, o *deployOptions,
	versions map[string]string) error {
	if o.template != "" {
		r, err := c.GetTemplateWithResponse(ctx, o.project, o.template)
		if err := checkAnswer(r, err); err != nil {
			return err
		}
		o.env, o.name = firstOf(o.env, valueOrZero(r.JSON200.Environment)),
			firstOf(o.name, valueOrZero(r.JSON200.DeploymentName))
		addMissing(versions, r.JSON200.Versions)
		o.prefilled = r.JSON200.Input
	}
	if o.branch == "" {
		return nil
	}
	r, err := c.ListBranchTagsWithResponse(ctx, o.project,
		&apiclient.ListBranchTagsParams{Branch: o.branch})
	if err := checkAnswer(r, err); err != nil {
		return err
	}
	for _, s := range r.JSON200.Services {
		if !s.Matched {
			fmt.Fprintf(out, "%s: not of branch %s, default %s: %s\n", s.Step, output.SanitizeText(o.branch),
				firstOf(valueOrZero(s.Tag), "none"), output.SanitizeText(valueOrZero(s.Reason)))
			continue
		}
		addMissing(versions, map[string]string{s.Step: *s.Tag})
	}
	return nil
}

func firstOf(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

func addMissing(into, from map[string]string) {
	for step, tag := range from {
		if _, ok := into[step]; !ok {
			into[step] = tag
		}
	}
}
