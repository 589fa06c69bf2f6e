// Package cli holds the commands that people and scripts use. They speak to the API of the control
// plane and to nothing else of NullOps.
package cli

import "github.com/spf13/cobra"

// Commands returns the commands that people and scripts use. They speak to the API of the
// control plane that the person is signed in to. build is the release of this program, and
// releaseKey the public key that signed it.
func Commands(build, releaseKey string) []*cobra.Command {
	return []*cobra.Command{
		loginCommand(), logoutCommand(), contextCommand(), healthCommand(build),
		applyCommand(), deleteCommand(),
		exportCommand(), importCommand(), catalogueCommand(), pipelineCommand(), tagsCommand(),
		deployCommand(), cloneCommand(), diffCommand(), compareCommand(), templateCommand(),
		extendCommand(), holdCommand(), releaseCommand(), commentCommand(), verdictCommand(),
		mailCommand(),
		activityCommand(), recreateCommand(), capsuleCommand(), moveCommand(),
		listCommand(), queueCommand(), showCommand(), topCommand(), logsCommand(), execCommand(),
		portForwardCommand(), cpCommand(), answerCommand(), checkCommand(), removeCommand(),
		retryCommand(), forgetCommand(), openCommand(), nodeCommand(), gateCommand(),
		certificateCommand(), auditCommand(), userCommand(), teamCommand(), tokenCommand(),
		secretCommand(), webhookCommand(), alertsCommand(), backupsCommand(),
		ruleCommand(), sourcesCommand(),
		accessCommand(), usageCommand(), supportCommand(), logLevelCommand(),
		versionCommand(build, releaseKey),
	}
}
