package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/nullops/nullops/cmd/nullops/internal/cli/output"
	"github.com/nullops/nullops/cmd/nullops/internal/exit"
	"github.com/nullops/nullops/controlplane/apiclient"
)

func tokenCommand() *cobra.Command {
	c := &cobra.Command{Use: "token", Short: "Manage your API tokens and those of service users"}
	c.AddCommand(tokenListCommand(), tokenCreateCommand(), tokenRevokeCommand())
	return c
}

func tokenListCommand() *cobra.Command {
	var user string
	c := &cobra.Command{Use: "list",
		Short: "List tokens with scope and last use", Args: exit.ExactArgs(0)}
	c.Flags().StringVar(&user, "user", "", "tokens of this user, for admins; by default your own")
	asJSON := output.JSONFlag[[]apiclient.Token](c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		api, err := newClient()
		if err != nil {
			return err
		}
		all, err := api.listTokens(c, user)
		if err != nil {
			return err
		}
		if asJSON.Wanted() {
			return asJSON.Print(c.OutOrStdout(), all)
		}
		rows := [][]string{{"ID", "NAME", "PREFIX", "SCOPE", "LAST USED", "ENDS"}}
		for _, t := range all {
			rows = append(rows, tokenRow(t))
		}
		return output.PrintTable(c.OutOrStdout(), rows)
	}
	return c
}

func (c *client) listTokens(command *cobra.Command, user string) ([]apiclient.Token, error) {
	if user == "" {
		r, err := c.ListTokensWithResponse(command.Context())
		if err := checkAnswer(r, err); err != nil {
			return nil, err
		}
		return r.JSON200.Items, nil
	}
	r, err := c.ListUserTokensWithResponse(command.Context(), user)
	if err := checkAnswer(r, err); err != nil {
		return nil, err
	}
	return r.JSON200.Items, nil
}

func tokenRow(t apiclient.Token) []string {
	used, ends := "never", "when revoked"
	if t.LastUsedAt != nil {
		used = output.FormatAge(*t.LastUsedAt) + " ago"
	}
	if t.ExpiresAt != nil {
		ends = t.ExpiresAt.Local().Format("2006-01-02")
	}
	return []string{t.Id, t.Name, t.Prefix, string(t.Scope), used, ends}
}

func tokenCreateCommand() *cobra.Command {
	var user string
	var readOnly bool
	var days int
	c := &cobra.Command{
		Use: "create NAME --user SERVICE-USER", Args: exit.ExactArgs(1),
		Short: "Create a token for a service user; it is shown once",
		Long: "People make their own tokens with nullops login, or on their account page: a token\n" +
			"cannot make tokens for its own user.",
	}
	c.Flags().StringVar(&user, "user", "", "the service user")
	c.Flags().BoolVar(&readOnly, "read-only", false, "make a token that only reads")
	c.Flags().IntVar(&days, "days", 0, "make a token that expires after this many days")
	_ = c.MarkFlagRequired("user") // fails for a flag that does not exist
	c.RunE = func(c *cobra.Command, args []string) error {
		api, err := newClient()
		if err != nil {
			return err
		}
		body := apiclient.OwnTokenCreate{Name: args[0], ExpiresInDays: nilIfZero(days)}
		if readOnly {
			body.Scope = nilIfZero(apiclient.TokenScopeRead)
		}
		r, err := api.CreateUserTokenWithResponse(c.Context(), user, nil, body)
		if err := checkAnswer(r, err); err != nil {
			return err
		}
		_, err = fmt.Fprintln(c.OutOrStdout(), r.JSON201.Token)
		return err
	}
	return c
}

func tokenRevokeCommand() *cobra.Command {
	var user string
	c := &cobra.Command{Use: "revoke ID", Short: "Revoke a token at once", Args: exit.ExactArgs(1)}
	c.Flags().StringVar(&user, "user", "", "tokens of this user, for admins; by default your own")
	c.RunE = func(c *cobra.Command, args []string) error {
		api, err := newClient()
		if err != nil {
			return err
		}
		if user == "" {
			r, err := api.DeleteTokenWithResponse(c.Context(), args[0])
			return checkAnswer(r, err)
		}
		r, err := api.DeleteUserTokenWithResponse(c.Context(), user, args[0])
		return checkAnswer(r, err)
	}
	return c
}
