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
	"strings"
	"syscall"

	"github.com/spf13/cobra"
)

// build is set by the linker: -X main.build=v1.2.3. Control plane and agents
// must carry the same.
var build = "dev"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	err := rootCommand().ExecuteContext(ctx)
	if err == nil {
		return
	}
	if !errors.Is(err, errSilent) {
		fmt.Fprintln(os.Stderr, "nullops:", sanitizeText(err.Error()))
	}
	stop()
	os.Exit(exitCode(err))
}

func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "nullops",
		Short:         "QA environments from pipelines: every feature gets its own",
		SilenceErrors: true, SilenceUsage: true,
		Version: build,
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	root.AddGroup(&cobra.Group{ID: "use", Title: "Use deployments"},
		&cobra.Group{ID: "run", Title: "Run NullOps"},
		&cobra.Group{ID: "make", Title: "Make plugins"})
	root.AddCommand(inGroup("use", loginCommand(), contextCommand(), healthCommand(), applyCommand(),
		deleteCommand(), exportCommand(), importCommand(),
		pipelineCommand(), tagsCommand(), deployCommand(), cloneCommand(), diffCommand(),
		templateCommand(), extendCommand(), holdCommand(), releaseCommand(), activityCommand(),
		recreateCommand(), capsuleCommand(), moveCommand(), listCommand(), queueCommand(),
		showCommand(), topCommand(), logsCommand(), execCommand(), portForwardCommand(), cpCommand(),
		answerCommand(), checkCommand(),
		removeCommand(), retryCommand(),
		forgetCommand(), openCommand(),
		nodeCommand(), gateCommand(), certificateCommand(), auditCommand(), userCommand(),
		teamCommand(), tokenCommand(), secretCommand(), webhookCommand(), ruleCommand(),
		accessCommand())...)
	root.AddCommand(inGroup("run", devCommand(), controlplaneCommand(), agentCommand(),
		ingressCommand(), migrateCommand(), backupCommand(),
		restoreCommand(), keysCommand())...)
	root.AddCommand(inGroup("make", pluginCommand())...)
	root.AddCommand(settingsHelp(), replaceCommand())
	suggestDeployments(root)
	return root
}

func inGroup(id string, commands ...*cobra.Command) []*cobra.Command {
	for _, c := range commands {
		c.GroupID = id
	}
	return commands
}

// Exit codes, for scripts. They are listed in the README.
const (
	exitFailed    = 1 // something broke
	exitUsage     = 2 // the command line itself is wrong
	exitRefused   = 3 // the control plane refused: invalid, in use, no room
	exitForbidden = 4 // sign in, or ask for access
	exitNotReady  = 5 // the deployment failed or was removed
)

type usageError struct{ error }

// errSilent only sets the exit code; everything was printed already.
var errSilent = errors.New("")

type codedError struct {
	error
	code int
}

func (e codedError) Unwrap() error { return e.error }

// isUsageError recognises what cobra refuses by itself, for which it has no type.
func isUsageError(err error) bool {
	return strings.HasPrefix(err.Error(), "unknown command ") ||
		strings.HasPrefix(err.Error(), "required flag(s) ") ||
		strings.HasPrefix(err.Error(), "if any flags in the group [") ||
		strings.HasPrefix(err.Error(), "accepts between ")
}

func exitCode(err error) int {
	var coded codedError
	var problem *problemError
	var usage usageError
	switch {
	case errors.As(err, &coded):
		return coded.code
	case errors.As(err, &usage), isUsageError(err):
		return exitUsage
	case errors.As(err, &problem) && (problem.Status == 401 || problem.Status == 403):
		return exitForbidden
	case errors.As(err, &problem) && problem.Status < 500:
		return exitRefused
	}
	return exitFailed
}
