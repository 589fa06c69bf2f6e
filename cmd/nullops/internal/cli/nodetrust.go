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
	"github.com/nullops/nullops/internal/quantity"
	"github.com/nullops/nullops/internal/wait"
)

func nodeReject() *cobra.Command {
	return &cobra.Command{
		Use: "reject NAME THUMBPRINT", Args: exit.ExactArgs(2),
		Short: "Reject a node's new certificate; the trusted one stays",
		RunE: func(c *cobra.Command, args []string) error {
			api, err := newClient()
			if err != nil {
				return err
			}
			r, err := api.RejectNodeWithResponse(c.Context(), args[0],
				apiclient.NodeApprove{Thumbprint: args[1]})
			return checkAnswer(r, err)
		},
	}
}

func nodeShow() *cobra.Command {
	c := &cobra.Command{
		Use: "show NAME", Args: exit.ExactArgs(1),
		Short: "Show a node: its state and why, what it is, its checks, and what happened to it",
	}
	asJSON := output.JSONFlag[apiclient.Node](c)
	c.RunE = func(c *cobra.Command, args []string) error {
		api, err := newClient()
		if err != nil {
			return err
		}
		r, err := api.GetNodeWithResponse(c.Context(), args[0])
		if err := checkAnswer(r, err); err != nil {
			return err
		}
		if asJSON.Wanted() {
			return asJSON.Print(c.OutOrStdout(), *r.JSON200)
		}
		limit := 15
		events, err := api.ListNodeEventsWithResponse(c.Context(), args[0],
			&apiclient.ListNodeEventsParams{Limit: &limit})
		if err := checkAnswer(events, err); err != nil {
			return err
		}
		return printNode(c.OutOrStdout(), *r.JSON200, events.JSON200.Items)
	}
	return c
}

// nodeWay is where the node is reached.
func nodeWay(n apiclient.Node) string {
	return "address " + addressColumn(n)
}

func printNode(w io.Writer, n apiclient.Node, events []apiclient.NodeEvent) error {
	fmt.Fprintf(w, "%s  %s  %s\n", n.Name, nodeState(n),
		output.SanitizeText(valueOrZero(n.StatusDetail)))
	fmt.Fprintf(w, "environment %s, %s, build %s, %d deployments, in this state for %s\n",
		n.Environment, nodeWay(n), output.SanitizeText(valueOrZero(n.Build)), n.Deployments,
		output.FormatAge(n.Since))
	if n.RevocationPending {
		fmt.Fprintln(w, "revocation pending: the agent refuses the old token as soon as it is back")
	}
	printTrust(w, n)
	printImages(w, n)
	fmt.Fprintln(w)
	if err := printFacts(w, n); err != nil {
		return err
	}
	fmt.Fprintln(w)
	rows := [][]string{{"AT", "WHAT", "DETAIL"}}
	for _, e := range events {
		rows = append(rows, []string{e.At.Local().Format(time.DateTime), e.Kind, valueOrZero(e.Detail)})
	}
	return output.PrintTable(w, rows)
}

// printTrust shows the certificates as the agent prints its own.
func printTrust(w io.Writer, n apiclient.Node) {
	for _, line := range []struct {
		print *string
		what  string
	}{
		{n.Thumbprint, "trusted"}, {n.ExpectedThumbprint, "expected"},
		{n.PendingThumbprint, "shown now"}, {n.RejectedThumbprint, "rejected"},
	} {
		if line.print != nil {
			fmt.Fprintf(w, "%-10s %s\n", line.what, *line.print)
		}
	}
	switch {
	case n.PendingThumbprint == nil:
	case valueOrZero(n.PendingProofValid):
		fmt.Fprintf(w, "It proved the token. Compare it with what the agent prints, then:\n"+
			"  nullops node approve %s %s\n  nullops node reject %s %s\n",
			n.Name, *n.PendingThumbprint, n.Name, *n.PendingThumbprint)
	default:
		fmt.Fprintln(w, "It did NOT prove the token: do not trust it, and rotate the token.")
	}
}

// nodeState is the state of the link and that of a drain.
func nodeState(n apiclient.Node) string {
	if n.Drain == nil {
		return string(n.Status)
	}
	return string(n.Status) + ", " + string(n.Drain.Status)
}

func nodeDrain() *cobra.Command {
	var within time.Duration
	c := &cobra.Command{
		Use: "drain NAME", Args: exit.ExactArgs(1),
		Short: "Place nothing new on a node, and wait until it is empty",
		Long: "Place nothing new on a node, and wait until it is empty. Deployments there keep running " +
			"until they end or somebody removes them. Ctrl-C ends the waiting, not the drain.",
	}
	asJSON := output.JSONFlag[apiclient.NodeDrain](c)
	noWait := c.Flags().Bool("no-wait", false, "return as soon as it is under way")
	move := c.Flags().Bool("move", false, "move ready deployments to other nodes")
	c.Flags().DurationVar(&within, "within", 0, "when it should be done, such as 2h; then it is "+
		"shown as overdue")
	c.RunE = func(c *cobra.Command, args []string) error {
		api, err := newClient()
		if err != nil {
			return err
		}
		body := apiclient.NodeDrainStart{Move: nilIfZero(*move)}
		if within != 0 {
			at := time.Now().Add(within)
			body.Deadline = &at
		}
		r, err := api.DrainNodeWithResponse(c.Context(), args[0], body)
		if err := checkAnswer(r, err); err != nil {
			return err
		}
		return api.awaitDrain(c.Context(), c.OutOrStdout(), *r.JSON200, *noWait, asJSON)
	}
	return c
}

