package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/nullops/nullops/cmd/nullops/internal/cli/output"
	"github.com/nullops/nullops/cmd/nullops/internal/exit"
	"github.com/nullops/nullops/controlplane/apiclient"
)

func mailWaitCommand() *cobra.Command {
	var f mailFilter
	var timeout time.Duration
	c := &cobra.Command{Use: "wait DEPLOYMENT", Args: exit.ExactArgs(1),
		Short: "Wait for a mail, and show it",
		Long: "Wait for a mail, and show it. A mail that is there already counts, unless --after says\n" +
			"otherwise: take the number of the newest one from 'nullops mail list --json' before you\n" +
			"make the application send one. If none comes in time, the exit code is 5."}
	f.registerFlags(c)
	c.Flags().DurationVar(&timeout, "timeout", time.Minute, "give up after so long")
	asJSON := output.JSONFlag[*apiclient.CaughtMail](c)
	return onDeployment(c, func(
		c *cobra.Command, api *client, d apiclient.Deployment, _ []string,
	) error {
		number, err := api.awaitMail(c.Context(), d, f, timeout)
		if err != nil {
			return err
		}
		return api.showMail(c, d, number, asJSON)
	})
}

// awaitMail waits until a mail is there that the filter takes, and returns its number.
func (c *client) awaitMail(ctx context.Context, d apiclient.Deployment, f mailFilter,
	timeout time.Duration) (number int64, err error) {
	within, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	// Also without an event: a deployment whose mails nobody catches has none.
	if number, err = c.findMail(within, d, f); err != nil || number != 0 {
		return number, err
	}
	err = c.followEvents(within, "/api/v1/deployments/"+d.Id+"/mails/changes", nil,
		func(e sse) (bool, error) {
			if e.Event != "changed" {
				return false, nil
			}
			number, err = c.findMail(within, d, f)
			return number != 0, err
		})
	if within.Err() != nil && ctx.Err() == nil {
		return 0, exit.WithCode(fmt.Errorf("no such mail of %s came within %s", d.Name, timeout),
			exit.NotReady)
	}
	return number, err
}

// findMail returns the number of the newest mail that the filter takes, or 0.
func (c *client) findMail(
	ctx context.Context, d apiclient.Deployment, f mailFilter,
) (int64, error) {
	r, err := c.ListMailsWithResponse(ctx, d.Id, f.toParams(1))
	if err := checkAnswer(r, err); err != nil {
		return 0, err
	}
	if len(r.JSON200.Items) > 0 {
		return r.JSON200.Items[0].Number, nil
	}
	why := noMailsText(r.JSON200.State)
	if why != "" && r.JSON200.State != apiclient.MailListStateWaiting {
		return 0, exit.WithCode(errors.New(why), exit.NotReady)
	}
	return 0, nil
}
