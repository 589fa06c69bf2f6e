package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/nullops/nullops/cmd/nullops/internal/exit"
)

func nodeUpgrade() *cobra.Command {
	return &cobra.Command{
		Use: "upgrade NODE", Args: exit.ExactArgs(1),
		Short: "Replace a node's agent by one of the control plane's release; services keep running",
		RunE: func(c *cobra.Command, args []string) error {
			api, err := newClient()
			if err != nil {
				return err
			}
			r, err := api.UpgradeNodeWithResponse(c.Context(), args[0])
			if err := checkAnswer(r, err); err != nil {
				return err
			}
			_, err = fmt.Fprintf(c.OutOrStdout(), "%s: its agent is being replaced by %s; "+
				"'nullops node show %s' tells how it goes\n", args[0], r.JSON202.Image, args[0])
			return err
		},
	}
}
