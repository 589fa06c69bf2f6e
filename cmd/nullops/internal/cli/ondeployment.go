package cli

import (
	"github.com/spf13/cobra"

	"github.com/nullops/nullops/controlplane/apiclient"
)

// onDeployment makes a command for one deployment: its first argument, found by name
// or id; do gets the remaining arguments.
func onDeployment(c *cobra.Command,
	do func(*cobra.Command, *client, apiclient.Deployment, []string) error) *cobra.Command {
	var env string
	c.Flags().StringVar(&env, "env", "", "environment, if the name exists in several")
	c.RunE = func(c *cobra.Command, args []string) error {
		api, err := newClient()
		if err != nil {
			return err
		}
		d, err := api.findDeployment(c.Context(), args[0], env)
		if err != nil {
			return err
		}
		return do(c, api, d, args[1:])
	}
	return c
}
