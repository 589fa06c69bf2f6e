//go:build !linux

package main

import (
	"github.com/spf13/cobra"

	"github.com/nullops/nullops/cmd/nullops/internal/cli"
)

func serveRole() {}

// addServerCommands adds what is left of the servers' commands where no server runs: those that
// ask the control plane.
func addServerCommands(root *cobra.Command) {
	keys := &cobra.Command{Use: "keys", Short: "List, rotate and move sealing keys"}
	keys.AddCommand(cli.KeyCommands()...)
	root.AddCommand(inGroup("run", keys)...)
}
