// Package vault speaks to HashiCorp Vault and to OpenBao, which share one API. It
// implements [seal.Wrapper] with keys that are kept there, and reads values of
// projects' secrets.
//
// Tokens, secret ids and keys are in no error, log line or URL. Environment variables
// of Vault's own command line (VAULT_TOKEN, BAO_ADDR…) are not read.
package vault

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	bao "github.com/openbao/openbao/api/v2"

	"github.com/nullops/nullops/controlplane/seal"
	"github.com/nullops/nullops/internal/text"
)

const (
	// requestTimeout bounds one request. A value that is opened holds a transaction.
	requestTimeout = 5 * time.Second
	// restAfterFailure is how long calls fail at once after Vault was unreachable, so that
	// an outage does not occupy every database connection with waiting.
	restAfterFailure = time.Second
	// maxAnswer bounds what an answer may hold.
	maxAnswer = 1 << 20
	// signInEvery bounds how often a refused request makes us sign in again.
	signInEvery = 10 * time.Second
)

// ErrUnavailable means that Vault does not answer, and may later.
var ErrUnavailable = seal.ErrUnavailable

// ErrNotFound means that there is nothing at a path, or that we may not see it.
var ErrNotFound = errors.New("there is no such path in Vault")

// errRejected means that Vault understood the request and finds its content wrong.
var errRejected = errors.New("rejected")

// Config says where Vault is, and who we are to it.
type Config struct {
	// Address is the URL of Vault; Namespace may be empty.
	Address, Namespace string
	// CAFile holds the authority that Vault's certificate is checked with; empty means
	// those of the system.
	CAFile string
	// Auth is how to sign in.
	Auth Auth
	Log  *slog.Logger
}

// Client is signed in to Vault. It is safe for concurrent use.
type Client struct {
	api     *bao.Client
	address string
	auth    Auth
	log     *slog.Logger
	now     func() time.Time

	// signing lets one caller sign in or renew at a time.
	signing sync.Mutex
	mu      sync.Mutex
	session session
	// failed and restUntil are set while Vault is unreachable.
	failed    error
	restUntil time.Time
	// refusal is the last sign-in's, at the time refused.
	refusal error
	refused time.Time
	// renewed wakes Run when there is a new session.
	renewed chan struct{}
}

// New makes a client. It does not connect: the first call signs in.
func New(c Config) (*Client, error) {
	config := bao.NewConfig()
	if config.Error != nil {
		return nil, fmt.Errorf("set up the client of Vault: %w", config.Error)
	}
	config.Address, config.MaxRetries, config.Timeout = c.Address, 0, requestTimeout
	if err := trustAuthority(config, c.CAFile); err != nil {
		return nil, err
	}
	api, err := bao.NewClient(config)
	if err != nil {
		return nil, fmt.Errorf("set up the client of Vault: %w", err)
	}
	if c.Namespace != "" {
		api.SetNamespace(strings.Trim(c.Namespace, "/"))
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return &Client{api: api, address: c.Address, auth: c.Auth, log: c.Log, now: time.Now,
		renewed: make(chan struct{}, 1)}, nil
}

// String hides the token from every way of printing the client.
func (c *Client) String() string { return "[vault client]" }

// GoString hides the token from %#v.
func (c *Client) GoString() string { return "[vault client]" }

func trustAuthority(config *bao.Config, file string) error {
	if file == "" {
		return nil
	}
	pem, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read the authority of Vault: %w", err)
	}
	if !x509.NewCertPool().AppendCertsFromPEM(pem) {
		return fmt.Errorf("the file %s holds no certificate: "+
			"give the PEM file of the authority that signed Vault's certificate", file)
	}
	if err := config.ConfigureTLS(&bao.TLSConfig{CACertBytes: pem}); err != nil {
		return fmt.Errorf("read the authority of Vault: %w", err)
	}
	return nil
}

