package accounts

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
)

// OIDCConfig is how one OpenID provider vouches for people.
type OIDCConfig struct {
	// Name is on the button.
	Name   string
	Issuer string
	Client string
	Secret controlplane.Plain
	// Redirect is where the provider sends the browser back to.
	Redirect string
	// Scopes are asked for besides openid.
	Scopes []string
	// Claim holds the groups. Dots lead into nested claims: realm_access.roles.
	Claim string
	// Separator splits a group claim that is one string. If it is empty, one
	// string is one group.
	Separator string
	// Teams says which team the members of a group are on. Of other teams
	// nothing is changed.
	Teams map[string]string
	// Admins is the group whose members are admins; empty leaves roles alone.
	Admins string
}

// Provider signs people in through an OpenID provider: authorization code with PKCE,
// state and nonce.
type Provider struct {
	OIDCConfig
	client *http.Client

	mu       sync.Mutex
	found    *oidc.Provider
	verifier *oidc.IDTokenVerifier
}

// NewProvider makes no request: the control plane starts without the provider.
func NewProvider(c OIDCConfig) *Provider {
	return &Provider{OIDCConfig: c, client: &http.Client{Timeout: 15 * time.Second,
		CheckRedirect: stayAtHost}}
}

// stayAtHost follows no redirect away from the host that was asked: the code and the client's
// secret are for that host alone.
func stayAtHost(r *http.Request, before []*http.Request) error {
	first := before[0].URL
	if r.URL.Scheme != first.Scheme || r.URL.Host != first.Host || len(before) >= 5 {
		return fmt.Errorf("the OpenID provider redirects from %s to %s", first.Host, r.URL.Host)
	}
	return nil
}

// SignInFlow is what the browser that began must bring back, in a cookie.
type SignInFlow struct {
	State, Nonce, Verifier string
}

// BeginSignIn returns the address to send the browser to, and what it must bring back.
func (p *Provider) BeginSignIn(ctx context.Context) (to string, f SignInFlow, err error) {
	conf, _, err := p.readDiscovery(ctx)
	if err != nil {
		return "", f, err
	}
	f = SignInFlow{State: randomBits(), Nonce: randomBits(), Verifier: oauth2.GenerateVerifier()}
	return conf.AuthCodeURL(f.State, oidc.Nonce(f.Nonce), oauth2.S256ChallengeOption(f.Verifier)),
		f, nil
}

// readDiscovery reads the provider's own description, once it can be read.
func (p *Provider) readDiscovery(
	ctx context.Context,
) (*oauth2.Config, *oidc.IDTokenVerifier, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.found == nil {
		// The keys are fetched with this context later on, so that it must not end.
		lasting := oidc.ClientContext(context.WithoutCancel(ctx), p.client)
		found, err := oidc.NewProvider(lasting, p.Issuer)
		if err != nil {
			return nil, nil, unreachableError(err)
		}
		p.found, p.verifier = found, found.Verifier(&oidc.Config{ClientID: p.Client})
	}
	return &oauth2.Config{ClientID: p.Client, ClientSecret: p.Secret.Reveal(),
		RedirectURL: p.Redirect, Endpoint: p.found.Endpoint(),
		Scopes: append([]string{oidc.ScopeOpenID}, p.Scopes...)}, p.verifier, nil
}

func unreachableError(err error) error {
	return &controlplane.Error{
		Kind: controlplane.Unavailable, Code: "provider_unreachable", Cause: err,
		Message: "the OpenID provider does not answer",
		Remedy:  "Try again in a minute. If it goes on, tell an admin.",
	}
}

// exchangeCode trades the code for an ID token and believes it after every check.
func (p *Provider) exchangeCode(
	ctx context.Context,
	f SignInFlow,
	code string,
) (c claims, err error) {
	conf, verifier, err := p.readDiscovery(ctx)
	if err != nil {
		return c, err
	}
	ctx = oidc.ClientContext(ctx, p.client)
	tokens, err := conf.Exchange(ctx, code, oauth2.VerifierOption(f.Verifier))
	if err != nil {
		if _, refused := errors.AsType[*oauth2.RetrieveError](err); !refused {
			return c, unreachableError(err)
		}
		return c, refusedAnswerError(err)
	}
	raw, ok := tokens.Extra("id_token").(string)
	if !ok {
		return c, refusedAnswerError(errors.New("the answer has no id_token"))
	}
	token, err := verifier.Verify(ctx, raw)
	if err != nil {
		return c, refusedAnswerError(err)
	}
	if !sameHash([]byte(token.Nonce), []byte(f.Nonce)) {
		return c, refusedAnswerError(errors.New("the nonce is another one"))
	}
	return p.readClaims(ctx, token, tokens)
}

// refusedAnswerError hides the cause, so that a forger learns nothing. The cause is in
// the log.
func refusedAnswerError(cause error) error {
	return &controlplane.Error{
		Kind: controlplane.Unauthenticated, Code: "sign_in_refused", Cause: cause,
		Message: "the OpenID provider's answer was not accepted",
		Remedy:  "Begin again at the sign-in page.",
	}
}

// SignInWith finishes a flow in the browser that began it. An unknown person gets an
// account with no access except that of their groups.
func (a *Accounts) SignInWith(
	ctx context.Context, actor access.Actor, p *Provider, f SignInFlow, state, code string,
) (out SignedIn, err error) {
	refund, err := a.allowAnybody(ctx, actor)
	if err != nil {
		return out, err
	}
	e := actor.NewAuditEntry("sign in", "user")
	if f.State == "" || !sameHash([]byte(f.State), []byte(state)) {
		return out, a.auditRefusal(ctx, e, refusedAnswerError(errors.New("the state is another one")))
	}
	c, err := p.exchangeCode(ctx, f, code)
	if err != nil {
		return out, a.auditRefusal(ctx, e, err)
	}
	out, err = a.signInClaims(ctx, actor, p, c)
	if err == nil {
		refund()
	}
	return out, err
}

// teamsOf returns the mapped teams that the groups include a person in, and the
// others.
func (p *Provider) teamsOf(groups []string) (on, off []string) {
	for group, team := range p.Teams {
		if slices.Contains(groups, group) {
			on = append(on, team)
		}
	}
	for _, team := range p.Teams {
		if !slices.Contains(on, team) {
			off = append(off, team)
		}
	}
	return on, off
}
