package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/nullops/nullops/cmd/nullops/internal/exit"
)

func nodeGiveUp() *cobra.Command {
	return &cobra.Command{
		Use: "give-up NODE MACHINE", Args: exit.ExactArgs(2),
		Short: "Say that a machine of a cluster is gone, so that its services start elsewhere",
		Long: "Say that a machine of a cluster is gone, so that its services start elsewhere.\n" +
			"Services with volumes wait for a machine that does not answer, since they may still\n" +
			"write to them: do it only when it is off. 'nullops node show NODE' lists the machines.",
		RunE: func(c *cobra.Command, args []string) error {
			api, err := newClient()
			if err != nil {
				return err
			}
			r, err := api.GiveUpMachineWithResponse(c.Context(), args[0], args[1])
			if err := checkAnswer(r, err); err != nil {
				return err
			}
			if r.JSON200.Services == 0 {
				_, err = fmt.Fprintf(c.OutOrStdout(), "%s: no service waited for it\n", args[1])
				return err
			}
			_, err = fmt.Fprintf(c.OutOrStdout(), "%s: services with volumes that start elsewhere "+
				"now: %d\n", args[1], r.JSON200.Services)
			return err
		},
	}
}
