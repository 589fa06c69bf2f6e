package cli

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/nullops/nullops/cmd/nullops/internal/cli/output"
	"github.com/nullops/nullops/cmd/nullops/internal/exit"
	"github.com/nullops/nullops/controlplane/apiclient"
)

// lifeCommand is a command about one deployment that is done at once.
func lifeCommand[T any](use, short string, fill func(*cobra.Command),
	do func(context.Context, *client, io.Writer, string, output.JSON[T]) error) *cobra.Command {
	c := &cobra.Command{Use: use, Short: short, Args: exit.ExactArgs(1)}
	asJSON := output.JSONFlag[T](c)
	if fill != nil {
		fill(c)
	}
	return onDeployment(c, func(
		c *cobra.Command, api *client, d apiclient.Deployment, _ []string,
	) error {
		return do(c.Context(), api, c.OutOrStdout(), d.Id, asJSON)
	})
}

func printLife(
	out io.Writer, d apiclient.Deployment, asJSON output.JSON[apiclient.Deployment],
) error {
	if asJSON.Wanted() {
		return asJSON.Print(out, d)
	}
	fmt.Fprintf(out, "%s: %s\n", d.Name, stateOf(d))
	if d.ExpiresAt != nil {
		fmt.Fprintf(out, "  removed for lack of activity on %s\n",
			d.ExpiresAt.Local().Format(time.DateTime))
	}
	if d.Hold != nil {
		fmt.Fprintf(out, "  held by %s: %s\n", output.SanitizeText(d.Hold.Owner),
			output.SanitizeText(d.Hold.Reason))
	}
	return nil
}

func extendCommand() *cobra.Command {
	return lifeCommand("extend DEPLOYMENT", "Give a deployment its whole time again", nil,
		func(ctx context.Context, api *client, out io.Writer, id string,
			asJSON output.JSON[apiclient.Deployment]) error {
			r, err := api.ExtendDeploymentWithResponse(ctx, id)
			if err := checkAnswer(r, err); err != nil {
				return err
			}
			return printLife(out, *r.JSON200, asJSON)
		})
}

func holdCommand() *cobra.Command {
	var reason string
	var lasts time.Duration
	return lifeCommand("hold DEPLOYMENT --reason TEXT [--for 48h]",
		"Keep a deployment from clean-up and from removal by others",
		func(c *cobra.Command) {
			c.Flags().StringVar(&reason, "reason", "", "the reason, shown to others")
			c.Flags().DurationVar(&lasts, "for", 0, "how long; by default until it is released")
			_ = c.MarkFlagRequired("reason")
		},
		func(ctx context.Context, api *client, out io.Writer, id string,
			asJSON output.JSON[apiclient.Deployment]) error {
			body := apiclient.HoldPut{Reason: reason}
			if lasts != 0 {
				until := time.Now().Add(lasts)
				body.Until = &until
			}
			r, err := api.HoldDeploymentWithResponse(ctx, id, body)
			if err := checkAnswer(r, err); err != nil {
				return err
			}
			return printLife(out, *r.JSON200, asJSON)
		})
}

func releaseCommand() *cobra.Command {
	return lifeCommand("release DEPLOYMENT", "End the hold of a deployment", nil,
		func(ctx context.Context, api *client, out io.Writer, id string,
			asJSON output.JSON[apiclient.Deployment]) error {
			r, err := api.ReleaseDeploymentWithResponse(ctx, id)
			if err := checkAnswer(r, err); err != nil {
				return err
			}
			return printLife(out, *r.JSON200, asJSON)
		})
}

func activityCommand() *cobra.Command {
	return lifeCommand("activity DEPLOYMENT", "List what reset the countdown of a deployment", nil,
		func(ctx context.Context, api *client, out io.Writer, id string,
			asJSON output.JSON[apiclient.ActivityList]) error {
			r, err := api.ListActivityWithResponse(ctx, id)
			if err := checkAnswer(r, err); err != nil {
				return err
			}
			if asJSON.Wanted() {
				return asJSON.Print(out, *r.JSON200)
			}
			fmt.Fprintln(out, output.SanitizeText(r.JSON200.Rule))
			rows := [][]string{{"AT", "WHAT", "BY"}}
			for _, a := range r.JSON200.Items {
				rows = append(rows, []string{a.At.Local().Format(time.DateTime), string(a.Kind), a.By})
			}
			return output.PrintTable(out, rows)
		})
}

