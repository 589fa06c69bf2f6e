package accounts

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/oauth2"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
)

const (
	// testProviderTime bounds a test: a person waits for it.
	testProviderTime = 20 * time.Second
	// mostDescription bounds what is read of a provider's description and keys.
	mostDescription = 1 << 20
)

// TestProvider tries what every sign-on needs of the OpenID provider: its description, its keys,
// and that it takes people of this client to our redirect address. It returns the first thing that
// is wrong, in sentences that say what to change, or "". Whether the provider accepts the client's
// secret shows at a sign-on only.
func (a *Accounts) TestProvider(
	ctx context.Context, actor access.Actor, p *Provider,
) (problem string, err error) {
	e := actor.NewAuditEntry("test sign-on", "OpenID provider")
	err = a.store.InAuditedTx(ctx, e, func(*postgres.Tx) error {
		if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
			return err
		}
		if p == nil {
			return controlplane.NewConflictError("no_provider",
				"no OpenID provider is configured",
				"Set oidc.issuer and oidc.client, and restart the control plane.")
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, testProviderTime)
	defer cancel()
	d, problem := p.testDescription(ctx)
	if problem == "" {
		problem = p.testKeys(ctx, d)
	}
	if problem == "" {
		problem = p.testRedirect(ctx, d)
	}
	return problem, nil
}

// providerDescription is what we need of a provider's description of itself.
type providerDescription struct {
	Issuer        string `json:"issuer"`
	Authorization string `json:"authorization_endpoint"`
	Token         string `json:"token_endpoint"`
	Keys          string `json:"jwks_uri"`
}

func (p *Provider) testDescription(ctx context.Context) (d providerDescription, problem string) {
	from := strings.TrimSuffix(p.Issuer, "/") + "/.well-known/openid-configuration"
	if err := p.readDocument(ctx, from, &d); err != nil {
		return d, fmt.Sprintf("Its description at %s could not be read: %s. Check oidc.issuer, and that "+
			"the control plane reaches this address.", from, err)
	}
	if d.Issuer != p.Issuer {
		return d, fmt.Sprintf("It calls its issuer %q, and oidc.issuer is %q. Set oidc.issuer to "+
			"exactly what it says.", d.Issuer, p.Issuer)
	}
	for _, named := range [][2]string{{"authorization_endpoint", d.Authorization},
		{"token_endpoint", d.Token}, {"jwks_uri", d.Keys}} {
		what, address := named[0], named[1]
		u, err := url.Parse(address)
		if err != nil || u.Host == "" || u.Scheme != "https" && !strings.HasPrefix(p.Issuer, "http:") {
			return d, fmt.Sprintf("Its description names no safe address as %s, but %q. This has to be "+
				"changed at the provider.", what, address)
		}
	}
	return d, ""
}

// testKeys looks for a key that identities can be signed with.
func (p *Provider) testKeys(ctx context.Context, d providerDescription) (problem string) {
	var set struct {
		Keys []struct {
			Kind string `json:"kty"`
			Use  string `json:"use"`
		} `json:"keys"`
	}
	if err := p.readDocument(ctx, d.Keys, &set); err != nil {
		return fmt.Sprintf("Its keys at %s could not be read: %s. Check that the control plane reaches "+
			"this address.", d.Keys, err)
	}
	for _, k := range set.Keys {
		if k.Use != "enc" && k.Kind != "oct" && k.Kind != "" {
			return ""
		}
	}
	return fmt.Sprintf("It has no key at %s that identities are signed with. Give the provider a "+
		"signing key, such as one for RS256.", d.Keys)
}

// asksPerson are the answers of a provider that knows client and redirect address, and would have
// asked the person something.
var asksPerson = []string{"", "login_required", "interaction_required", "consent_required",
	"account_selection_required"}

// testRedirect begins a sign-on without a person, as a browser would, to see whether the provider
// knows the client and its redirect address. An address that only browsers reach says nothing.
func (p *Provider) testRedirect(ctx context.Context, d providerDescription) (problem string) {
	conf := oauth2.Config{ClientID: p.Client, RedirectURL: p.Redirect,
		Endpoint: oauth2.Endpoint{AuthURL: d.Authorization},
		Scopes:   append([]string{"openid"}, p.Scopes...)}
	to := conf.AuthCodeURL(randomBits(), oauth2.SetAuthURLParam("prompt", "none"),
		oauth2.SetAuthURLParam("nonce", randomBits()),
		oauth2.S256ChallengeOption(oauth2.GenerateVerifier()))
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, to, nil)
	if err != nil {
		return ""
	}
	client := *p.client
	client.CheckRedirect = func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}
	answer, err := client.Do(r)
	if err != nil {
		return ""
	}
	_ = answer.Body.Close()
	switch back, err := answer.Location(); {
	case answer.StatusCode >= http.StatusInternalServerError:
		return fmt.Sprintf("Its sign-on page answers %d. Look into the provider's log.",
			answer.StatusCode)
	case answer.StatusCode >= http.StatusBadRequest:
		return fmt.Sprintf("It refuses client %q with the redirect address %s: it answers %d. Enter "+
			"exactly this redirect address at the provider, and check oidc.client and http.url.",
			p.Client, p.Redirect, answer.StatusCode)
	case err == nil && !slices.Contains(asksPerson, back.Query().Get("error")):
		said := cmp.Or(back.Query().Get("error_description"), back.Query().Get("error"))
		return fmt.Sprintf("It refuses the sign-on: %s. Check oidc.client and oidc.scopes, and what "+
			"the client may do at the provider.", strings.TrimSuffix(said, "."))
	}
	return ""
}

// readDocument reads a JSON document of the provider. Its error is the end of a sentence.
func (p *Provider) readDocument(ctx context.Context, from string, into any) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, from, nil)
	if err != nil {
		return errors.New("this is no URL")
	}
	answer, err := p.client.Do(r)
	if err != nil {
		return describeFailure(err)
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("it answers %d", answer.StatusCode)
	}
	if json.NewDecoder(io.LimitReader(answer.Body, mostDescription)).Decode(into) != nil {
		return errors.New("what is there is not JSON")
	}
	return nil
}

// describeFailure is the reason of the network in words for people.
func describeFailure(err error) error {
	if errors.Is(err, context.DeadlineExceeded) || os.IsTimeout(err) {
		return errors.New("it did not answer in time")
	}
	if reason, ok := errors.AsType[syscall.Errno](err); ok {
		return reason // such as "connection refused"
	}
	if failed, ok := errors.AsType[*url.Error](err); ok {
		return failed.Err
	}
	return err
}
