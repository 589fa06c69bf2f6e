package cli

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/nullops/nullops/cmd/nullops/internal/cli/output"
	"github.com/nullops/nullops/cmd/nullops/internal/exit"
	"github.com/nullops/nullops/controlplane/apiclient"
)

func alertsCommand() *cobra.Command {
	var ended bool
	c := &cobra.Command{Use: "alerts", Args: exit.ExactArgs(0),
		Short: "List what needs attention",
		Long: "List what needs attention, as far as you may see it. An alert starts and ends with its\n" +
			"cause. --ended lists those of the last 30 days too."}
	c.Flags().BoolVar(&ended, "ended", false, "list those that have ended too")
	asJSON := output.JSONFlag[[]apiclient.Alert](c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		api, err := newClient()
		if err != nil {
			return err
		}
		r, err := api.ListAlertsWithResponse(c.Context(), &apiclient.ListAlertsParams{Ended: &ended})
		if err := checkAnswer(r, err); err != nil {
			return err
		}
		if asJSON.Wanted() {
			return asJSON.Print(c.OutOrStdout(), r.JSON200.Items)
		}
		return printAlerts(c.OutOrStdout(), r.JSON200.Items)
	}
	c.AddCommand(alertsAcknowledge(), alertsSilence(), alertsUnsilence())
	return c
}

func printAlerts(out io.Writer, all []apiclient.Alert) error {
	if len(all) == 0 {
		_, err := fmt.Fprintln(out, "Nothing needs attention.")
		return err
	}
	rows := [][]string{{"ID", "SEVERITY", "CONDITION", "SINCE", "STATE", "SUMMARY"}}
	for _, a := range all {
		rows = append(rows, []string{a.Id, string(a.Severity), a.Condition,
			output.FormatAge(a.StartedAt), alertState(a), a.Summary})
	}
	return output.PrintTable(out, rows)
}

func alertState(a apiclient.Alert) string {
	switch {
	case a.EndedAt != nil:
		return "ended"
	case a.SilencedUntil != nil:
		return "silent until " + a.SilencedUntil.Local().Format(time.DateTime)
	case a.AcknowledgedBy != nil:
		return "acknowledged by " + *a.AcknowledgedBy
	}
	return "active"
}

func alertsAcknowledge() *cobra.Command {
	c := &cobra.Command{Use: "acknowledge ID", Args: exit.ExactArgs(1),
		Short: "Say that you look after an alert"}
	c.RunE = func(c *cobra.Command, args []string) error {
		return onAlert(c, args[0], func(api *client) (*apiclient.Alert, error) {
			r, err := api.AcknowledgeAlertWithResponse(c.Context(), args[0])
			if err := checkAnswer(r, err); err != nil {
				return nil, err
			}
			return r.JSON200, nil
		})
	}
	return c
}

func alertsSilence() *cobra.Command {
	var during time.Duration
	var reason string
	c := &cobra.Command{Use: "silence ID --for 2h [--reason TEXT]", Args: exit.ExactArgs(1),
		Short: "Keep notifications about an alert back for a while"}
	c.Flags().DurationVar(&during, "for", 0, "how long, as in 2h; at most 720h")
	c.Flags().StringVar(&reason, "reason", "", "why, for others to read")
	c.RunE = func(c *cobra.Command, args []string) error {
		if during <= 0 {
			return exit.AsUsageError(errors.New("a silence ends: say how long with --for, as in --for 2h"))
		}
		body := apiclient.AlertSilencePut{Until: time.Now().Add(during), Reason: nilIfZero(reason)}
		return onAlert(c, args[0], func(api *client) (*apiclient.Alert, error) {
			r, err := api.SilenceAlertWithResponse(c.Context(), args[0], body)
			if err := checkAnswer(r, err); err != nil {
				return nil, err
			}
			return r.JSON200, nil
		})
	}
	return c
}

func alertsUnsilence() *cobra.Command {
	c := &cobra.Command{Use: "unsilence ID", Args: exit.ExactArgs(1),
		Short: "Send notifications about an alert again"}
	c.RunE = func(c *cobra.Command, args []string) error {
		return onAlert(c, args[0], func(api *client) (*apiclient.Alert, error) {
			r, err := api.EndAlertSilenceWithResponse(c.Context(), args[0])
			if err := checkAnswer(r, err); err != nil {
				return nil, err
			}
			return r.JSON200, nil
		})
	}
	return c
}

// onAlert does something about one alert and shows it.
func onAlert(c *cobra.Command, id string,
	do func(*client) (*apiclient.Alert, error)) error {
	if _, err := uuid.Parse(id); err != nil {
		return exit.AsUsageError(fmt.Errorf("%q is not an alert's id: nullops alerts lists them", id))
	}
	api, err := newClient()
	if err != nil {
		return err
	}
	a, err := do(api)
	if err != nil {
		return err
	}
	return printAlerts(c.OutOrStdout(), []apiclient.Alert{*a})
}
