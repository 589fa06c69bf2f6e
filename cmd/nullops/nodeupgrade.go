package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/nullops/nullops/agent/docker"
)

func nodeUpgrade() *cobra.Command {
	return &cobra.Command{
		Use: "upgrade NODE", Args: exactArgs(1),
		Short: "Replace a node's agent by one of the control plane's release; services run on",
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

// replaceCommand is run by the helper container of an upgrade, and by nothing else.
func replaceCommand() *cobra.Command {
	return &cobra.Command{
		Use: "agent-replace CONTAINER IMAGE", Args: exactArgs(2), Hidden: true,
		Short: "Put an agent made from IMAGE into the place of CONTAINER",
		RunE: func(c *cobra.Command, args []string) error {
			return docker.ReplaceAgent(c.Context(), dockerHost(""), args[0], args[1])
		},
	}
}
