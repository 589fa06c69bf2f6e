package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/nullops/nullops/cmd/nullops/internal/cli/output"
	"github.com/nullops/nullops/cmd/nullops/internal/exit"
	"github.com/nullops/nullops/controlplane/apiclient"
)

func nodeCommand() *cobra.Command {
	c := &cobra.Command{Use: "node", Short: "Add and manage nodes"}
	c.AddCommand(nodeAdd(), nodeSet(), nodeList(), nodeShow(), nodeApprove(), nodeReject(),
		nodeRotate(), nodeDrain(), nodeRemove(), nodeForgotten(),
		nodeUnknown(), nodeAdopt(), nodePurge(), nodeRecreate(), nodeProvision(), nodeAttempts(),
		nodeUpgrade(), nodeGiveUp(), nodeTokenCommand(),
		nodeAct("recover", "Command a node again after the database was restored from a backup",
			func(cmd *cobra.Command, api *client, name string) (answer, error) {
				return api.RecoverNodeWithResponse(cmd.Context(), name)
			}),
		nodeAct("enable", "Let a node take deployments again",
			func(cmd *cobra.Command, api *client, name string) (answer, error) {
				return api.EnableNodeWithResponse(cmd.Context(), name)
			}),
		nodeDisable(), nodeRevoke(),
		nodeAct("undrain", "End a drain: let a node take deployments again",
			func(cmd *cobra.Command, api *client, name string) (answer, error) {
				return api.UndrainNodeWithResponse(cmd.Context(), name)
			}))
	return c
}

func nodeDisable() *cobra.Command {
	var anyway bool
	c := nodeAct("disable", "Disconnect a node; what runs on it keeps running",
		func(cmd *cobra.Command, api *client, name string) (answer, error) {
			return api.DisableNodeWithResponse(cmd.Context(), name,
				&apiclient.DisableNodeParams{Anyway: nilIfZero(anyway)})
		})
	anywayFlag(c, &anyway, "URLs of its deployments")
	return c
}

func nodeRevoke() *cobra.Command {
	var anyway bool
	c := nodeAct("revoke", "Revoke a node's token and disconnect it",
		func(cmd *cobra.Command, api *client, name string) (answer, error) {
			return api.RevokeNodeTokenWithResponse(cmd.Context(), name,
				&apiclient.RevokeNodeTokenParams{Anyway: nilIfZero(anyway)})
		})
	anywayFlag(c, &anyway, "URLs of its deployments")
	return c
}

func nodeAdd() *cobra.Command {
	var env, addr, connect, thumbprint string
	var ssh sshFlags
	var cluster bool
	c := &cobra.Command{
		Use:   "add NAME --env ENV (--address ADDRESS | --connect agent | --ssh USER@HOST)",
		Args:  exit.ExactArgs(1),
		Short: "Add a node; prints its token once, and the line to run there",
		Long: "Without --ssh, prints the line to run on the machine. With it, the control plane\n" +
			"signs in there, starts the agent, and shows what it does.\n" +
			"With --connect agent, the agent opens the connections: for machines behind NAT.\n" +
			"With --kubernetes, prints the line that makes a Kubernetes cluster a node.",
	}
	ssh.register(c)
	asJSON := output.JSONFlag[apiclient.NodeEnrolment](c)
	c.Flags().StringVar(&env, "env", "", "environment the node belongs to")
	c.Flags().StringVar(&addr, "address", "",
		"host:port where its agent will listen, or a wss:// URL (with --ssh: HOST:5000)")
	c.Flags().StringVar(&connect, "connect", "",
		"which end opens the connections: control-plane, or agent")
	c.Flags().StringVar(&thumbprint, "thumbprint", "", "expected certificate thumbprint, if known")
	c.Flags().BoolVar(&cluster, "kubernetes", false, "the node is a Kubernetes cluster")
	_ = c.MarkFlagRequired("env")
	c.MarkFlagsOneRequired("address", "ssh", "connect")
	c.MarkFlagsMutuallyExclusive("connect", "ssh")
	c.MarkFlagsMutuallyExclusive("kubernetes", "ssh")
	c.RunE = func(c *cobra.Command, args []string) error {
		api, err := newClient()
		if err != nil {
			return err
		}
		body := apiclient.NodeCreate{Name: args[0], Environment: env, Address: addr,
			Connect: nilIfZero(apiclient.NodeConnect(connect))}
		if thumbprint != "" {
			body.Thumbprint = &thumbprint
		}
		if ssh.target != "" {
			return addOverSSH(c, api, &ssh, body)
		}
		r, err := api.CreateNodeWithResponse(c.Context(), nil, body)
		if err := checkAnswer(r, err); err != nil {
			return err
		}
		return printEnrolment(c, *r.JSON201, asJSON, cluster)
	}
	return c
}

