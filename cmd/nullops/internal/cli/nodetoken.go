package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nullops/nullops/cmd/nullops/internal/cli/output"
	"github.com/nullops/nullops/cmd/nullops/internal/exit"
	"github.com/nullops/nullops/controlplane/apiclient"
)

func nodeTokenCommand() *cobra.Command {
	c := &cobra.Command{Use: "token",
		Short: "Manage provisioning tokens, each of which enrols many machines"}
	c.AddCommand(nodeTokenCreate(), nodeTokenList(), nodeTokenRevoke())
	return c
}

// nodeTokenOptions are the flags of 'node token create'.
type nodeTokenOptions struct {
	env, template, name, description string
	labels, taints                   []string
	uses, hours                      int
	json                             output.JSON[apiclient.ProvisioningTokenCreated]
}

func nodeTokenCreate() *cobra.Command {
	var o nodeTokenOptions
	c := &cobra.Command{
		Use: "create --env ENV --uses N [--label KEY=VALUE]… [--taint KEY[=VALUE]:EFFECT]…",
		Short: "Create a provisioning token; prints it once, with the line to run on each " +
			"machine",
		Long: "Each machine that starts the agent with this line becomes a node of its own, with\n" +
			"these labels and taints, until the token has expired or is used up. Nodes are called\n" +
			"as their machines, or by --name: {hostname} and {n}, a number, are filled in.",
		Args: exit.ExactArgs(0),
	}
	f := c.Flags()
	f.StringVar(&o.env, "env", "", "environment the nodes belong to")
	f.IntVar(&o.uses, "uses", 0, "how many machines it enrols at most")
	f.IntVar(&o.hours, "hours", 24, "how long it enrols machines")
	f.StringVar(&o.template, "template", "", "node template to follow")
	f.StringArrayVar(&o.labels, "label", nil, "label of the nodes: KEY=VALUE, or KEY")
	f.StringArrayVar(&o.taints, "taint", nil, "taint of the nodes: KEY[=VALUE]:EFFECT")
	f.StringVar(&o.name, "name", "", "pattern of the nodes' names, such as gpu-{n}")
	f.StringVar(&o.description, "description", "", "what the token is for")
	o.json = output.JSONFlag[apiclient.ProvisioningTokenCreated](c)
	_ = c.MarkFlagRequired("env") // fails for a flag that does not exist
	_ = c.MarkFlagRequired("uses")
	c.RunE = func(c *cobra.Command, _ []string) error { return o.create(c) }
	return c
}

func (o nodeTokenOptions) create(c *cobra.Command) error {
	put := apiclient.NodePut{}
	edit := nodeEdit{labels: o.labels, taints: o.taints}
	if err := edit.apply(&put, func(string) bool { return false }); err != nil {
		return err
	}
	api, err := newClient()
	if err != nil {
		return err
	}
	r, err := api.CreateProvisioningTokenWithResponse(c.Context(), nil,
		apiclient.ProvisioningTokenCreate{Environment: o.env, MaxUses: o.uses,
			ExpiresInHours: &o.hours, Template: nilIfZero(o.template), NamePattern: nilIfZero(o.name),
			Description: nilIfZero(o.description), Settings: tidySettings(put.Settings)})
	if err := checkAnswer(r, err); err != nil {
		return err
	}
	if o.json.Wanted() {
		return o.json.Print(c.OutOrStdout(), *r.JSON201)
	}
	t := r.JSON201.ProvisioningToken
	_, err = fmt.Fprintf(c.OutOrStdout(), "Provisioning token %s enrols up to %d machines until %s. "+
		"Run this on each machine; the token is shown only now:\n\n%s\n", t.Prefix, t.MaxUses,
		t.ExpiresAt.Local().Format("2006-01-02 15:04"), r.JSON201.Command)
	return err
}

func nodeTokenList() *cobra.Command {
	c := &cobra.Command{Use: "list", Short: "List provisioning tokens", Args: exit.ExactArgs(0)}
	asJSON := output.JSONFlag[[]apiclient.ProvisioningToken](c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		api, err := newClient()
		if err != nil {
			return err
		}
		all := []apiclient.ProvisioningToken{}
		limit := 500
		for p := (apiclient.ListProvisioningTokensParams{Limit: &limit}); ; {
			r, err := api.ListProvisioningTokensWithResponse(c.Context(), &p)
			if err := checkAnswer(r, err); err != nil {
				return err
			}
			all = append(all, r.JSON200.Items...)
			if p.Cursor = r.JSON200.NextCursor; valueOrZero(p.Cursor) == "" {
				break
			}
		}
		if asJSON.Wanted() {
			return asJSON.Print(c.OutOrStdout(), all)
		}
		rows := [][]string{{"TOKEN", "ENVIRONMENT", "STATUS", "USES", "ENDS", "NAMES", "SETTINGS",
			"DESCRIPTION"}}
		for _, t := range all {
			rows = append(rows, []string{t.Prefix, t.Environment, string(t.Status),
				fmt.Sprintf("%d of %d", t.Uses, t.MaxUses),
				t.ExpiresAt.Local().Format("2006-01-02 15:04"), t.NamePattern, provisionedSettings(t),
				valueOrZero(t.Description)})
		}
		return output.PrintTable(c.OutOrStdout(), rows)
	}
	return c
}

// provisionedSettings is what the nodes of a token get, in one cell.
func provisionedSettings(t apiclient.ProvisioningToken) string {
	var parts []string
	if t.Template != nil {
		parts = append(parts, "template "+*t.Template)
	}
	s := valueOrZero(t.Settings)
	for _, key := range slices.Sorted(maps.Keys(valueOrZero(s.Labels))) {
		parts = append(parts, key+"="+(*s.Labels)[key])
	}
	for _, taint := range valueOrZero(s.Taints) {
		parts = append(parts, taintText(taint))
	}
	return strings.Join(parts, " ")
}

func nodeTokenRevoke() *cobra.Command {
	return &cobra.Command{
		Use: "revoke TOKEN", Args: exit.ExactArgs(1),
		Short: "End a provisioning token, by its first column in the list; its nodes stay",
		RunE: func(c *cobra.Command, args []string) error {
			api, err := newClient()
			if err != nil {
				return err
			}
			r, err := api.RevokeProvisioningTokenWithResponse(c.Context(), args[0])
			if err := checkAnswer(r, err); err != nil {
				return err
			}
			_, err = fmt.Fprintf(c.OutOrStdout(), "%s: revoked\n", args[0])
			return err
		},
	}
}
