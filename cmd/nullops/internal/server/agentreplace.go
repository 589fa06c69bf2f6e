package server

import (
	"github.com/spf13/cobra"

	"github.com/nullops/nullops/agent/docker"
	"github.com/nullops/nullops/cmd/nullops/internal/exit"
)

// ReplaceCommand is run by the helper container of an upgrade, and by nothing else.
func ReplaceCommand() *cobra.Command {
	return &cobra.Command{
		Use: "agent-replace CONTAINER IMAGE", Args: exit.ExactArgs(2), Hidden: true,
		Short: "Replace the agent in CONTAINER by one made from IMAGE",
		RunE: func(c *cobra.Command, args []string) error {
			return docker.ReplaceAgent(c.Context(), dockerHost(""), args[0], args[1])
		},
	}
}
