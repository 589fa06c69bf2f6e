package server

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/cmd/nullops/internal/cli/output"
	"github.com/nullops/nullops/cmd/nullops/internal/exit"
)

// agentState shows the stored state of this machine's agent, for an operator on a node
// whose control plane is down.
func agentState() *cobra.Command {
	data := defaultSettings().Agent.Data
	c := &cobra.Command{
		Use: "state --agent.data=FOLDER", Args: exit.ExactArgs(0),
		Short: "Show the agent's stored state: deployments, their steps and history",
		Long: "Show the agent's stored state: deployments, their steps and history. It reads the\n" +
			"data folder only, whether an agent is running or not. --json has the whole\n" +
			"configuration too. No secret is in it, as none is on the node's disk.",
	}
	c.Flags().StringVar(&data, "agent.data", data, "the agent's data folder")
	asJSON := output.JSONFlag[agent.StateDump](c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		if !filepath.IsAbs(data) {
			return exit.AsUsageError(errors.New("--agent.data: give an absolute path"))
		}
		k, err := agent.ReadStateDump(data)
		if err != nil {
			return err
		}
		if asJSON.Wanted() {
			return asJSON.Print(c.OutOrStdout(), k)
		}
		return printKept(c.OutOrStdout(), k)
	}
	return c
}

func printKept(w io.Writer, k agent.StateDump) error {
	rows := [][]string{{"DEPLOYMENT", "ID", "PROJECT", "VERSION", "PHASE", "STEP", "STATUS"}}
	for _, d := range k.Deployments {
		row := []string{"", d.ID, "", "", string(d.Phase), "", ""}
		if g := d.Goal; g != nil {
			row[0], row[2], row[3] = g.Context.Name, g.Context.Project, fmt.Sprintf("v%d", g.Version)
		}
		for _, s := range d.Steps {
			row[5], row[6] = string(s.Key), string(s.Status)
			rows, row = append(rows, row), make([]string, len(row))
		}
		if len(d.Steps) == 0 {
			rows = append(rows, row)
		}
	}
	if err := output.PrintTable(w, rows); err != nil {
		return err
	}
	fmt.Fprintln(w)
	rows = [][]string{{"AGO", "DEPLOYMENT", "STEP", "BECAME", "WHY"}}
	for _, e := range k.History {
		became := string(e.Phase)
		if e.Step != "" {
			became = string(e.Status)
		}
		rows = append(rows,
			[]string{output.FormatAge(e.At), e.Deployment, string(e.Step), became, e.Message})
	}
	if err := output.PrintTable(w, rows); err != nil {
		return err
	}
	for _, path := range k.Damaged {
		fmt.Fprintf(w, "a damaged journal was put aside: %s\n", path)
	}
	return nil
}
