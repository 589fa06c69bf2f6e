package cli

import (
	"context"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/nullops/nullops/cmd/nullops/internal/cli/output"
	"github.com/nullops/nullops/cmd/nullops/internal/exit"
	"github.com/nullops/nullops/controlplane/apiclient"
)

func removeCommand() *cobra.Command {
	var anyway bool
	c := settleCommand("remove", "Remove a deployment, or cancel one that is being created",
		func(ctx context.Context, api *client, id string) (*apiclient.Deployment, error) {
			r, err := api.DeleteDeploymentWithResponse(ctx, id,
				&apiclient.DeleteDeploymentParams{Anyway: nilIfZero(anyway)})
			if err := checkAnswer(r, err); err != nil {
				return nil, err
			}
			return r.JSON202, nil
		}, apiclient.DeploymentStatusRemoved, apiclient.DeploymentStatusCanceled)
	anywayFlag(c, &anyway, "its URLs")
	return c
}

// anywayFlag lets a command interrupt others, who are at these URLs.
func anywayFlag(c *cobra.Command, anyway *bool, urls string) {
	c.Flags().BoolVar(anyway, "anyway", false, "also while others are at "+urls)
}

func retryCommand() *cobra.Command {
	var same, anyway bool
	var deadline time.Duration
	var c *cobra.Command
	c = settleCommand("retry", "Run a failed deployment again with the latest pipeline version",
		func(ctx context.Context, api *client, id string) (*apiclient.Deployment, error) {
			body := apiclient.Retry{SameVersion: &same, Anyway: nilIfZero(anyway)}
			if c.Flags().Changed("deadline") {
				seconds, err := deadlineSeconds(deadline)
				if err != nil {
					return nil, err
				}
				body.DeadlineSeconds = &seconds
			}
			r, err := api.RetryDeploymentWithResponse(ctx, id, body)
			if err := checkAnswer(r, err); err != nil {
				return nil, err
			}
			return r.JSON202, nil
		}, apiclient.DeploymentStatusReady)
	c.Flags().BoolVar(&same, "same-version", false, "with the pipeline version of the last run")
	anywayFlag(c, &anyway, "its URLs")
	deadlineFlag(c, &deadline)
	c.Flags().Lookup("deadline").Usage += "; 0 for none, as long as before if left out"
	return c
}

func forgetCommand() *cobra.Command {
	return settleCommand("forget", "Give up on a stuck deployment; what is left stays recorded",
		func(ctx context.Context, api *client, id string) (*apiclient.Deployment, error) {
			r, err := api.ForgetDeploymentWithResponse(ctx, id)
			if err := checkAnswer(r, err); err != nil {
				return nil, err
			}
			return r.JSON200, nil
		}, apiclient.DeploymentStatusForgotten)
}

// settleCommand asks for a change and waits for one of the good ends.
func settleCommand(verb, short string,
	ask func(context.Context, *client, string) (*apiclient.Deployment, error),
	good ...apiclient.DeploymentStatus) *cobra.Command {
	var env string
	var noWait bool
	c := &cobra.Command{Use: verb + " DEPLOYMENT", Short: short, Args: exit.ExactArgs(1)}
	asJSON := output.JSONFlag[apiclient.Deployment](c)
	c.Flags().StringVar(&env, "env", "", "environment, if the name exists in several")
	c.Flags().BoolVar(&noWait, "no-wait", false, "return as soon as it is under way")
	c.RunE = func(c *cobra.Command, args []string) error {
		ctx := c.Context()
		api, err := newClient()
		if err != nil {
			return err
		}
		d, err := api.findDeployment(ctx, args[0], env)
		if err != nil {
			return err
		}
		under, err := ask(ctx, api, d.Id)
		if err != nil {
			return err
		}
		return api.awaitEnd(ctx, c.OutOrStdout(), *under, noWait, asJSON, good)
	}
	return c
}

func (c *client) awaitEnd(ctx context.Context, out io.Writer, d apiclient.Deployment,
	noWait bool, asJSON output.JSON[apiclient.Deployment],
	good []apiclient.DeploymentStatus) error {
	if !noWait && !isSettled(d.Status) {
		steps := out
		if asJSON.Wanted() {
			steps = io.Discard
		}
		var err error
		if d, err = c.watchDeployment(ctx, steps, d); err != nil {
			return err
		}
	}
	if asJSON.Wanted() {
		if err := asJSON.Print(out, d); err != nil {
			return err
		}
	} else {
		printOutcome(out, d)
	}
	if noWait || slices.Contains(good, d.Status) {
		return nil
	}
	return exit.WithCode(exit.ErrSilent, exit.NotReady)
}
