package main

import (
	"github.com/spf13/cobra"

	"github.com/nullops/nullops/cmd/nullops/internal/cli"
	"github.com/nullops/nullops/cmd/nullops/internal/cli/pluginkit"
	"github.com/nullops/nullops/cmd/nullops/internal/server"
	"github.com/nullops/nullops/internal/script"
)

// serveRole ends the process if it is one that runs a script: that must do nothing else, and has
// to give up its rights first.
func serveRole() { script.ServeIfAsked() }

// addServerCommands adds what runs on Linux only: the servers, and what works with containers.
func addServerCommands(root *cobra.Command) {
	keys := server.KeysCommand()
	keys.AddCommand(cli.KeyCommands()...)
	root.AddCommand(inGroup("run", append(server.Commands(build), keys)...)...)
	root.AddCommand(inGroup("make", pluginkit.Command())...)
	root.AddCommand(server.SettingsCommand(), server.ReplaceCommand(), referenceCommand())
}
