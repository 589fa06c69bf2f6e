package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/nullops/nullops/cmd/nullops/internal/cli/output"
	"github.com/nullops/nullops/cmd/nullops/internal/exit"
	"github.com/nullops/nullops/controlplane/apiclient"
)

func loginCommand() *cobra.Command {
	var user, print, name, code string
	var fromStdin, byToken, byBrowser bool
	var want apiclient.TokenCreate
	var readOnly bool
	var days int
	c := &cobra.Command{
		Use:   "login URL",
		Short: "Sign in and remember it for this user",
		Long: "Trades user name and password for an API token, kept in a file only you can\n" +
			"read. Scripts can set NULLOPS_CLI_URL and NULLOPS_CLI_TOKEN instead.\n\n" +
			"A certificate that no authority of this machine vouches for is shown by its\n" +
			"fingerprint and, once confirmed, the only one accepted (NULLOPS_CLI_FINGERPRINT).",
		Args: exit.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			print, err := choosePin(c.Context(), c.InOrStdin(), args[0], print)
			if err != nil {
				return err
			}
			l := login{URL: args[0], Fingerprint: print}
			if byBrowser {
				if err := openAccount(c, l); err != nil {
					return err
				}
			}
			if byToken || byBrowser {
				return keepToken(c, name, l, fromStdin)
			}
			password, err := readPassword(c, fromStdin)
			if err != nil {
				return err
			}
			want.User, want.Password = user, password
			if readOnly {
				want.Scope = nilIfZero(apiclient.TokenScopeRead)
			}
			want.ExpiresInDays = nilIfZero(days)
			want.Code = nilIfZero(code)
			return signIn(c, name, l, want, fromStdin)
		},
	}
	c.Flags().StringVarP(&user, "user", "u", "admin", "user name")
	c.Flags().StringVar(&name, "context", "", "name of the context; its host by default")
	c.Flags().StringVar(&print, "fingerprint", "", "the only certificate to accept: sha256:…")
	c.Flags().BoolVar(&fromStdin, "password-stdin", false,
		"read the password, or the token, from standard input")
	c.Flags().StringVar(&code, "code", "", "code of your authenticator app, or a recovery code: "+
		"each is good once; without it, a terminal asks if one is needed")
	c.Flags().BoolVar(&byToken, "token", false, "with a token that the browser gave you, such as "+
		"after single sign-on")
	c.Flags().BoolVar(&byBrowser, "browser", false, "sign in there, as by single sign-on: it is "+
		"opened where tokens are made, and the token is pasted here")
	c.MarkFlagsMutuallyExclusive("token", "browser")
	c.Flags().BoolVar(&readOnly, "read-only", false, "make a token that only reads")
	c.Flags().IntVar(&days, "days", 0, "make a token that expires after this many days")
	return c
}

// openAccount shows where tokens are made. Without a browser on this machine it prints
// the address, which can be opened anywhere.
func openAccount(c *cobra.Command, l login) error {
	if u, err := url.Parse(l.URL); err != nil || u.Scheme != "https" && u.Scheme != "http" {
		return exit.AsUsageError(fmt.Errorf("%q is not an address: write https://…", l.URL))
	}
	if err := openBrowser(c.Context(), l.accountURL()); err != nil {
		fmt.Fprintf(c.ErrOrStderr(), "%v; open it yourself.\n", err)
	}
	return nil
}

// accountURL is the page on which people make tokens.
func (l login) accountURL() string { return strings.TrimRight(l.URL, "/") + "/account" }

// keepToken checks a token that was made in the browser, and stores it.
func keepToken(c *cobra.Command, name string, l login, fromStdin bool) error {
	fmt.Fprintf(c.ErrOrStderr(), "Make a token at %s, and paste it here as the password.\n",
		l.accountURL())
	token, err := readPassword(c, fromStdin)
	if err != nil {
		return err
	}
	l.Token = strings.TrimSpace(token)
	api, err := dialAPI(l)
	if err != nil {
		return err
	}
	me, err := api.GetMeWithResponse(c.Context())
	if err := checkAnswer(me, err); err != nil {
		return err
	}
	if err := saveLogin(name, l); err != nil {
		return err
	}
	fmt.Fprintf(c.OutOrStdout(), "Signed in to %s as %s.\n", l.URL, me.JSON200.Name)
	return nil
}

func signIn(c *cobra.Command, name string, l login, want apiclient.TokenCreate,
	fromStdin bool) error {
	api, err := dialAPI(l)
	if err != nil {
		return err
	}
	host, err := os.Hostname()
	if err != nil {
		host = "command line"
	}
	want.Name = "nullops on " + host
	r, err := createToken(c, api, want, fromStdin)
	if err != nil {
		return err
	}
	l.Token = r.JSON201.Token
	if err := saveLogin(name, l); err != nil {
		return err
	}
	fmt.Fprintf(c.OutOrStdout(), "Signed in to %s as %s.\n", l.URL, want.User)
	return nil
}

// createToken asks for a code only of a person who has a second factor, which the control plane
// says once the password is right.
func createToken(c *cobra.Command, api *client, want apiclient.TokenCreate, fromStdin bool) (
	*apiclient.CreateTokenResponse, error) {
	r, err := api.CreateTokenWithResponse(c.Context(), want)
	err = checkAnswer(r, err)
	var refusal *problemError
	if !errors.As(err, &refusal) || refusal.Code != "second_factor_required" ||
		want.Code != nil || fromStdin {
		return r, err
	}
	code, err := readHidden("Code of your authenticator app, or a recovery code: ")
	if err != nil {
		return nil, err
	}
	want.Code = &code
	r, err = api.CreateTokenWithResponse(c.Context(), want)
	return r, checkAnswer(r, err)
}

// readPassword never takes the password as an argument: those are public.
func readPassword(c *cobra.Command, fromStdin bool) (string, error) {
	if fromStdin {
		line, err := bufio.NewReader(io.LimitReader(c.InOrStdin(), 4096)).ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return "", fmt.Errorf("read password: %w", err)
		}
		return strings.TrimRight(line, "\r\n"), nil
	}
	if !output.IsTerminal(os.Stdin) {
		return "", exit.AsUsageError(errors.New("no terminal to ask on: use --password-stdin"))
	}
	return readHidden("Password: ")
}

// readHidden asks on the terminal, and shows nothing of the answer.
func readHidden(question string) (string, error) {
	fmt.Fprint(os.Stderr, question)
	typed, err := term.ReadPassword(int(os.Stdin.Fd()))
	fmt.Fprintln(os.Stderr)
	if err != nil {
		return "", fmt.Errorf("read from the terminal: %w", err)
	}
	return string(typed), nil
}
