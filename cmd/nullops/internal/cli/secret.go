package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/nullops/nullops/cmd/nullops/internal/exit"
	"github.com/nullops/nullops/controlplane/apiclient"
)

func secretCommand() *cobra.Command {
	c := &cobra.Command{Use: "secret",
		Short: "List and reveal values that were generated for a deployment"}
	c.AddCommand(secretListCommand(), secretRevealCommand())
	return c
}

func secretListCommand() *cobra.Command {
	return onDeployment(&cobra.Command{
		Use: "list DEPLOYMENT", Args: exit.ExactArgs(1),
		Short: "List the names of the secrets that were generated for a deployment",
	}, func(c *cobra.Command, api *client, d apiclient.Deployment, _ []string) error {
		r, err := api.ListDeploymentSecretsWithResponse(c.Context(), d.Id)
		if err := checkAnswer(r, err); err != nil {
			return err
		}
		for _, s := range r.JSON200.Items {
			if _, err := fmt.Fprintln(c.OutOrStdout(), s.Name); err != nil {
				return err
			}
		}
		return nil
	})
}

func secretRevealCommand() *cobra.Command {
	return onDeployment(&cobra.Command{
		Use: "reveal DEPLOYMENT SECRET", Args: exit.ExactArgs(2),
		Short: "Print a value that was generated for a deployment; the audit log records it",
		Long: "Print a value that was generated for a deployment, for signing in to a service of\n" +
			"it. It takes full access to the deployment, and a token that does more than read.\n" +
			"A value that a person set is never shown.",
	}, func(c *cobra.Command, api *client, d apiclient.Deployment, args []string) error {
		r, err := api.RevealSecretWithResponse(c.Context(), d.Id, args[0])
		if err := checkAnswer(r, err); err != nil {
			return err
		}
		_, _ = fmt.Fprintf(c.ErrOrStderr(), "This is the secret %s of %s in clear text. The audit "+
			"log records that you saw it; keep it out of logs and chats.\n", args[0], d.Name)
		_, err = fmt.Fprintln(c.OutOrStdout(), r.JSON200.Value)
		return err
	})
}
