package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/nullops/nullops/cmd/nullops/internal/cli/output"
	"github.com/nullops/nullops/cmd/nullops/internal/exit"
	"github.com/nullops/nullops/controlplane/apiclient"
	"github.com/nullops/nullops/internal/quantity"
)

// runPreflight prints what creating would check, and creates nothing.
func (c *client) runPreflight(ctx context.Context, out io.Writer, body apiclient.DeploymentCreate,
	asJSON output.JSON[apiclient.Preflight]) error {
	r, err := c.PreflightDeploymentWithResponse(ctx, body)
	if err := checkAnswer(r, err); err != nil {
		return err
	}
	if asJSON.Wanted() {
		err = asJSON.Print(out, *r.JSON200)
	} else {
		err = printPreflight(out, *r.JSON200)
	}
	if err == nil && !r.JSON200.Ok {
		return exit.WithCode(exit.ErrSilent, exit.Refused)
	}
	return err
}

func printPreflight(out io.Writer, p apiclient.Preflight) error {
	rows := [][]string{{"CHECK", "OF", "STATE", "RESULT"}}
	for _, c := range p.Checks {
		text := c.Message
		if remedy := valueOrZero(c.Remedy); remedy != "" {
			text += " " + remedy
		}
		rows = append(rows, []string{c.Id, valueOrZero(c.Subject), string(c.State), text})
	}
	if err := output.PrintTable(out, rows); err != nil {
		return err
	}
	if len(p.Nodes) > 0 {
		fmt.Fprintln(out)
		rows = [][]string{{"NODE", "FITS", "CPU FREE", "MEMORY FREE", "REASON"}}
		for _, n := range p.Nodes {
			cpu, memory := "–", "–" // they are known only when no node has room
			if n.CpuFree != nil && n.MemoryFree != nil {
				cpu, memory = quantity.FormatNumber(*n.CpuFree), quantity.FormatBytes(*n.MemoryFree)
			}
			fits := "yes"
			switch {
			case !n.Fits:
				fits = "no"
			case valueOrZero(n.Asks):
				fits = "if it claims it"
			}
			rows = append(rows, []string{n.Node, fits, cpu, memory, valueOrZero(n.Reason)})
		}
		if err := output.PrintTable(out, rows); err != nil {
			return err
		}
	}
	verdict := "It can be created. Nothing was."
	if !p.Ok {
		verdict = "Creating it would be refused. Nothing was created."
	}
	fmt.Fprintln(out, "\n"+verdict)
	return nil
}
