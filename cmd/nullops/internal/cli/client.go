package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/nullops/nullops/cmd/nullops/internal/exit"
	"github.com/nullops/nullops/controlplane/apiclient"
)

// login is what 'nullops login' remembers, in a file only its owner can read.
type login struct {
	URL   string `json:"url"`
	Token string `json:"token"`
	// Fingerprint is the one certificate the control plane may show; empty asks
	// the authorities of this machine.
	Fingerprint string `json:"fingerprint,omitempty"`
	// Keyring names the entry of the system's keyring that has the token; empty while it is here.
	Keyring string `json:"keyring,omitempty"`
}

func loginPath() (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", fmt.Errorf("find the configuration folder: %w", err)
	}
	return filepath.Join(dir, "nullops", "login.json"), nil
}

// loadLogin prefers NULLOPS_CLI_URL and NULLOPS_CLI_TOKEN, for scripts.
func loadLogin() (login, error) {
	l := loginOfEnvironment()
	if l.Token != "" {
		return l, nil
	}
	known, err := loadContexts()
	if err != nil {
		return l, err
	}
	if name := os.Getenv("NULLOPS_CLI_CONTEXT"); name != "" && !known.switchTo(name) {
		return l, noContext(name)
	}
	if known.URL == "" {
		return l, exit.WithCode(errors.New("not signed in: run 'nullops login URL'"), exit.Forbidden)
	}
	return known.withToken()
}

// loginOfEnvironment returns what the environment says; without address and token, nothing.
func loginOfEnvironment() login {
	l := login{URL: os.Getenv("NULLOPS_CLI_URL"), Token: os.Getenv("NULLOPS_CLI_TOKEN"),
		Fingerprint: os.Getenv("NULLOPS_CLI_FINGERPRINT")}
	if l.URL == "" || l.Token == "" {
		return login{}
	}
	return l
}

// saveLogin remembers a login under a name, and uses it from now on.
func saveLogin(name string, l login) error {
	known, err := loadContexts()
	if err != nil {
		return err
	}
	if name == "" {
		name = contextName(l.URL)
	}
	replaced := known.keyringOf(name)
	known.put(name, l)
	if err := known.save(); err != nil {
		return err
	}
	if replaced != l.Keyring {
		forgetInKeyring(replaced)
	}
	return nil
}

// client is the API with the caller's token.
type client struct {
	*apiclient.ClientWithResponses
	login login
	http  *http.Client
}

func newClient() (*client, error) {
	l, err := loadLogin()
	if err != nil {
		return nil, err
	}
	return dialAPI(l)
}

// traceparent is what the variable TRACEPARENT holds where a pipeline is traced: what a command
// asks for is part of that trace then.
var traceparent = regexp.MustCompile(`^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$`)

func dialAPI(l login) (*client, error) {
	if err := checkAddress(l.URL); err != nil {
		return nil, err
	}
	through := l.httpClient()
	api, err := apiclient.NewClientWithResponses(strings.TrimRight(l.URL, "/"),
		apiclient.WithHTTPClient(through),
		apiclient.WithRequestEditorFn(func(_ context.Context, r *http.Request) error {
			if l.Token != "" {
				r.Header.Set("Authorization", "Bearer "+l.Token)
			}
			if parent := os.Getenv("TRACEPARENT"); traceparent.MatchString(parent) {
				r.Header.Set("Traceparent", parent)
			}
			return nil
		}))
	if err != nil {
		return nil, fmt.Errorf("%q is not a URL: %w", l.URL, err)
	}
	return &client{ClientWithResponses: api, login: l, http: through}, nil
}

// checkAddress refuses what is no URL before anything is asked there: people leave the scheme out.
func checkAddress(address string) error {
	u, err := url.Parse(address)
	if err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != "" {
		return nil
	}
	return exit.AsUsageError(fmt.Errorf("%q is no address of a control plane: write a URL, such as "+
		"https://nullops.example.org", address))
}

