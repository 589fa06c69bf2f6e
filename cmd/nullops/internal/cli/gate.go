package cli

import (
	"fmt"
	"io"
	"math"
	"time"

	"github.com/spf13/cobra"

	"github.com/nullops/nullops/cmd/nullops/internal/cli/output"
	"github.com/nullops/nullops/cmd/nullops/internal/exit"
	"github.com/nullops/nullops/controlplane/apiclient"
)

func gateCommand() *cobra.Command {
	c := &cobra.Command{Use: "gate", Short: "Who may open deployments: gates, guest links, robots"}
	c.AddCommand(gateEnvironmentCommand(), gateDeploymentCommand(), gateInviteCommand(),
		gateGuestsCommand(), gateRobotCommand())
	return c
}

func gateEnvironmentCommand() *cobra.Command {
	var https bool
	c := &cobra.Command{
		Use: "environment ENVIRONMENT [open|guests|members]", Args: cobra.RangeArgs(1, 2),
		Short: "Show or set an environment's gate",
		Long: "open lets everybody in; guests lets in whoever has a guest link or may see the\n" +
			"deployment; members lets in only the latter.",
	}
	c.Flags().BoolVar(&https, "redirect-https", false, "send plain HTTP to HTTPS")
	c.RunE = func(c *cobra.Command, args []string) error {
		api, err := newClient()
		if err != nil {
			return err
		}
		r, err := api.GetEnvironmentGateWithResponse(c.Context(), args[0])
		if err := checkAnswer(r, err); err != nil {
			return err
		}
		g := *r.JSON200
		redirect := c.Flags().Changed("redirect-https")
		if len(args) == 2 || redirect {
			if len(args) == 2 {
				g.Gate = apiclient.GateMode(args[1])
			}
			if redirect {
				g.RedirectHttps = https
			}
			put, err := api.PutEnvironmentGateWithResponse(c.Context(), args[0], g)
			if err := checkAnswer(put, err); err != nil {
				return err
			}
		}
		_, err = fmt.Fprintf(c.OutOrStdout(), "%s, redirect to HTTPS %v\n", g.Gate, g.RedirectHttps)
		return err
	}
	return c
}

func gateDeploymentCommand() *cobra.Command {
	return onDeployment(&cobra.Command{
		Use: "deployment DEPLOYMENT [open|guests|members]", Args: cobra.RangeArgs(1, 2),
		Short: "Show or set a deployment's gate; never more open than its environment's",
	}, func(c *cobra.Command, api *client, d apiclient.Deployment, mode []string) error {
		r, err := api.GetDeploymentGateWithResponse(c.Context(), d.Id)
		if err := checkAnswer(r, err); err != nil {
			return err
		}
		g := r.JSON200
		if len(mode) == 1 {
			put, err := api.PutDeploymentGateWithResponse(c.Context(), d.Id,
				apiclient.GatePut{Gate: apiclient.GateMode(mode[0])})
			if err := checkAnswer(put, err); err != nil {
				return err
			}
			g = put.JSON200
		}
		_, err = fmt.Fprintf(c.OutOrStdout(), "%s (its own %s, the environment's %s)\n", g.Effective,
			g.Gate, g.EnvironmentGate)
		return err
	})
}

func gateInviteCommand() *cobra.Command {
	var label, service string
	var life time.Duration
	c := onDeployment(&cobra.Command{
		Use: "invite DEPLOYMENT --label TEXT", Args: exit.ExactArgs(1),
		Short: "Make a guest link with an end; it is printed once",
	}, func(c *cobra.Command, api *client, d apiclient.Deployment, _ []string) error {
		r, err := api.CreateGuestWithResponse(c.Context(), d.Id, nil, apiclient.GuestAsk{Label: label,
			Hours: wholeHours(life), Service: nilIfZero(service)})
		if err := checkAnswer(r, err); err != nil {
			return err
		}
		_, err = fmt.Fprintln(c.OutOrStdout(), r.JSON201.Url)
		return err
	})
	c.Flags().StringVar(&label, "label", "", "who it is for")
	c.Flags().StringVar(&service, "service", "",
		"service that the link opens; the first one by default")
	c.Flags().DurationVar(&life, "for", 7*24*time.Hour, "how long the link works, such as 48h")
	return c
}

