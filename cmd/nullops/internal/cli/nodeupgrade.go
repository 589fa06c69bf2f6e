package cli

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/nullops/nullops/cmd/nullops/internal/exit"
	"github.com/nullops/nullops/controlplane/apiclient"
)

func nodeUpgrade() *cobra.Command {
	var all bool
	c := &cobra.Command{
		Use: "upgrade NODE | --all", Args: cobra.MaximumNArgs(1),
		Short: "Replace a node's agent by one of the control plane's release; services keep running",
		Long: "Replace a node's agent by one of the control plane's release; services keep running.\n" +
			"--all does that on every node whose agent is of another release.",
	}
	c.Flags().BoolVar(&all, "all", false, "every node whose agent is of another release")
	c.RunE = func(c *cobra.Command, args []string) error {
		if all == (len(args) == 1) {
			return exit.AsUsageError(errors.New("give one node, or --all"))
		}
		api, err := newClient()
		if err != nil {
			return err
		}
		if all {
			return api.upgradeAll(c.Context(), c.OutOrStdout())
		}
		return api.upgradeNode(c.Context(), c.OutOrStdout(), args[0])
	}
	return c
}

// upgradeAll goes on after a node that cannot be upgraded.
func (c *client) upgradeAll(ctx context.Context, out io.Writer) error {
	nodes, err := c.allNodes(ctx)
	if err != nil {
		return err
	}
	for _, n := range nodes {
		if n.Status != apiclient.NodeStatusIncompatible {
			continue
		}
		if failed := c.upgradeNode(ctx, out, n.Name); failed != nil {
			err = errors.Join(err, fmt.Errorf("node %s: %w", n.Name, failed))
		}
	}
	return err
}

func (c *client) upgradeNode(ctx context.Context, out io.Writer, name string) error {
	r, err := c.UpgradeNodeWithResponse(ctx, name)
	if err := checkAnswer(r, err); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%s: its agent is being replaced by %s; "+
		"'nullops node show %s' tells how it goes\n", name, r.JSON202.Image, name)
	return err
}
