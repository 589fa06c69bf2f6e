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
	"github.com/nullops/nullops/internal/wait"
)

func mailWaitCommand() *cobra.Command {
	var f mailFilter
	var timeout time.Duration
	c := &cobra.Command{Use: "wait DEPLOYMENT", Args: exit.ExactArgs(1),
		Short: "Wait for a mail, and show it",
		Long: "Wait for a mail, and show it. A mail that is there already counts, unless --after says\n" +
			"otherwise: take the number of the newest one from 'nullops mail list --json' before you\n" +
			"make the application send one. If none comes in time, the exit code is 5, and nothing is\n" +
			"printed but the reason. With --timeout 0, only what is there counts."}
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

// awaitMail waits until a mail is there that the filter takes, and returns its number. With no time
// to wait, only what is there already counts.
func (c *client) awaitMail(ctx context.Context, d apiclient.Deployment, f mailFilter,
	timeout time.Duration) (number int64, err error) {
	within, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if timeout <= 0 {
		number, err = c.findMail(ctx, d, f)
	}
	for number == 0 && err == nil && within.Err() == nil {
		number, err = c.followMails(within, d, f)
	}
	if number == 0 && within.Err() != nil && ctx.Err() == nil &&
		(err == nil || errors.Is(err, context.DeadlineExceeded)) {
		return 0, exit.WithCode(fmt.Errorf("no such mail of %s came within %s", d.Name, timeout),
			exit.NotReady)
	}
	return number, err
}

// followMails waits on one node. It returns 0 without an error when the deployment is on none: it
// may wait for one, or move.
func (c *client) followMails(
	ctx context.Context, d apiclient.Deployment, f mailFilter,
) (number int64, err error) {
	// Also without an event: a deployment whose mails nobody catches has none.
	if number, err = c.findMail(ctx, d, f); err != nil || number != 0 {
		return number, err
	}
	err = c.followEvents(ctx, "/api/v1/deployments/"+d.Id+"/mails/changes", nil,
		func(e sse) (bool, error) {
			if e.Event != "changed" {
				return false, nil
			}
			number, err = c.findMail(ctx, d, f)
			return number != 0, err
		})
	if refused, ok := errors.AsType[*problemError](err); ok && refused.Code == "no_mails" {
		return 0, wait.Sleep(ctx, time.Second)
	}
	return number, err
}

// findMail returns the number of the newest mail that the filter takes, or 0.
func (c *client) findMail(
	ctx context.Context, d apiclient.Deployment, f mailFilter,
) (int64, error) {
	l, err := c.listMails(ctx, d, f, 1)
	if err != nil {
		return 0, err
	}
	if len(l.Items) > 0 {
		return l.Items[0].Number, nil
	}
	why := noMailsText(l.State)
	if why != "" && l.State != apiclient.MailListStateWaiting {
		return 0, exit.WithCode(errors.New(why), exit.NotReady)
	}
	return 0, nil
}