// awaitDrain prints what stays whenever it changes, until nothing does.
func (c *client) awaitDrain(
	ctx context.Context, w io.Writer, d apiclient.NodeDrain, noWait bool,
	asJSON output.JSON[apiclient.NodeDrain],
) error {
	const askEvery = 2 * time.Second
	for shown := -1; ; {
		over := noWait || d.Drain == nil || d.Drain.Status == apiclient.DrainStatusDrained
		if asJSON.Wanted() && over {
			return asJSON.Print(w, d)
		}
		if !asJSON.Wanted() && len(d.Staying) != shown {
			shown = len(d.Staying)
			if err := printStaying(w, d); err != nil {
				return err
			}
		}
		if over {
			return nil
		}
		if err := wait.Sleep(ctx, askEvery); err != nil {
			return err
		}
		r, err := c.GetNodeDrainWithResponse(ctx, d.Node)
		if err := checkAnswer(r, err); err != nil {
			return err
		}
		d = *r.JSON200
	}
}

func printStaying(w io.Writer, d apiclient.NodeDrain) error {
	if len(d.Staying) == 0 {
		_, err := fmt.Fprintf(w, "%s: nothing is left on it\n", d.Node)
		return err
	}
	until := "not known: something there has no end of its own"
	if d.EndsAt != nil {
		until = d.EndsAt.Local().Format(time.DateTime) + ", if nobody uses what is there"
	}
	fmt.Fprintf(w, "%s: %d deployments stay; empty %s\n", d.Node, len(d.Staying), until)
	rows := [][]string{{"DEPLOYMENT", "PROJECT", "STATE", "MADE BY", "ENDS"}}
	for _, s := range d.Staying {
		ends := "never"
		if s.EndsAt != nil {
			ends = s.EndsAt.Local().Format(time.DateTime)
		}
		rows = append(rows, []string{s.Name, s.Project, string(s.Status), s.CreatedBy, ends})
	}
	if err := output.PrintTable(w, rows); err != nil {
		return err
	}
	for _, s := range d.Staying {
		if s.StaysBecause == nil {
			continue
		}
		if _, err := fmt.Fprintf(w, "%s stays: %s\n", s.Name,
			output.SanitizeText(*s.StaysBecause)); err != nil {
			return err
		}
	}
	return nil
}

func nodeRemove() *cobra.Command {
	c := &cobra.Command{
		Use: "remove NAME", Args: exit.ExactArgs(1),
		Short: "Remove a node that has no deployments",
	}
	force := c.Flags().Bool("force", false, "give up everything on a machine that will not come "+
		"back; what was left is recorded")
	var anyway bool
	anywayFlag(c, &anyway, "URLs of its deployments")
	c.RunE = func(c *cobra.Command, args []string) error {
		api, err := newClient()
		if err != nil {
			return err
		}
		if !*force {
			r, err := api.DeleteNodeWithResponse(c.Context(), args[0])
			if err := checkAnswer(r, err); err != nil {
				return err
			}
			_, err = fmt.Fprintf(c.OutOrStdout(), "%s: removed\n", args[0])
			return err
		}
		r, err := api.ForgetNodeWithResponse(c.Context(), args[0],
			&apiclient.ForgetNodeParams{Anyway: nilIfZero(anyway)})
		if err := checkAnswer(r, err); err != nil {
			return err
		}
		return printForgotten(c.OutOrStdout(), []apiclient.ForgottenNode{*r.JSON200})
	}
	return c
}

func nodeForgotten() *cobra.Command {
	c := &cobra.Command{
		Use: "forgotten", Args: exit.ExactArgs(0),
		Short: "List nodes that were removed by force, and what was left on them",
	}
	asJSON := output.JSONFlag[[]apiclient.ForgottenNode](c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		api, err := newClient()
		if err != nil {
			return err
		}
		r, err := api.ListForgottenNodesWithResponse(c.Context(),
			&apiclient.ListForgottenNodesParams{})
		if err := checkAnswer(r, err); err != nil {
			return err
		}
		if asJSON.Wanted() {
			return asJSON.Print(c.OutOrStdout(), r.JSON200.Items)
		}
		return printForgotten(c.OutOrStdout(), r.JSON200.Items)
	}
	return c
}

func printForgotten(w io.Writer, all []apiclient.ForgottenNode) error {
	rows := [][]string{{"NODE", "ADDRESS", "FORGOTTEN", "BY", "DEPLOYMENT", "WAS", "LEFT"}}
	for _, n := range all {
		start := []string{n.Name, n.Address, n.At.Local().Format(time.DateTime), n.By}
		if len(n.Left) == 0 {
			rows = append(rows, append(start, "none", "", ""))
		}
		for _, l := range n.Left {
			for _, what := range l.What {
				rows = append(rows, append(start[:4:4], l.Name, string(l.Status), what))
			}
		}
	}
	return output.PrintTable(w, rows)
}

// printImages prints how much disk images take, and what was removed.
func printImages(w io.Writer, n apiclient.Node) {
	if n.Vitals == nil || n.Vitals.Images == nil {
		return
	}
	i := n.Vitals.Images
	fmt.Fprintf(w, "images: %d, %s; unused ones are removed below %s of free disk (free: %s)\n",
		i.Count, quantity.FormatBytes(i.Bytes), quantity.FormatBytes(i.Floor),
		quantity.FormatBytes(n.Vitals.DiskFree))
	if i.Removed > 0 {
		fmt.Fprintf(w, "images removed since the agent started: %d, %s\n", i.Removed,
			quantity.FormatBytes(i.Freed))
	}
}
