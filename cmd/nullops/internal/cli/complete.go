package cli

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/nullops/nullops/cmd/nullops/internal/cli/output"
	"github.com/nullops/nullops/controlplane/apiclient"
)

// completeWithin is how long a shell waits for suggestions.
const completeWithin = 3 * time.Second

const noFiles = cobra.ShellCompDirectiveNoFileComp

// completeDeployment suggests names of deployments for the first argument.
func completeDeployment(
	c *cobra.Command, args []string, _ string,
) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, noFiles
	}
	return deploymentNames(c), noFiles
}

// SuggestDeployments completes names wherever a command begins with one.
func SuggestDeployments(root *cobra.Command) {
	for _, c := range root.Commands() {
		if strings.Contains(c.Use, " DEPLOYMENT") && c.ValidArgsFunction == nil &&
			!c.DisableFlagParsing {
			c.ValidArgsFunction = completeDeployment
		}
	}
}

// completeLogs suggests a deployment, then its services.
func completeLogs(
	c *cobra.Command, args []string, word string,
) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return completeDeployment(c, args, word)
	}
	return slices.DeleteFunc(serviceNames(c, args[0]), func(s string) bool {
		return slices.Contains(args[1:], s)
	}), noFiles
}

// completeService suggests a deployment, then one of its services.
func completeService(
	c *cobra.Command, args []string, word string,
) ([]string, cobra.ShellCompDirective) {
	if len(args) > 1 {
		return nil, noFiles
	}
	return completeLogs(c, args, word)
}

func deploymentNames(c *cobra.Command) (names []string) {
	ctx, cancel := context.WithTimeout(c.Context(), completeWithin)
	defer cancel()
	api, err := newClient()
	if err != nil {
		return nil
	}
	r, err := api.ListDeploymentsWithResponse(ctx, &apiclient.ListDeploymentsParams{})
	if checkAnswer(r, err) != nil {
		return nil
	}
	for _, d := range r.JSON200.Items {
		if !slices.Contains(names, d.Name) {
			names = append(names, output.SanitizeText(d.Name))
		}
	}
	return names
}

func serviceNames(c *cobra.Command, deployment string) (names []string) {
	ctx, cancel := context.WithTimeout(c.Context(), completeWithin)
	defer cancel()
	api, err := newClient()
	if err != nil {
		return nil
	}
	env, _ := c.Flags().GetString("env") // A command without it needs none.
	d, err := api.findDeployment(ctx, deployment, env)
	if err != nil {
		return nil
	}
	for _, s := range d.Services {
		names = append(names, s.Step)
	}
	return names
}