// call sends one request as the signed-in role. Body is nil for a GET.
func (c *Client) call(ctx context.Context, path string, body map[string]any) (*bao.Secret, error) {
	if err := c.restingError(); err != nil {
		return nil, err
	}
	s, err := c.ensureSession(ctx)
	if err != nil {
		return nil, c.noteOutcome(err)
	}
	answer, err := c.send(ctx, s.token, path, body)
	if errors.Is(err, seal.ErrRefused) {
		// The token may have been revoked, or have expired while we were away.
		if s, err = c.replaceSession(ctx, s, err); err == nil {
			answer, err = c.send(ctx, s.token, path, body)
		}
	}
	return answer, c.noteOutcome(err)
}

// send sends one request with the token given, which may be empty.
func (c *Client) send(
	ctx context.Context, token, path string, body map[string]any,
) (*bao.Secret, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	method := http.MethodGet
	if body != nil {
		method = http.MethodPut
	}
	r := c.api.NewRequest(method, "/v1/"+path)
	r.ClientToken = token
	if body != nil {
		if err := r.SetJSONBody(body); err != nil {
			return nil, errors.New("set up a request to Vault: its content cannot be encoded")
		}
	}
	answer, err := c.api.RawRequestWithContext(ctx, r)
	if answer != nil {
		defer answer.Body.Close()
	}
	if err != nil {
		return nil, c.classify(err)
	}
	secret, err := bao.ParseSecret(io.LimitReader(answer.Body, maxAnswer))
	if err != nil || secret == nil {
		return nil, fmt.Errorf("%w: what %s answered is no answer of Vault",
			seal.ErrUnavailable, c.address)
	}
	return secret, nil
}

// classify turns an error of the library into one of ours. It keeps what Vault says, and
// drops bodies that are not Vault's.
func (c *Client) classify(err error) error {
	refused, answered := errors.AsType[*bao.ResponseError](err)
	if !answered {
		return fmt.Errorf("%w: %s does not answer: %s", seal.ErrUnavailable, c.address,
			withoutURL(err))
	}
	said := "no reason"
	if !refused.RawError && len(refused.Errors) > 0 {
		said = shortenLine(strings.Join(refused.Errors, "; "))
	}
	kind := errRejected
	switch code := refused.StatusCode; {
	case code == http.StatusForbidden || code == http.StatusUnauthorized:
		kind = seal.ErrRefused
	case code == http.StatusNotFound:
		kind = ErrNotFound
	case code >= 500, code == http.StatusTooManyRequests, code == http.StatusPreconditionFailed,
		code == http.StatusRequestTimeout, code == 472, code == 473:
		// 472 and 473 are standby nodes.
		kind = seal.ErrUnavailable
	}
	return fmt.Errorf("%w: %s answered %d: %s", kind, c.address, refused.StatusCode, said)
}

// restingError is the last failure while Vault rests. Then one caller tries again.
func (c *Client) restingError() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failed == nil {
		return nil
	}
	if c.now().Before(c.restUntil) {
		return c.failed
	}
	// The others fail at once until this caller knows more.
	c.restUntil = c.now().Add(requestTimeout + restAfterFailure)
	return nil
}

// noteOutcome remembers whether Vault was reachable, and logs changes of that.
func (c *Client) noteOutcome(err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if errors.Is(err, seal.ErrUnavailable) {
		if c.failed == nil {
			c.log.Warn("Vault is unavailable: values whose keys are in memory keep working, "+
				"others wait", "error", err.Error())
		}
		c.failed, c.restUntil = err, c.now().Add(restAfterFailure)
		return err
	}
	if c.failed != nil {
		c.log.Info("Vault is available again", "address", c.address)
		c.failed = nil
	}
	return err
}

// Outage is why Vault is unavailable; nil while it answers.
func (c *Client) Outage() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failed
}

// withoutURL shortens network errors, which repeat method and address.
func withoutURL(err error) string {
	for inner := err; inner != nil; inner = errors.Unwrap(inner) {
		err = inner
	}
	return shortenLine(err.Error())
}

// shortenLine makes one short line.
func shortenLine(s string) string { return text.Clip(strings.Join(strings.Fields(s), " "), 300) }
