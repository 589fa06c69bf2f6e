package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
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
	var fromStdin, byToken, byBrowser, inFile bool
	var want apiclient.TokenCreate
	var readOnly bool
	var days int
	c := &cobra.Command{
		Use:   "login URL",
		Short: "Sign in and remember it for this user",
		Long: "Shows a short code, which you confirm in a browser on any machine, and gets an API\n" +
			"token of yours. With --user it trades user name and password for the token instead.\n" +
			"It is kept in the system's keyring, or else in a file only you can read. Scripts can set\n" +
			"NULLOPS_CLI_URL and NULLOPS_CLI_TOKEN.\n\n" +
			"A certificate that no authority of this machine vouches for is shown by its\n" +
			"fingerprint and, once confirmed, the only one accepted (NULLOPS_CLI_FINGERPRINT).",
		Args: exit.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if err := checkAddress(args[0]); err != nil {
				return err
			}
			print, err := choosePin(c.Context(), c.InOrStdin(), args[0], print)
			if err != nil {
				return err
			}
			l := login{URL: args[0], Fingerprint: print}
			inFile = inFile || fromStdin
			if byToken {
				return keepToken(c, name, l, fromStdin, inFile)
			}
			if readOnly {
				want.Scope = nilIfZero(apiclient.TokenScopeRead)
			}
			want.ExpiresInDays = nilIfZero(days)
			if byBrowser || !fromStdin && !c.Flags().Changed("user") {
				return signInByBrowser(c, name, l, want, inFile)
			}
			password, err := readPassword(c, fromStdin)
			if err != nil {
				return err
			}
			want.User, want.Password = user, password
			want.Code = nilIfZero(code)
			return signIn(c, name, l, want, fromStdin, inFile)
		},
	}
	c.Flags().StringVarP(&user, "user", "u", "admin", "user name, to sign in with a password")
	c.Flags().StringVar(&name, "context", "", "name of the context; its host by default")
	c.Flags().StringVar(&print, "fingerprint", "", "the only certificate to accept: sha256:…")
	c.Flags().BoolVar(&fromStdin, "password-stdin", false,
		"read the password, or the token, from standard input")
	c.Flags().StringVar(&code, "code", "", "code of your authenticator app, or a recovery code: "+
		"each is good once; without it, a terminal asks if one is needed")
	c.Flags().BoolVar(&byToken, "token", false, "with a token that the browser gave you, such as "+
		"after single sign-on")
	c.Flags().BoolVar(&byBrowser, "browser", false, "confirm a code in a browser, which is what "+
		"happens without --user, --token and --password-stdin")
	c.Flags().BoolVar(&inFile, "no-keyring", false, "keep the token in a file, not in the system's "+
		"keyring")
	c.MarkFlagsMutuallyExclusive("token", "browser", "user")
	c.MarkFlagsMutuallyExclusive("browser", "password-stdin")
	c.Flags().BoolVar(&readOnly, "read-only", false, "make a token that only reads")
	c.Flags().IntVar(&days, "days", 0, "make a token that expires after this many days")
	return c
}

// accountURL is the page on which people make tokens.
func (l login) accountURL() string { return strings.TrimRight(l.URL, "/") + "/account" }

// keepToken checks a token that was made in the browser, and stores it.
func keepToken(c *cobra.Command, name string, l login, fromStdin, inFile bool) error {
	fmt.Fprintf(c.ErrOrStderr(), "Make a token at %s, and paste it here as the password.\n",
		l.accountURL())
	token, err := readPassword(c, fromStdin)
	if err != nil {
		return err
	}
	l.Token = strings.TrimSpace(token)
	return keepLogin(c, name, l, inFile)
}

func signIn(c *cobra.Command, name string, l login, want apiclient.TokenCreate,
	fromStdin, inFile bool) error {
	api, err := dialAPI(l)
	if err != nil {
		return err
	}
	want.Name = tokenName()
	r, err := createToken(c, api, want, fromStdin)
	if err != nil {
		return err
	}
	l.Token = r.JSON201.Token
	return keepLogin(c, name, l, inFile)
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
