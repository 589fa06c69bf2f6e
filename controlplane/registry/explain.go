package registry

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/google/go-containerregistry/pkg/v1/remote/transport"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/internal/quantity"
)

// explainError turns a failure into one sentence about the registry.
func (c *Client) explainError(s Source, tag string, q *conversation, err error) error {
	host := s.Registry.Host
	q.guard.mu.Lock()
	refused, status, wait := q.guard.refused, q.guard.status, q.guard.wait
	q.guard.mu.Unlock()
	var answer *transport.Error
	var network net.Error
	var long *slowList
	switch {
	case refused != nil:
		return refusalError(host, refused)
	case wait > 0:
		c.recordPause(host, s.Credentials, wait)
		return tooBusy(host, wait)
	case errors.As(err, &long):
		return long.explain(host)
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &network) && network.Timeout():
		return slowError(host, err)
	case !s.Registry.Insecure && certificateError(s.Registry, err) != nil:
		return certificateError(s.Registry, err)
	case errors.As(err, &answer):
		return statusError(s, tag, answer)
	case errors.Is(err, context.Canceled):
		return fmt.Errorf("ask registry %s: %w", host, err)
	case status >= 500:
		return unavailableError("registry_down",
			fmt.Sprintf("registry %s answers with error %d", host, status),
			"Wait until it is well again.", err)
	case status != 0:
		return invalidAnswerError(host, err)
	default:
		return unavailableError("registry_down", "registry "+host+" cannot be reached",
			"Check its host name, the network and whether it runs.", err)
	}
}

func statusError(s Source, tag string, answer *transport.Error) error {
	host := s.Registry.Host
	switch code := answer.StatusCode; {
	case code == http.StatusUnauthorized, code == http.StatusForbidden:
		return unavailableError("registry_denied",
			fmt.Sprintf("registry %s does not let us read %s", host, s.Repository),
			"Check the repository's name and the registry's user name and password.", answer)
	case code == http.StatusNotFound && tag != "":
		return &controlplane.Error{
			Kind: controlplane.Invalid, Code: "tag_unknown", Field: "tag", Cause: answer,
			Message: fmt.Sprintf("%s/%s has no tag %s", host, s.Repository, tag),
			Remedy:  "Choose a tag of the list.",
		}
	case code == http.StatusNotFound:
		return &controlplane.Error{
			Kind: controlplane.Invalid, Code: "image_unknown", Field: "image", Cause: answer,
			Message: fmt.Sprintf("registry %s has no repository %s", host, s.Repository),
			Remedy:  "Check the image's name.",
		}
	case code == http.StatusTooManyRequests:
		return tooBusy(host, 30*time.Second)
	case code >= 500:
		return unavailableError("registry_down",
			fmt.Sprintf("registry %s answers with error %d", host, code),
			"Wait until it is well again.", answer)
	default:
		return invalidAnswerError(host, answer)
	}
}

func tooBusy(host string, wait time.Duration) error {
	e := unavailableError("registry_busy",
		fmt.Sprintf("registry %s asks us to wait %s", host,
			quantity.FormatDuration(max(wait.Round(time.Second), time.Second))),
		"Try again then, or give the registry credentials with a higher limit.", nil)
	e.RetryAfter = wait
	return e
}

func slowError(host string, cause error) error {
	return unavailableError("registry_slow", "registry "+host+" does not answer in time",
		"Try again; if it stays so, look at the registry and the network.", cause)
}

func invalidAnswerError(host string, cause error) error {
	return unavailableError("registry_garbage",
		"registry "+host+" gives an answer that is none of a registry",
		"Check that host and port belong to a registry, not to a web page or a proxy.", cause)
}

func unavailableError(code, message, remedy string, cause error) *controlplane.Error {
	return &controlplane.Error{
		Kind: controlplane.Unavailable, Code: code, Message: message, Remedy: remedy,
		Cause: cause,
	}
}
