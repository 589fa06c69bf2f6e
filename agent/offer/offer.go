// Package offer decides whether a node takes a deployment that it is offered. The owner of the
// site decides: a program or a webhook of theirs claims or declines it. The control plane has no
// say in how, and an answer that does not come is a decline.
package offer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/netip"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/nullops/nullops/internal/quantity"
	"github.com/nullops/nullops/internal/text"
)

// How long a site may take, and the most that can be set. The control plane waits for twenty
// seconds.
const (
	DefaultTimeout = 10 * time.Second
	MaxTimeout     = 15 * time.Second
)

const (
	// maxAnswer bounds an answer, maxReason what of a reason is passed on, in bytes.
	maxAnswer = 64 << 10
	maxReason = 300
)

// Config is how a site decides. At most one of Command and URL is set.
type Config struct {
	// Command is a program with its arguments; no shell reads it.
	Command []string
	// URL is a webhook: HTTPS, or HTTP on this machine.
	URL string
	// TokenFile holds a bearer token for the webhook; empty sends none.
	TokenFile string
	// Timeout is zero for the default.
	Timeout time.Duration
	Log     *slog.Logger
}

// Decision is what a site answered. A decline has a reason.
type Decision struct {
	Claim  bool
	Reason string
}

func decline(format string, args ...any) Decision {
	return Decision{Reason: text.CleanLine(fmt.Sprintf(format, args...), maxReason)}
}

// Check returns an error that says what is wrong with the configuration.
func (c Config) Check() error {
	var errs []error
	if len(c.Command) > 0 && c.URL != "" {
		errs = append(errs, errors.New("command and url are both set; set one of them"))
	}
	if len(c.Command) > 0 && !filepath.IsAbs(c.Command[0]) {
		errs = append(errs, fmt.Errorf("command %q is no absolute path", c.Command[0]))
	}
	if c.TokenFile != "" && c.URL == "" {
		errs = append(errs, errors.New("file is set without url"))
	}
	if c.Timeout < 0 || c.Timeout > MaxTimeout {
		errs = append(errs, fmt.Errorf("timeout %s is not from 0s to %s", c.Timeout, MaxTimeout))
	}
	if c.URL != "" {
		errs = append(errs, checkURL(c.URL))
	}
	return errors.Join(errs...)
}

// checkURL does not repeat the URL in its errors: it may hold a secret.
func checkURL(raw string) error {
	u, err := url.Parse(raw)
	if err != nil {
		return errors.New("url is not a URL")
	}
	address, _ := netip.ParseAddr(u.Hostname())
	local := u.Hostname() == "localhost" || address.IsLoopback()
	switch {
	case u.User != nil:
		return errors.New("url has a name or password in it; use file")
	case u.Scheme == "https" && u.Host != "" || u.Scheme == "http" && local:
		return nil
	}
	return errors.New("url is neither https://… nor http:// with an address of this machine")
}

// Decide asks the site about one offer, a JSON document. It always returns an answer in time.
func (c Config) Decide(ctx context.Context, document []byte) Decision {
	limit := c.Timeout
	if limit == 0 {
		limit = DefaultTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	began := time.Now()
	var answer []byte
	var err error
	var who string
	switch {
	case len(c.Command) > 0:
		who = "the site's program"
		answer, err = c.runCommand(ctx, document)
	case c.URL != "":
		who = "the site's webhook"
		answer, err = c.callWebhook(ctx, document)
	default:
		return decline("nobody decides there: set agent.offers.command or agent.offers.url for the " +
			"node's agent")
	}
	switch {
	case errors.Is(err, errTooMuch):
		return decline("%s answered with more than %s", who, quantity.FormatBytes(maxAnswer))
	case ctx.Err() != nil && err != nil:
		return decline("%s did not answer within %s", who,
			quantity.FormatDuration(time.Since(began).Round(time.Second)))
	case err != nil:
		return decline("%s failed: %v", who, err)
	}
	d, err := parseAnswer(answer)
	if err != nil {
		return decline("%s answered with something else than {\"claim\": true} or "+
			"{\"claim\": false, \"reason\": \"…\"}", who)
	}
	return d
}

var errTooMuch = errors.New("the answer is too long")

func parseAnswer(answer []byte) (d Decision, err error) {
	var said struct {
		Claim  *bool  `json:"claim"`
		Reason string `json:"reason"`
	}
	in := json.NewDecoder(bytes.NewReader(answer))
	if err := in.Decode(&said); err != nil {
		return d, fmt.Errorf("read answer: %w", err)
	}
	if said.Claim == nil {
		return d, errors.New("read answer: it has no claim")
	}
	if _, err := in.Token(); !errors.Is(err, io.EOF) {
		return d, errors.New("read answer: something follows it")
	}
	d.Claim = *said.Claim
	if !d.Claim {
		d.Reason = text.CleanLine(strings.TrimSpace(said.Reason), maxReason)
	}
	return d, nil
}
