package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/nullops/nullops/cmd/nullops/internal/cli/output"
	"github.com/nullops/nullops/cmd/nullops/internal/exit"
	"github.com/nullops/nullops/controlplane/apiclient"
)

func nodeUnknown() *cobra.Command {
	c := &cobra.Command{
		Use: "unknown NODE", Args: exit.ExactArgs(1),
		Short: "List deployments about which a node and a restored database disagree",
	}
	asJSON := output.JSONFlag[[]apiclient.UnknownDeployment](c)
	c.RunE = func(c *cobra.Command, args []string) error {
		api, err := newClient()
		if err != nil {
			return err
		}
		r, err := api.ListUnknownDeploymentsWithResponse(c.Context(), args[0])
		if err := checkAnswer(r, err); err != nil {
			return err
		}
		if asJSON.Wanted() {
			return asJSON.Print(c.OutOrStdout(), r.JSON200.Items)
		}
		if len(r.JSON200.Items) == 0 {
			_, err := fmt.Fprintf(c.OutOrStdout(), "Everything on node %s is known.\n", args[0])
			return err
		}
		if err := output.PrintTable(c.OutOrStdout(), unknownRows(r.JSON200.Items)); err != nil {
			return err
		}
		_, err = fmt.Fprintf(c.OutOrStdout(), "\nNothing is done about them until you decide: "+
			"'nullops node adopt %[1]s NAME' believes the node,\n'nullops node purge %[1]s NAME' removes "+
			"what the node has, and 'nullops node recreate %[1]s NAME' makes\nagain what the node does "+
			"no longer have.\n", args[0])
		return err
	}
	return c
}

// unknownRows lists, for each deployment, what the node reports and what the database
// has.
func unknownRows(all []apiclient.UnknownDeployment) [][]string {
	rows := [][]string{{"ID", "NAME", "PROJECT", "ENVIRONMENT", "NODE SAYS", "DATABASE SAYS",
		"WHY", "FOUND"}}
	for _, u := range all {
		node, database, why := u.Phase, "nothing", "the database lost it"
		if u.Phase == "" {
			node = "nothing"
		}
		if u.Purging {
			node = "being purged"
		}
		if u.Generation != nil {
			node = fmt.Sprintf("%s (goal %d)", node, *u.Generation)
		}
		if u.Disputed != nil && *u.Disputed && u.Status != nil {
			database, why = string(*u.Status), *u.Reason
			if u.RowGeneration != nil {
				database = fmt.Sprintf("%s (goal %d)", database, *u.RowGeneration)
			}
		}
		rows = append(rows, []string{u.Id, u.Name, u.Project, u.Environment, node, database, why,
			output.FormatAge(u.FoundAt) + " ago"})
	}
	return rows
}

func nodeAdopt() *cobra.Command {
	return nodeDecide("adopt NODE DEPLOYMENT",
		"Take over a deployment as the node reports it; it keeps running",
		func(c *cobra.Command, api *client, node string, u apiclient.UnknownDeployment) error {
			r, err := api.AdoptDeploymentWithResponse(c.Context(), node, u.Id)
			if err := checkAnswer(r, err); err != nil {
				return err
			}
			_, err = fmt.Fprintf(c.OutOrStdout(), "%s: adopted, %s\n", u.Name, r.JSON200.Status)
			return err
		})
}

func nodePurge() *cobra.Command {
	return nodeDecide("purge NODE DEPLOYMENT",
		"Remove a deployment from the node, with its volumes",
		func(c *cobra.Command, api *client, node string, u apiclient.UnknownDeployment) error {
			r, err := api.PurgeDeploymentWithResponse(c.Context(), node, u.Id)
			if err := checkAnswer(r, err); err != nil {
				return err
			}
			_, err = fmt.Fprintf(c.OutOrStdout(), "%s: is being removed\n", u.Name)
			return err
		})
}

func nodeRecreate() *cobra.Command {
	return nodeDecide("recreate NODE DEPLOYMENT",
		"Recreate a deployment that the node no longer has, with empty volumes",
		func(c *cobra.Command, api *client, node string, u apiclient.UnknownDeployment) error {
			r, err := api.RecreateDisputedWithResponse(c.Context(), node, u.Id)
			if err := checkAnswer(r, err); err != nil {
				return err
			}
			_, err = fmt.Fprintf(c.OutOrStdout(), "%s: made again, %s\n", u.Name, r.JSON200.Status)
			return err
		})
}

// nodeDecide makes a command about one unknown deployment, named by its id, or
// by its name if only one is called so.
func nodeDecide(use, short string, do func(*cobra.Command, *client, string,
	apiclient.UnknownDeployment) error) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Args: exit.ExactArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			api, err := newClient()
			if err != nil {
				return err
			}
			r, err := api.ListUnknownDeploymentsWithResponse(c.Context(), args[0])
			if err := checkAnswer(r, err); err != nil {
				return err
			}
			u, err := pickUnknown(r.JSON200.Items, args[1])
			if err != nil {
				return err
			}
			return do(c, api, args[0], u)
		},
	}
}

func pickUnknown(
	all []apiclient.UnknownDeployment, which string,
) (found apiclient.UnknownDeployment, err error) {
	matches := 0
	for _, u := range all {
		if u.Id == which || u.Name == which {
			found, matches = u, matches+1
		}
	}
	switch {
	case matches == 0:
		return found, fmt.Errorf("no unknown deployment is called %s: see 'nullops node unknown'",
			which)
	case matches > 1:
		return found, fmt.Errorf("%d unknown deployments are called %s: give the id instead",
			matches, which)
	}
	return found, nil
}