// recreateCommand takes an id: the name of what is gone may be another's now.
func recreateCommand() *cobra.Command {
	var body apiclient.Recreate
	var name string
	var pin, noWait bool
	c := &cobra.Command{Use: "recreate ID [--pin] [--name NAME]", Args: exit.ExactArgs(1),
		Short: "Recreate a removed deployment, with the same name and URLs",
		Long: "Recreate a removed deployment, with the same name and URLs. Its id is in its\n" +
			"link, and in 'nullops list --all --json'. With --pin the same images run by their\n" +
			"digests, and the same pipeline version."}
	asJSON := output.JSONFlag[apiclient.Deployment](c)
	c.Flags().BoolVar(&pin, "pin", false, "the same digests and pipeline version")
	c.Flags().StringVar(&name, "name", "", "another name, for a copy beside the original")
	c.Flags().BoolVar(&noWait, "no-wait", false, "return as soon as it is created")
	c.RunE = func(c *cobra.Command, args []string) error {
		api, err := newClient()
		if err != nil {
			return err
		}
		body.Name, body.PinDigests = nilIfZero(name), nilIfZero(pin)
		r, err := api.RecreateDeploymentWithResponse(c.Context(), args[0], nil, body)
		if err := checkAnswer(r, err); err != nil {
			return err
		}
		return api.watchUnlessNoWait(c.Context(), c.OutOrStdout(), *r.JSON201, noWait, asJSON)
	}
	return c
}

func capsuleCommand() *cobra.Command {
	return lifeCommand("capsule DEPLOYMENT",
		"Show versions, health and last log lines of a deployment, also after removal (by id)", nil,
		func(ctx context.Context, api *client, out io.Writer, id string,
			asJSON output.JSON[apiclient.Capsule]) error {
			r, err := api.GetCapsuleWithResponse(ctx, id)
			if err := checkAnswer(r, err); err != nil {
				return err
			}
			if asJSON.Wanted() {
				return asJSON.Print(out, *r.JSON200)
			}
			return printCapsule(out, api.login.URL, *r.JSON200)
		})
}

func printCapsule(out io.Writer, base string, c apiclient.Capsule) error {
	d := c.Deployment
	fmt.Fprintf(out, "%s  %s%s\n", d.Name, base, c.Url)
	fmt.Fprintf(out, "%s in %s, %s, run %d of pipeline v%d (%s)\n", d.Project, d.Environment,
		d.Status, c.Run, c.PipelineVersion, c.PipelineDigest)
	if d.ConditionReason != nil {
		fmt.Fprintf(out, "%s: %s\n", valueOrZero(d.Condition), output.SanitizeText(*d.ConditionReason))
	}
	fmt.Fprintf(out, "created by %s on %s\n", output.SanitizeText(d.CreatedBy),
		d.CreatedAt.Local().Format(time.DateTime))
	if d.RemovedBy != nil && d.RemovedAt != nil {
		fmt.Fprintf(out, "removed by %s on %s\n", output.SanitizeText(*d.RemovedBy),
			d.RemovedAt.Local().Format(time.DateTime))
	}
	if c.Failure != nil {
		fmt.Fprintln(out, failureText(*c.Failure))
	}
	for _, s := range c.Services {
		fmt.Fprintf(out, "\n%s  %s:%s@%s  %s\n", s.Step, s.Image, s.Tag, s.Digest, s.Health)
		if url := valueOrZero(s.Url); url != "" {
			fmt.Fprintf(out, "  open: %s\n", url)
		}
		for _, p := range furtherPorts(valueOrZero(s.Url), valueOrZero(s.Ports)) {
			fmt.Fprintf(out, "  open %s: %s\n", p.Name, valueOrZero(p.Url))
		}
		for _, line := range s.Log {
			fmt.Fprintf(out, "  %s\n", output.SanitizeText(line))
		}
	}
	if c.Mails != nil {
		fmt.Fprintln(out)
		return printMails(out, c.Mails)
	}
	return nil
}

func moveCommand() *cobra.Command {
	var body apiclient.Move
	var node string
	var drop, anyway bool
	return lifeCommand("move DEPLOYMENT [--node NODE] [--drop-volumes] [--anyway]",
		"Move a deployment to another node, with the same digests and URLs",
		func(c *cobra.Command) {
			c.Flags().StringVar(&node, "node", "", "target node, for admins; by default the best one")
			c.Flags().BoolVar(&drop, "drop-volumes", false, "start with empty volumes there")
			anywayFlag(c, &anyway, "its URLs")
		},
		func(ctx context.Context, api *client, out io.Writer, id string,
			asJSON output.JSON[apiclient.Deployment]) error {
			body.Node, body.DropVolumes = nilIfZero(node), nilIfZero(drop)
			body.Anyway = nilIfZero(anyway)
			r, err := api.MoveDeploymentWithResponse(ctx, id, body)
			if err := checkAnswer(r, err); err != nil {
				return err
			}
			if asJSON.Wanted() {
				return asJSON.Print(out, *r.JSON202)
			}
			fmt.Fprintf(out, "%s goes from node %s to another one\n",
				r.JSON202.Name, valueOrZero(r.JSON202.Node))
			return nil
		})
}