func nodeRotate() *cobra.Command {
	c := &cobra.Command{
		Use: "rotate NAME", Args: exit.ExactArgs(1),
		Short: "Create a new token; the old one is refused at once",
	}
	var anyway bool
	anywayFlag(c, &anyway, "URLs of its deployments")
	asJSON := output.JSONFlag[apiclient.NodeEnrolment](c)
	c.RunE = func(c *cobra.Command, args []string) error {
		api, err := newClient()
		if err != nil {
			return err
		}
		r, err := api.RotateNodeTokenWithResponse(c.Context(), args[0],
			&apiclient.RotateNodeTokenParams{Anyway: nilIfZero(anyway)})
		if err := checkAnswer(r, err); err != nil {
			return err
		}
		known := r.JSON201.Node.Inventory
		return printEnrolment(c, *r.JSON201, asJSON, known != nil && known.Cluster != nil)
	}
	return c
}

func printEnrolment(c *cobra.Command, e apiclient.NodeEnrolment,
	asJSON output.JSON[apiclient.NodeEnrolment], cluster bool) error {
	if asJSON.Wanted() {
		return asJSON.Print(c.OutOrStdout(), e)
	}
	if cluster {
		return printClusterEnrolment(c.OutOrStdout(), e)
	}
	_, err := fmt.Fprintf(c.OutOrStdout(), "Node %s. Run this on the machine; the token is shown "+
		"only now:\n\n%s\n\nThe agent prints its certificate's thumbprint: compare it with "+
		"'nullops node list'.\n", e.Node.Name, e.Command)
	return err
}

func nodeList() *cobra.Command {
	c := &cobra.Command{Use: "list", Short: "List nodes", Args: exit.ExactArgs(0)}
	asJSON := output.JSONFlag[[]apiclient.Node](c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		api, err := newClient()
		if err != nil {
			return err
		}
		all, err := api.allNodes(c.Context())
		if err != nil {
			return err
		}
		if asJSON.Wanted() {
			return asJSON.Print(c.OutOrStdout(), all)
		}
		rows := [][]string{{"NAME", "ENVIRONMENT", "ADDRESS", "STATE", "DETAIL", "DEPLOYMENTS",
			"RUNS ON", "BUILD", "THUMBPRINT"}}
		for _, n := range all {
			rows = append(rows, []string{n.Name, n.Environment, addressColumn(n), nodeState(n),
				valueOrZero(n.StatusDetail), fmt.Sprint(n.Deployments), engineName(n.Inventory),
				valueOrZero(n.Build), valueOrZero(n.Thumbprint)})
		}
		return output.PrintTable(c.OutOrStdout(), rows)
	}
	return c
}

func addressColumn(n apiclient.Node) string {
	if valueOrZero(n.Connect) == apiclient.NodeConnectAgent {
		return "(agent connects)"
	}
	return n.Address
}

func (c *client) allNodes(ctx context.Context) (all []apiclient.Node, err error) {
	limit := 500
	for p := (apiclient.ListNodesParams{Limit: &limit}); ; {
		r, err := c.ListNodesWithResponse(ctx, &p)
		if err := checkAnswer(r, err); err != nil {
			return nil, err
		}
		all = append(all, r.JSON200.Items...)
		if valueOrZero(r.JSON200.NextCursor) == "" {
			return all, nil
		}
		p.Cursor = r.JSON200.NextCursor
	}
}

func nodeApprove() *cobra.Command {
	return &cobra.Command{
		Use: "approve NAME THUMBPRINT", Args: exit.ExactArgs(2),
		Short: "Trust a node's new certificate, after comparing its thumbprint",
		RunE: func(c *cobra.Command, args []string) error {
			api, err := newClient()
			if err != nil {
				return err
			}
			r, err := api.ApproveNodeWithResponse(c.Context(), args[0],
				apiclient.NodeApprove{Thumbprint: args[1]})
			return checkAnswer(r, err)
		},
	}
}

func nodeAct(verb, short string,
	act func(*cobra.Command, *client, string) (answer, error)) *cobra.Command {
	return &cobra.Command{
		Use: verb + " NAME", Short: short, Args: exit.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			api, err := newClient()
			if err != nil {
				return err
			}
			r, err := act(c, api, args[0])
			if err := checkAnswer(r, err); err != nil {
				return err
			}
			_, err = fmt.Fprintf(c.OutOrStdout(), "%s: done\n", args[0])
			return err
		},
	}
}
