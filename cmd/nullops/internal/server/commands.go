// Package server holds the commands that run a part of NullOps, or that work on its database or on
// the machine they are started on: their settings, and the wiring of the packages that do the work.
package server

import "github.com/spf13/cobra"

// release is the release of this program, which Commands sets before anything runs.
var release = "dev"

// Commands returns the commands that run a part of NullOps, or work on its database or its
// machine.
func Commands(build string) []*cobra.Command {
	release = build
	return []*cobra.Command{devCommand(), controlplaneCommand(), agentCommand(), ingressCommand(),
		migrateCommand(), backupCommand(), restoreCommand()}
}