// problemError is a refusal of the control plane, in its own words.
type problemError struct{ apiclient.Problem }

// HTTPStatus is the status of the answer; the exit code follows from it.
func (e *problemError) HTTPStatus() int { return e.Status }

// RemedyText is what the control plane proposes; it is printed in a line of its own.
func (e *problemError) RemedyText() string { return valueOrZero(e.Remedy) }

func (e *problemError) Error() string {
	var b strings.Builder
	b.WriteString(e.Title)
	if e.Field != nil && *e.Field != "" {
		fmt.Fprintf(&b, " (%s)", *e.Field)
	}
	if detail := valueOrZero(e.Detail); detail != "" && detail != e.Title {
		b.WriteString(": " + detail)
	}
	writeProblems(&b, e.Problem)
	return b.String()
}

func writeProblems(b *strings.Builder, p apiclient.Problem) {
	if p.Problems != nil {
		for _, f := range *p.Problems {
			fmt.Fprintf(b, "\n  %s: %s", f.Field, f.Message)
		}
	}
	if p.Users != nil {
		for _, u := range *p.Users {
			fmt.Fprintf(b, "\n  used by %s", u)
		}
	}
	if p.Placement != nil {
		for _, r := range *p.Placement {
			fmt.Fprintf(b, "\n  %s: %s", r.Node, r.Reason)
		}
	}
}

// answer is what all generated responses have in common.
type answer interface {
	StatusCode() int
	Status() string
	GetBody() []byte
}

// checkAnswer turns an error status into a problemError. err is the transport's.
func checkAnswer(r answer, err error) error {
	if err != nil {
		return fmt.Errorf("ask the control plane: %w", err)
	}
	if r.StatusCode() < 400 {
		return nil
	}
	return problemOf(r.StatusCode(), r.Status(), r.GetBody())
}

func problemOf(code int, status string, body []byte) error {
	p := &problemError{}
	if json.Unmarshal(body, &p.Problem) != nil || p.Title == "" {
		p.Title = "the control plane answered " + status
	}
	p.Status = code
	return p
}

// valueOrZero reads an optional field; absent is the zero value.
func valueOrZero[T any](p *T) T {
	var zero T
	if p == nil {
		return zero
	}
	return *p
}

// findDeployment takes a name or an id. env may be empty if the name is unique.
func (c *client) findDeployment(
	ctx context.Context, ref, env string,
) (apiclient.Deployment, error) {
	if strings.Count(ref, "-") == 4 && len(ref) == 36 {
		return c.getDeployment(ctx, ref)
	}
	params := &apiclient.ListDeploymentsParams{Name: &ref}
	if env != "" {
		params.Environment = &env
	}
	r, err := c.ListDeploymentsWithResponse(ctx, params)
	if err := checkAnswer(r, err); err != nil {
		return apiclient.Deployment{}, err
	}
	return oneDeployment(ref, r.JSON200.Items)
}

func oneDeployment(name string, found []apiclient.Deployment) (apiclient.Deployment, error) {
	switch len(found) {
	case 0:
		return apiclient.Deployment{}, exit.WithCode(
			fmt.Errorf("no deployment %q: 'nullops list' shows yours", name), exit.Refused)
	case 1:
		return found[0], nil
	}
	var envs []string
	for _, d := range found {
		envs = append(envs, d.Environment)
	}
	return apiclient.Deployment{}, exit.AsUsageError(fmt.Errorf(
		"%q exists in %s: say which with --env",
		name, strings.Join(envs, " and ")))
}

func (c *client) getDeployment(ctx context.Context, id string) (apiclient.Deployment, error) {
	r, err := c.GetDeploymentWithResponse(ctx, id)
	if err := checkAnswer(r, err); err != nil {
		return apiclient.Deployment{}, err
	}
	return *r.JSON200, nil
}
