package vault

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	bao "github.com/openbao/openbao/api/v2"

	"github.com/nullops/nullops/controlplane/seal"
)

// Auth is one way to sign in. Secrets are in files that are read at each sign-in, so that
// they may be replaced while we run. Exactly one of Token, AppRole and Kubernetes is set.
type Auth struct {
	// Token is a file that holds a token, perhaps one that an agent of Vault renews.
	Token      string
	AppRole    *RoleAuth
	Kubernetes *RoleAuth
}

// RoleAuth is a role and the file that proves it: an AppRole's secret id, or the token of a
// Kubernetes service account.
type RoleAuth struct {
	// Mount is the path of the auth method.
	Mount string
	// Role is the role id of an AppRole, or the name of a Kubernetes role.
	Role string
	File string
}

// session is one sign-in.
type session struct {
	token string
	since time.Time
	// ttl is how long the token lives after since; zero never ends.
	ttl       time.Duration
	renewable bool
}

// isOver is true a little early, since Vault began to count before we did.
func (s session) isOver(now time.Time) bool {
	return s.token == "" || s.ttl > 0 && !now.Before(s.since.Add(s.ttl-s.ttl/20))
}

func (c *Client) current() session {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.session
}

func (c *Client) setSession(s session) {
	c.mu.Lock()
	c.session = s
	c.mu.Unlock()
	select {
	case c.renewed <- struct{}{}:
	default:
	}
}

// ensureSession signs in unless we are.
func (c *Client) ensureSession(ctx context.Context) (session, error) {
	if s := c.current(); !s.isOver(c.now()) {
		return s, nil
	}
	c.signing.Lock()
	defer c.signing.Unlock()
	if s := c.current(); !s.isOver(c.now()) {
		return s, nil
	}
	if err := c.recentRefusal(); err != nil {
		return session{}, err
	}
	return c.signIn(ctx)
}

// recentRefusal spares Vault from a sign-in that it has just refused.
func (c *Client) recentRefusal() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.refusal != nil && c.now().Before(c.refused.Add(signInEvery)) {
		return c.refusal
	}
	return nil
}

func (c *Client) noteSignIn(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refusal, c.refused = nil, c.now()
	if errors.Is(err, seal.ErrRefused) {
		c.refusal = err
	}
}

// replaceSession signs in again after a refusal, unless somebody just did. A new session
// that is refused too is no matter of the token.
func (c *Client) replaceSession(
	ctx context.Context, old session, refusal error,
) (session, error) {
	c.signing.Lock()
	defer c.signing.Unlock()
	if s := c.current(); s.token != old.token {
		return s, nil
	}
	if c.now().Sub(old.since) < signInEvery {
		return old, refusal
	}
	return c.signIn(ctx)
}

func (c *Client) signIn(ctx context.Context) (s session, err error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	switch {
	case c.auth.AppRole != nil:
		s, err = c.signInAs(ctx, c.auth.AppRole, "role_id", "secret_id")
	case c.auth.Kubernetes != nil:
		s, err = c.signInAs(ctx, c.auth.Kubernetes, "role", "jwt")
	default:
		s, err = c.signInByToken(ctx)
	}
	if err != nil {
		err = fmt.Errorf("sign in to Vault: %w", err)
	}
	c.noteSignIn(err)
	if err != nil {
		return session{}, err
	}
	c.setSession(s)
	return s, nil
}

// signInAs proves a role by what its file holds.
func (c *Client) signInAs(
	ctx context.Context, a *RoleAuth, role, proof string,
) (s session, err error) {
	secret, err := readSecretFile(a.File)
	if err != nil {
		return s, err
	}
	answer, err := c.send(ctx, "", "auth/"+strings.Trim(a.Mount, "/")+"/login",
		map[string]any{role: a.Role, proof: secret})
	if errors.Is(err, errRejected) || errors.Is(err, ErrNotFound) {
		// Vault answers 400 to a wrong role or secret id, and 404 without the auth method.
		return s, fmt.Errorf("%w: %w", seal.ErrRefused, err)
	}
	if err != nil {
		return s, err
	}
	if answer.Auth == nil || answer.Auth.ClientToken == "" {
		return s, fmt.Errorf("%w: the sign-in returned no token", seal.ErrRefused)
	}
	return c.newSession(answer.Auth), nil
}

func (c *Client) newSession(a *bao.SecretAuth) session {
	return session{token: a.ClientToken, since: c.now(), renewable: a.Renewable,
		ttl: time.Duration(a.LeaseDuration) * time.Second}
}

// signInByToken reads the token's file and asks how long the token lives.
func (c *Client) signInByToken(ctx context.Context) (s session, err error) {
	token, err := readSecretFile(c.auth.Token)
	if err != nil {
		return s, err
	}
	answer, err := c.send(ctx, token, "auth/token/lookup-self", nil)
	if err != nil {
		return s, err
	}
	s = session{token: token, since: c.now()}
	s.renewable, _ = answer.Data["renewable"].(bool)
	if n, ok := answer.Data["ttl"].(json.Number); ok {
		seconds, err := n.Int64()
		if err != nil {
			return s, fmt.Errorf("%w: the token's ttl is %q", seal.ErrRefused, n)
		}
		s.ttl = time.Duration(seconds) * time.Second
	}
	return s, nil
}

func readSecretFile(path string) (string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("%w: %w", seal.ErrRefused, err)
	}
	secret := strings.TrimSpace(string(text))
	if secret == "" {
		return "", fmt.Errorf("%w: the file %s is empty", seal.ErrRefused, path)
	}
	return secret, nil
}

// Run keeps the session alive until ctx ends. It renews the token when two thirds of its
// time are over, and signs in again when Vault no longer extends it.
func (c *Client) Run(ctx context.Context) error {
	var pause time.Duration
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		var due <-chan time.Time
		if s := c.current(); s.token != "" && s.ttl > 0 {
			timer.Reset(max(s.since.Add(s.ttl*2/3).Sub(c.now()), pause))
			due = timer.C
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-c.renewed:
			continue
		case <-due:
		}
		if err := c.extend(ctx); err != nil {
			pause = min(max(2*pause, time.Second), time.Minute)
			c.log.WarnContext(ctx, "the sign-in to Vault was not renewed; trying again",
				"error", err.Error())
			continue
		}
		pause = 0
	}
}

// extend renews the token, or signs in anew.
func (c *Client) extend(ctx context.Context) error {
	c.signing.Lock()
	defer c.signing.Unlock()
	s := c.current()
	if s.renewable && !s.isOver(c.now()) {
		answer, err := c.send(ctx, s.token, "auth/token/renew-self", map[string]any{})
		switch {
		case errors.Is(err, seal.ErrUnavailable):
			return err
		case err == nil && answer.Auth != nil && isExtended(s, answer.Auth):
			c.setSession(c.newSession(answer.Auth))
			return nil
		}
	}
	_, err := c.signIn(ctx)
	return err
}

// isExtended reports whether a renewal gives more than half the time that the token had:
// near its maximum, Vault gives what is left.
func isExtended(s session, a *bao.SecretAuth) bool {
	return time.Duration(a.LeaseDuration)*time.Second > s.ttl/2
}
