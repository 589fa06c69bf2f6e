// Command nullops is the whole product in one binary: the control plane, the
// agent, the ingress, and the command line that people and scripts use.
//
// Server commands read their settings from flags, environment and a file (see
// 'nullops settings'). User commands speak to the API and to nothing else.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/nullops/nullops/cmd/nullops/internal/cli"
	"github.com/nullops/nullops/cmd/nullops/internal/cli/output"
	"github.com/nullops/nullops/cmd/nullops/internal/cli/pluginkit"
	"github.com/nullops/nullops/cmd/nullops/internal/exit"
	"github.com/nullops/nullops/cmd/nullops/internal/server"
	"github.com/nullops/nullops/internal/script"
)

// build is set by the linker: -X main.build=v1.2.3. Control plane and agents
// must carry the same.
var build = "dev"

func main() {
	// A script's process must do nothing else: it has to give up its rights first.
	script.ServeIfAsked()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	err := rootCommand().ExecuteContext(ctx)
	if err == nil {
		return
	}
	if !errors.Is(err, exit.ErrSilent) {
		fmt.Fprintln(os.Stderr, "nullops:", output.SanitizeText(err.Error()))
	}
	stop()
	os.Exit(exit.CodeOf(err))
}

func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "nullops",
		Short:         "QA environments from pipelines: every feature gets its own",
		SilenceErrors: true, SilenceUsage: true,
		Version: build,
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return exit.AsUsageError(err) })
	root.AddGroup(&cobra.Group{ID: "use", Title: "Use deployments"},
		&cobra.Group{ID: "run", Title: "Run NullOps"},
		&cobra.Group{ID: "make", Title: "Make plugins"})
	root.AddCommand(inGroup("use", cli.Commands(build)...)...)
	keys := server.KeysCommand()
	keys.AddCommand(cli.KeyCommands()...)
	root.AddCommand(inGroup("run", append(server.Commands(build), keys)...)...)
	root.AddCommand(inGroup("make", pluginkit.Command())...)
	root.AddCommand(server.SettingsCommand(), server.ReplaceCommand())
	cli.SuggestDeployments(root)
	return root
}

func inGroup(id string, commands ...*cobra.Command) []*cobra.Command {
	for _, c := range commands {
		c.GroupID = id
	}
	return commands
}