func wholeHours(d time.Duration) int { return int(math.Ceil(d.Hours())) }

func gateGuestsCommand() *cobra.Command {
	var withdraw string
	c := onDeployment(&cobra.Command{
		Use: "guests DEPLOYMENT [--withdraw ID]", Args: exit.ExactArgs(1),
		Short: "List a deployment's guest links, or withdraw one",
	}, func(c *cobra.Command, api *client, d apiclient.Deployment, _ []string) error {
		if withdraw != "" {
			r, err := api.DeleteGuestWithResponse(c.Context(), d.Id, withdraw)
			return checkAnswer(r, err)
		}
		r, err := api.ListGuestsWithResponse(c.Context(), d.Id)
		if err := checkAnswer(r, err); err != nil {
			return err
		}
		return printPasses(c.OutOrStdout(), r.JSON200.Items)
	})
	c.Flags().StringVar(&withdraw, "withdraw", "", "id of the link to withdraw")
	return c
}

func printPasses(w io.Writer, all []apiclient.Pass) error {
	rows := [][]string{{"ID", "FOR", "MADE BY", "ENDS", "LAST USED"}}
	for _, p := range all {
		used := "never"
		if p.LastUsedAt != nil {
			used = output.FormatAge(*p.LastUsedAt) + " ago"
		}
		rows = append(rows, []string{p.Id, p.Label, p.CreatedBy, endsAt(p.ExpiresAt, time.Now()), used})
	}
	return output.PrintTable(w, rows)
}

func gateRobotCommand() *cobra.Command {
	c := &cobra.Command{Use: "robot", Short: "Tokens for test robots, sent as Nullops-Pass"}
	c.AddCommand(robotAddCommand(), robotListCommand(), robotRemoveCommand())
	return c
}

func robotAddCommand() *cobra.Command {
	var label string
	var life time.Duration
	c := &cobra.Command{Use: "add ENVIRONMENT --label TEXT", Args: exit.ExactArgs(1),
		Short: "Make a token that opens every deployment of an environment; it is printed once"}
	c.Flags().StringVar(&label, "label", "", "which robot it is for")
	c.Flags().DurationVar(&life, "for", 90*24*time.Hour, "how long the token works, such as 720h")
	c.RunE = func(c *cobra.Command, args []string) error {
		api, err := newClient()
		if err != nil {
			return err
		}
		r, err := api.CreateRobotWithResponse(c.Context(), args[0], nil,
			apiclient.RobotAsk{Label: label, Hours: wholeHours(life)})
		if err := checkAnswer(r, err); err != nil {
			return err
		}
		_, err = fmt.Fprintln(c.OutOrStdout(), r.JSON201.Token)
		return err
	}
	return c
}

func robotListCommand() *cobra.Command {
	return &cobra.Command{Use: "list ENVIRONMENT", Args: exit.ExactArgs(1), Short: "List robots",
		RunE: func(c *cobra.Command, args []string) error {
			api, err := newClient()
			if err != nil {
				return err
			}
			r, err := api.ListRobotsWithResponse(c.Context(), args[0])
			if err := checkAnswer(r, err); err != nil {
				return err
			}
			return printPasses(c.OutOrStdout(), r.JSON200.Items)
		}}
}

func robotRemoveCommand() *cobra.Command {
	return &cobra.Command{Use: "remove ENVIRONMENT ID", Args: exit.ExactArgs(2),
		Short: "Withdraw a robot's token",
		RunE: func(c *cobra.Command, args []string) error {
			api, err := newClient()
			if err != nil {
				return err
			}
			r, err := api.DeleteRobotWithResponse(c.Context(), args[0], args[1])
			return checkAnswer(r, err)
		}}
}
