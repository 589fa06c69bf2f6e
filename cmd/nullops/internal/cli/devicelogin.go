package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/nullops/nullops/cmd/nullops/internal/cli/output"
	"github.com/nullops/nullops/cmd/nullops/internal/exit"
	"github.com/nullops/nullops/controlplane/apiclient"
	"github.com/nullops/nullops/internal/wait"
)

// signInByBrowser has a person confirm a short code in a browser, on whatever machine that is, and
// polls for the token (RFC 8628).
func signInByBrowser(c *cobra.Command, name string, l login, want apiclient.TokenCreate,
	inFile bool) error {
	api, err := dialAPI(l)
	if err != nil {
		return err
	}
	begun, err := api.BeginDeviceLoginWithResponse(c.Context(), apiclient.DeviceLoginCreate{
		Name: tokenName(), Scope: want.Scope, ExpiresInDays: want.ExpiresInDays})
	if err := checkAnswer(begun, err); err != nil {
		return err
	}
	s := *begun.JSON201
	fmt.Fprintf(c.ErrOrStderr(), "Open %s\nand confirm the code %s. It is good for %s.\n",
		output.SanitizeText(s.VerificationUriComplete), output.SanitizeText(s.UserCode),
		time.Duration(s.ExpiresIn)*time.Second)
	if err := openBrowser(c.Context(), s.VerificationUriComplete); err != nil {
		fmt.Fprintf(c.ErrOrStderr(), "%v; open it yourself.\n", err)
	}
	if l.Token, err = api.awaitToken(c.Context(), s); err != nil {
		return err
	}
	return keepLogin(c, name, l, inFile)
}

// tokenName is what people see of this program, here and in the list of their tokens.
func tokenName() string {
	host, err := os.Hostname()
	if err != nil {
		return "nullops on the command line"
	}
	return "nullops on " + host
}

// awaitToken polls until the person has decided. A control plane that does not answer is asked
// again, until the time is up.
func (c *client) awaitToken(ctx context.Context, s apiclient.DeviceLoginStart) (string, error) {
	pause := time.Duration(s.Interval) * time.Second
	end := time.Now().Add(time.Duration(s.ExpiresIn) * time.Second)
	for {
		if err := wait.Sleep(ctx, pause); err != nil {
			return "", err
		}
		r, err := c.PollDeviceLoginWithResponse(ctx,
			apiclient.DeviceLoginPoll{DeviceCode: s.DeviceCode})
		if err == nil && r.JSON201 != nil {
			return r.JSON201.Token, nil
		}
		err = checkAnswer(r, err)
		refusal, refused := errors.AsType[*problemError](err)
		switch {
		case refused && refusal.Code == "slow_down":
			pause += 5 * time.Second
		case refused && refusal.Code == "authorization_pending":
		case refused && refusal.Status < 500 && refusal.Code != "too_many_requests":
			return "", err
		case ctx.Err() != nil:
			return "", context.Cause(ctx)
		}
		if time.Now().After(end) {
			return "", exit.WithCode(errors.New("nobody confirmed the code in time: run 'nullops login' "+
				"again"), exit.Forbidden)
		}
	}
}

// keepLogin stores a login that a person made, in the system's keyring if there is one.
func keepLogin(c *cobra.Command, name string, l login, inFile bool) error {
	api, err := dialAPI(l)
	if err != nil {
		return err
	}
	me, err := api.GetMeWithResponse(c.Context())
	if err := checkAnswer(me, err); err != nil {
		return err
	}
	path, err := loginPath()
	if err != nil {
		return err
	}
	place := "in a file that only you can read: " + output.SanitizeText(path)
	if !inFile {
		if l = l.moveToKeyring(); l.Keyring != "" {
			place = "in the system's keyring"
		}
	}
	if err := saveLogin(name, l); err != nil {
		forgetInKeyring(l.Keyring)
		return err
	}
	fmt.Fprintf(c.OutOrStdout(), "Signed in to %s as %s. The token is kept %s.\n", l.URL,
		output.SanitizeText(me.JSON200.Name), place)
	return nil
}
