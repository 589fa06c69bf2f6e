// Package keycloak speaks the few paths of Keycloak's admin REST API that the
// plugins need. It signs in as an admin with a password, and shows no body of an
// answer: an error of Keycloak's may quote what was sent.
package keycloak

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/nullops/nullops/internal/wait"
)

// Admin is who signs in, and where.
type Admin struct {
	// URL is Keycloak's address without a slash at the end.
	URL   string
	Realm string
	User  string
	// Password is never logged.
	Password string
	// Patience is how long to wait for a server that does not answer yet.
	Patience time.Duration
}

// Client is an admin who has signed in.
type Client struct {
	client      *http.Client
	base, token string
}

// StatusError is an answer that says no.
type StatusError struct {
	what   string
	Status int
}

// Error says who has to change what.
func (e *StatusError) Error() string {
	switch e.Status {
	case http.StatusUnauthorized:
		return e.what + ": Keycloak refuses the admin's name or password"
	case http.StatusForbidden:
		return e.what + ": the admin may not do this in the realm"
	case http.StatusNotFound:
		return e.what + ": there is no such realm"
	default:
		return fmt.Sprintf("%s: Keycloak answered with status %d", e.what, e.Status)
	}
}

// IsNotFound reports whether an error is Keycloak's 404.
func IsNotFound(err error) bool {
	var refused *StatusError
	return errors.As(err, &refused) && refused.Status == http.StatusNotFound
}

// IsConflict reports whether an error is Keycloak's 409: there is one already.
func IsConflict(err error) bool {
	var refused *StatusError
	return errors.As(err, &refused) && refused.Status == http.StatusConflict
}

// SignIn waits for the server to come up, but not for a wrong password.
func SignIn(ctx context.Context, a Admin, log *slog.Logger) (*Client, error) {
	k := &Client{client: &http.Client{Timeout: 10 * time.Second}, base: a.URL}
	err := wait.Retry{
		Every: time.Second, For: a.Patience,
		IsFinal: func(err error) bool {
			var refused *StatusError
			return errors.As(err, &refused) && refused.Status < http.StatusInternalServerError
		},
		Failed: func(attempt, limit int) {
			log.Warn("Keycloak does not answer yet", "try", attempt, "of", limit)
		},
	}.Do(ctx, func() error { return k.fetchToken(ctx, a) })
	if err != nil {
		return nil, err
	}
	log.Info("signed in", "url", a.URL, "user", a.User)
	return k, nil
}

func (k *Client) fetchToken(ctx context.Context, a Admin) error {
	form := url.Values{
		"grant_type": {"password"}, "client_id": {"admin-cli"},
		"username": {a.User}, "password": {a.Password},
	}
	path := "/realms/" + url.PathEscape(a.Realm) + "/protocol/openid-connect/token"
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, k.base+path,
		strings.NewReader(form.Encode()))
	if err != nil {
		return fmt.Errorf("parameter \"url\": %w", err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	var answer struct {
		Token string `json:"access_token"`
	}
	if err := k.sendRequest(req, "sign in as "+a.User, &answer); err != nil {
		return err
	}
	k.token = answer.Token
	return nil
}

// Request is a request below /admin/realms/REALM.
type Request struct {
	Method, Realm, Path string
	// Body is sent as JSON, unless it is nil.
	Body any
	// What completes an error's sentence.
	What string
	// Into receives the answer, unless it is nil.
	Into any
}

// Call sends a request.
func (k *Client) Call(ctx context.Context, r Request) error {
	var content io.Reader
	if r.Body != nil {
		data, err := json.Marshal(r.Body)
		if err != nil {
			return fmt.Errorf("%s: %w", r.What, err)
		}
		content = bytes.NewReader(data)
	}
	address := k.base + "/admin/realms/" + url.PathEscape(r.Realm) + r.Path
	req, err := http.NewRequestWithContext(ctx, r.Method, address, content)
	if err != nil {
		return fmt.Errorf("%s: %w", r.What, err)
	}
	req.Header.Set("Authorization", "Bearer "+k.token)
	req.Header.Set("Content-Type", "application/json")
	return k.sendRequest(req, r.What, r.Into)
}

func (k *Client) sendRequest(req *http.Request, what string, into any) error {
	resp, err := k.client.Do(req)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode >= http.StatusMultipleChoices {
		return &StatusError{what, resp.StatusCode}
	}
	if into == nil {
		return nil
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(into); err != nil {
		return fmt.Errorf("%s: Keycloak's answer is not the JSON that was expected: %w", what, err)
	}
	return nil
}
