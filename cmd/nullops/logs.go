package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/nullops/nullops/controlplane/apiclient"
)

func logsCommand() *cobra.Command {
	var env string
	var follow bool
	var tail int
	c := &cobra.Command{
		Use: "logs DEPLOYMENT STEP", Args: exactArgs(2),
		Short: "Print the log of a service, or of a plugin step of the latest run",
	}
	c.Flags().StringVar(&env, "env", "", "environment, if the name exists in several")
	c.Flags().BoolVarP(&follow, "follow", "f", false, "go on printing (services)")
	c.Flags().IntVar(&tail, "tail", 500, "how many lines back to start (services)")
	c.RunE = func(c *cobra.Command, args []string) error {
		api, err := newClient()
		if err != nil {
			return err
		}
		d, err := api.findDeployment(c.Context(), args[0], env)
		if err != nil {
			return err
		}
		for _, s := range d.Services {
			if s.Step == args[1] {
				return api.serviceLog(c, d.Id, s.Step, follow, tail)
			}
		}
		return api.stepLog(c, d, args[1])
	}
	return c
}

func (c *client) serviceLog(cmd *cobra.Command, id, step string, follow bool, tail int) error {
	query := url.Values{"follow": {strconv.FormatBool(follow)}, "tail": {strconv.Itoa(tail)}}
	return c.follow(cmd.Context(), "/api/v1/deployments/"+id+"/services/"+step+"/logs", query,
		func(e sse) (bool, error) {
			if e.Event == "end" {
				return true, nil
			}
			var l apiclient.ServiceLogLine
			if err := json.Unmarshal([]byte(e.Data), &l); err != nil {
				return false, fmt.Errorf("read log line: %w", err)
			}
			_, err := fmt.Fprintln(cmd.OutOrStdout(), visible(l.Text))
			return false, err
		})
}

// stepLog prints what is stored of a plugin's log, page by page.
func (c *client) stepLog(cmd *cobra.Command, d apiclient.Deployment, step string) error {
	var after int64
	for {
		r, err := c.ListStepLogWithResponse(cmd.Context(), d.Id, d.Run, step,
			&apiclient.ListStepLogParams{After: &after})
		if err := answered(r, err); err != nil {
			return err
		}
		printLines(cmd.OutOrStdout(), r.JSON200.Items)
		if !r.JSON200.More || len(r.JSON200.Items) == 0 {
			return nil
		}
		after = r.JSON200.Items[len(r.JSON200.Items)-1].Number
	}
}

func printLines(w io.Writer, lines []apiclient.LogLine) {
	for _, l := range lines {
		if n := deref(l.Dropped); n > 0 {
			fmt.Fprintf(w, "… %d lines left out\n", n)
		}
		fmt.Fprintln(w, visible(l.Text))
	}
}
