package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/nullops/nullops/internal/wait"
)

// broker speaks the few paths of RabbitMQ's management API that are needed.
type broker struct {
	parameters
	client         *http.Client
	base, password string
}

func newBroker(p parameters, password string) *broker {
	scheme := "http"
	if p.TLS {
		scheme = "https"
	}
	return &broker{
		parameters: p, password: password, client: &http.Client{Timeout: 30 * time.Second},
		base: scheme + "://" + net.JoinHostPort(p.Host, strconv.Itoa(p.ManagementPort)) + "/api",
	}
}

// statusError is an answer that says no.
type statusError struct {
	what   string
	status int
}

func (e *statusError) Error() string {
	switch e.status {
	case http.StatusUnauthorized:
		return e.what + ": RabbitMQ refuses the admin's name or password"
	case http.StatusForbidden:
		return e.what + ": the admin's account lacks the tag administrator"
	case http.StatusNotFound:
		return e.what + ": RabbitMQ knows none"
	default:
		return fmt.Sprintf("%s: RabbitMQ answered with status %d", e.what, e.status)
	}
}

// waitUntilUp waits for the server to come up, but not for a wrong password.
func (b *broker) waitUntilUp(ctx context.Context, log *slog.Logger) error {
	err := wait.Retry{
		Every: 500 * time.Millisecond, For: wait.Seconds(b.ConnectSeconds),
		IsFinal: func(err error) bool {
			var refused *statusError
			return errors.As(err, &refused) && refused.status < http.StatusInternalServerError
		},
		Failed: func(attempt, limit int) {
			log.Warn("the server does not answer yet", "try", attempt, "of", limit)
		},
	}.Do(ctx, func() error {
		return b.callAPI(ctx, http.MethodGet, "connect to "+b.Host, nil, "overview")
	})
	if err == nil {
		log.Info("connected", "host", b.Host, "port", b.ManagementPort, "user", b.AdminUser)
	}
	return err
}

// ensureVhost makes virtual host and account; each request makes it so, whatever
// was before. Rights come last: with them, everything else is there.
func (b *broker) ensureVhost(ctx context.Context, password string) error {
	all := map[string]string{"configure": ".*", "write": ".*", "read": ".*"}
	return errors.Join(
		b.callAPI(ctx, http.MethodPut, "create virtual host "+b.Vhost,
			map[string]string{"description": "made by NullOps"}, "vhosts", b.Vhost),
		b.callAPI(ctx, http.MethodPut, "create account "+b.User,
			map[string]string{"password": password, "tags": ""}, "users", b.User),
		b.callAPI(ctx, http.MethodPut, "open the virtual host to "+b.User, all,
			"permissions", b.Vhost, b.User),
	)
}

// dropVhost removes both, whether or not they exist.
func (b *broker) dropVhost(ctx context.Context) error {
	return errors.Join(
		ignoreNotFound(b.callAPI(ctx, http.MethodDelete, "remove account "+b.User, nil, "users", b.User)),
		ignoreNotFound(
			b.callAPI(ctx, http.MethodDelete, "remove virtual host "+b.Vhost, nil, "vhosts", b.Vhost),
		),
	)
}

func ignoreNotFound(err error) error {
	var refused *statusError
	if errors.As(err, &refused) && refused.status == http.StatusNotFound {
		return nil
	}
	return err
}

// callAPI never shows the body of an answer: an error may quote what was sent.
func (b *broker) callAPI(
	ctx context.Context, method, what string, body any, path ...string,
) error {
	var address strings.Builder
	address.WriteString(b.base)
	for _, part := range path {
		address.WriteString("/" + url.PathEscape(part))
	}
	content, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	req, err := http.NewRequestWithContext(ctx, method, address.String(), bytes.NewReader(content))
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	if body == nil {
		req.Body, req.ContentLength = nil, 0
	}
	req.SetBasicAuth(b.AdminUser, b.password)
	req.Header.Set("Content-Type", "application/json")
	resp, err := b.client.Do(req)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode >= http.StatusMultipleChoices {
		return &statusError{what, resp.StatusCode}
	}
	return nil
}
