package cli

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/nullops/nullops/cmd/nullops/internal/cli/output"
	"github.com/nullops/nullops/cmd/nullops/internal/exit"
	"github.com/nullops/nullops/controlplane/apiclient"
)

func checkCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "check DEPLOYMENT", Args: exit.ExactArgs(1),
		Short: "Have plugins check whether what they made is still there",
		Long: "Calls the check action of each plugin of the deployment that declares it, and waits\n" +
			"for the last. Nothing is changed. The exit code is 5 when something is not as it was made.",
	}
	asJSON := output.JSONFlag[apiclient.DeploymentChecks](c)
	return onDeployment(c, func(
		c *cobra.Command, api *client, d apiclient.Deployment, _ []string,
	) error {
		r, err := api.CheckDeploymentWithResponse(c.Context(), d.Id)
		if err := checkAnswer(r, err); err != nil {
			return err
		}
		if asJSON.Wanted() {
			err = asJSON.Print(c.OutOrStdout(), *r.JSON200)
		} else {
			err = printStepChecks(c.OutOrStdout(), d.Name, *r.JSON200)
		}
		if err == nil && !r.JSON200.Ok {
			err = exit.WithCode(exit.ErrSilent, exit.NotReady)
		}
		return err
	})
}

func printStepChecks(w io.Writer, name string, all apiclient.DeploymentChecks) error {
	if len(all.Steps) == 0 {
		_, err := fmt.Fprintf(w, "%s: no plugin of it declares the action check\n", name)
		return err
	}
	rows := [][]string{{"STEP", "RESULT", "TOOK", "SAYS"}}
	for _, s := range all.Steps {
		result := "ok"
		if !s.Ok {
			result = valueOrZero(s.Code)
		}
		rows = append(rows, []string{s.Step, result, secondsText(s.Seconds), valueOrZero(s.Message)})
		if !s.Ok {
			for _, line := range valueOrZero(s.Log) {
				rows = append(rows, []string{"", "", "", "| " + line})
			}
		}
	}
	return output.PrintTable(w, rows)
}
