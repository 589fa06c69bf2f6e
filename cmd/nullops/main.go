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
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/nullops/nullops/cmd/nullops/internal/cli"
	"github.com/nullops/nullops/cmd/nullops/internal/cli/output"
	"github.com/nullops/nullops/cmd/nullops/internal/exit"
)

// build is set by the linker: -X main.build=v1.2.3. Control plane and agents
// must carry the same. So is releaseKey, the public key that signs the release.
var build, releaseKey = "dev", ""

func main() {
	serveRole()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	ran, err := rootCommand().ExecuteContextC(ctx)
	if err == nil {
		return
	}
	printError(os.Stderr, ran, err)
	stop()
	os.Exit(exit.CodeOf(err))
}

// printError says what went wrong, and in the last line what can be done about it.
func printError(to io.Writer, ran *cobra.Command, err error) {
	if errors.Is(err, exit.ErrSilent) {
		return
	}
	fmt.Fprintf(to, "nullops: %s\n  → %s\n", output.SanitizeText(err.Error()),
		output.SanitizeText(exit.RemedyOf(err, ran.CommandPath())))
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
	root.AddCommand(inGroup("use", cli.Commands(build, releaseKey)...)...)
	addServerCommands(root)
	cli.SuggestDeployments(root)
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	addExamples(root)
	return root
}

func inGroup(id string, commands ...*cobra.Command) []*cobra.Command {
	for _, c := range commands {
		c.GroupID = id
	}
	return commands
}
