package kubernetes

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/nullops/nullops/agent"
)

// queryTimeout bounds a question to the API server, which answers in milliseconds.
const queryTimeout = 15 * time.Second

// wrapQueryErr classifies the error of a query: "there is no such object" and "you may not" are
// answers. Any other error means that nothing is known.
func wrapQueryErr(err error) error {
	switch {
	case err == nil || errors.Is(err, agent.ErrUnavailable):
		return err
	case apierrors.IsNotFound(err):
		return fmt.Errorf("%w: %w", agent.ErrNotFound, err)
	case isAnswer(err):
		return err
	}
	return fmt.Errorf("%w: %w", agent.ErrUnavailable, err)
}

// wrapMutationErr classifies the error of a change: the API server's own reason is kept, and
// without an answer the outcome is unknown.
func wrapMutationErr(err error) error {
	if err == nil || errors.Is(err, agent.ErrUnavailable) || isAnswer(err) {
		return err
	}
	return fmt.Errorf("%w: %w", agent.ErrUnavailable, err)
}

// isAnswer reports whether an error is the decision of an API server that works. One that is
// overloaded, starting or without its store decides nothing.
func isAnswer(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) && !apierrors.IsTooManyRequests(err) &&
		!apierrors.IsServerTimeout(err) && !apierrors.IsTimeout(err) &&
		!apierrors.IsInternalError(err) && !apierrors.IsServiceUnavailable(err) &&
		!apierrors.IsUnexpectedServerError(err)
}

// ignoreNotFound: what is gone need not be removed.
func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

func decodeJSON(data []byte, into any) error {
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("the API server's answer is not readable: %w", err)
	}
	return nil
}
