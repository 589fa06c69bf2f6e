package cli

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/nullops/nullops/cmd/nullops/internal/cli/output"
	"github.com/nullops/nullops/cmd/nullops/internal/exit"
	"github.com/nullops/nullops/controlplane/apiclient"
)

const noDeployments = "No deployments. Make one: nullops deploy PROJECT --env ENV --name NAME"

func listCommand() *cobra.Command {
	var env, project string
	var statuses []string
	var all bool
	c := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Args: exit.ExactArgs(0),
		Short: "List deployments you may see",
	}
	asJSON, every := output.JSONFlag[[]apiclient.Deployment](c), watchFlag(c)
	c.Flags().StringVar(&env, "env", "", "only this environment")
	c.Flags().StringVar(&project, "project", "", "only this project")
	c.Flags().StringSliceVar(&statuses, "status", nil,
		"only this state, such as failed, degraded, offline or waiting (for an answer); may be repeated")
	c.Flags().BoolVar(&all, "all", false, "include removed deployments")
	c.RunE = func(c *cobra.Command, _ []string) error {
		api, err := newClient()
		if err != nil {
			return err
		}
		return repeatEvery(c.Context(), c.OutOrStdout(), *every, func(w io.Writer) error {
			items, err := api.listAll(c.Context(), listParams(env, project, statuses, all))
			if err != nil {
				return err
			}
			items = keepWaiting(items, statuses)
			if asJSON.Wanted() {
				return asJSON.Print(w, items)
			}
			if len(items) == 0 {
				fmt.Fprintln(c.ErrOrStderr(), noDeployments)
			}
			return printDeployments(w, items)
		})
	}
	return c
}

func listParams(
	env, project string, statuses []string, all bool,
) *apiclient.ListDeploymentsParams {
	p := &apiclient.ListDeploymentsParams{Removed: &all}
	if len(statuses) > 0 {
		chosen := make([]apiclient.DeploymentFilter, len(statuses))
		for i, s := range statuses {
			if s == stateWaiting {
				s = string(apiclient.DeploymentStatusApplying)
			}
			chosen[i] = apiclient.DeploymentFilter(s)
		}
		p.Status = &chosen
	}
	if env != "" {
		p.Environment = &env
	}
	if project != "" {
		p.Project = &project
	}
	return p
}

// keepWaiting drops the runs that do not wait if only waiting ones were asked for: to the API all
// of them are applying.
func keepWaiting(items []apiclient.Deployment, statuses []string) []apiclient.Deployment {
	if !slices.Contains(statuses, stateWaiting) ||
		slices.Contains(statuses, string(apiclient.DeploymentStatusApplying)) {
		return items
	}
	return slices.DeleteFunc(items, func(d apiclient.Deployment) bool {
		return d.Status == apiclient.DeploymentStatusApplying && stateOf(d) != stateWaiting &&
			!slices.Contains(statuses, stateOf(d))
	})
}

// listAll follows the pages to their end.
func (c *client) listAll(ctx context.Context,
	params *apiclient.ListDeploymentsParams) ([]apiclient.Deployment, error) {
	items := []apiclient.Deployment{}
	for {
		r, err := c.ListDeploymentsWithResponse(ctx, params)
		if err := checkAnswer(r, err); err != nil {
			return nil, err
		}
		items = append(items, r.JSON200.Items...)
		if valueOrZero(r.JSON200.NextCursor) == "" {
			return items, nil
		}
		params.Cursor = r.JSON200.NextCursor
	}
}

func printDeployments(w io.Writer, items []apiclient.Deployment) error {
	rows := [][]string{{"NAME", "PROJECT", "ENVIRONMENT", "STATE", "DETAIL", "MADE BY", "AGE",
		"EXPIRES"}}
	for _, d := range items {
		rows = append(rows, []string{d.Name, d.Project, d.Environment, stateOf(d),
			detailOf(d), d.CreatedBy, output.FormatAge(d.CreatedAt), formatExpiry(d)})
	}
	return output.PrintTable(w, rows)
}
