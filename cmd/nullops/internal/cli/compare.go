package cli

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/nullops/nullops/cmd/nullops/internal/cli/output"
	"github.com/nullops/nullops/cmd/nullops/internal/exit"
	"github.com/nullops/nullops/controlplane/apiclient"
	"github.com/nullops/nullops/internal/quantity"
)

func compareCommand() *cobra.Command {
	var env string
	var number int
	c := &cobra.Command{Use: "compare DEPLOYMENT", Args: exit.ExactArgs(1),
		Short: "Compare a run with the last good run of its project"}
	asJSON := output.JSONFlag[apiclient.RunComparison](c)
	c.Flags().StringVar(&env, "env", "", "environment, if the name exists in several")
	c.Flags().IntVar(&number, "run", 0, "the run; the latest by default")
	c.RunE = func(c *cobra.Command, args []string) error {
		api, err := newClient()
		if err != nil {
			return err
		}
		d, err := api.findDeployment(c.Context(), args[0], env)
		if err != nil {
			return err
		}
		if number == 0 {
			number = d.Run
		}
		r, err := api.CompareRunWithResponse(c.Context(), d.Id, number)
		if err := checkAnswer(r, err); err != nil {
			return err
		}
		if asJSON.Wanted() {
			return asJSON.Print(c.OutOrStdout(), *r.JSON200)
		}
		return printComparison(c.OutOrStdout(), *r.JSON200)
	}
	return c
}

func printComparison(w io.Writer, c apiclient.RunComparison) error {
	if c.Good == nil {
		fmt.Fprintln(w, "There is no good run of this project that you may see.")
		return nil
	}
	fmt.Fprintf(w, "%s, run %d, beside the last good one: %s in %s, run %d, %s ago\n",
		c.Run.Deployment.Name, c.Run.Number, c.Good.Deployment.Name, c.Good.Environment, c.Good.Number,
		output.FormatAge(c.Good.CreatedAt))
	rows := [][]string{{"", "GOOD", "THIS RUN"}}
	if c.Good.PipelineVersion != c.Run.PipelineVersion {
		rows = append(rows, []string{"pipeline", fmt.Sprintf("v%d", c.Good.PipelineVersion),
			fmt.Sprintf("v%d", c.Run.PipelineVersion)})
	}
	for _, v := range c.Versions {
		if !v.Same {
			rows = append(rows, []string{"version of " + v.Step, versionText(v.Good), versionText(v.Run)})
		}
	}
	for _, f := range c.Fields {
		rows = append(rows, []string{f.Path, jsonText(f.Good), jsonText(f.Run)})
	}
	if len(rows) == 1 {
		fmt.Fprintln(w, "Versions, pipeline and input are the same.")
	} else if err := output.PrintTable(w, rows); err != nil {
		return err
	}
	fmt.Fprintln(w)
	rows = [][]string{{"STEP", "GOOD", "THIS RUN", "DIFFERENCE"}}
	for _, s := range c.Steps {
		rows = append(rows, []string{s.Step, spanText(s.Good), spanText(s.Run), differenceText(s)})
	}
	return output.PrintTable(w, rows)
}

func versionText(v *apiclient.ServiceVersion) string {
	if v == nil {
		return "-"
	}
	if v.Tag == "" {
		return v.Digest
	}
	return v.Tag
}

// spanText is what a step came to, and how long it took.
func spanText(s *apiclient.ComparedSpan) string {
	switch {
	case s == nil:
		return "-"
	case s.Seconds == nil:
		return string(s.Status)
	case s.Result != nil:
		return fmt.Sprintf("%s, %s", *s.Result, secondsText(*s.Seconds))
	}
	return secondsText(*s.Seconds)
}

func differenceText(s apiclient.ComparedStep) string {
	if s.Good == nil || s.Run == nil || s.Good.Seconds == nil || s.Run.Seconds == nil {
		return ""
	}
	by := *s.Run.Seconds - *s.Good.Seconds
	if by < 0 {
		return "-" + secondsText(-by)
	}
	return "+" + secondsText(by)
}

func secondsText(seconds float64) string {
	return quantity.FormatElapsed(time.Duration(seconds * float64(time.Second)))
}
