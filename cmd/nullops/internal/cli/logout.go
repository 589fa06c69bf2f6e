package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nullops/nullops/cmd/nullops/internal/exit"
)

func logoutCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "logout [CONTEXT]",
		Short: "Sign out: revoke the token, and forget it",
		Long: "Signs out of the control plane in use, or of another one by the name of its context.\n" +
			"The token is revoked there, so that no copy of it is good for anything.",
		Args:              cobra.RangeArgs(0, 1),
		ValidArgsFunction: completeContext,
		RunE: func(c *cobra.Command, args []string) error {
			name := ""
			if len(args) == 1 {
				name = args[0]
			}
			l, forget, err := loginToEnd(name)
			if err != nil {
				return err
			}
			refused := revokeToken(c.Context(), l)
			if err := forget(); err != nil {
				return err
			}
			if refused != nil {
				return fmt.Errorf("the token was not revoked: %w; delete it on the account page of %s",
					refused, l.URL)
			}
			fmt.Fprintf(c.OutOrStdout(), "Signed out of %s.\n", l.URL)
			return nil
		},
	}
}

// loginToEnd returns a login, the one in use if no context is named, and how it is forgotten here.
// What the environment says is not stored, so there is nothing to forget.
func loginToEnd(name string) (l login, forget func() error, err error) {
	if name == "" {
		if l = loginOfEnvironment(); l.Token != "" {
			return l, func() error { return nil }, nil
		}
		name = os.Getenv("NULLOPS_CLI_CONTEXT")
	}
	known, err := loadContexts()
	if err != nil {
		return l, nil, err
	}
	if name != "" && !known.switchTo(name) {
		return l, nil, noContext(name)
	}
	if known.URL == "" {
		return l, nil, exit.WithCode(errors.New("not signed in"), exit.Forbidden)
	}
	entry := known.Keyring
	forget = func() error {
		known.login, known.Name = login{}, ""
		if err := known.save(); err != nil {
			return err
		}
		forgetInKeyring(entry)
		return nil
	}
	l, err = known.withToken()
	if err != nil {
		// Without its token nothing can be revoked, but it is of no use here either.
		return l, nil, errors.Join(fmt.Errorf("%w; the login is forgotten here, but the token was not "+
			"revoked: delete it on the account page of %s", err, l.URL), forget())
	}
	return l, forget, nil
}

// revokeToken revokes the login's own token. One that is not good any more needs no revoking.
func revokeToken(ctx context.Context, l login) error {
	api, err := dialAPI(l)
	if err != nil {
		return err
	}
	all, err := api.ListTokensWithResponse(ctx)
	err = checkAnswer(all, err)
	if refusal, ok := errors.AsType[*problemError](err); ok && refusal.Status == 401 {
		return nil
	}
	if err != nil {
		return err
	}
	for _, t := range all.JSON200.Items {
		if strings.HasPrefix(l.Token, "nop_"+t.Prefix+"_") {
			r, err := api.DeleteTokenWithResponse(ctx, t.Id)
			return checkAnswer(r, err)
		}
	}
	return nil
}
