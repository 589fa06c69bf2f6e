package docker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/containerd/errdefs"

	"github.com/nullops/nullops/agent"
)

// The engine's own times: it answers questions in milliseconds and makes
// things in tenths of a second. A frozen engine must not hold a caller longer
// than this.
const (
	queryTimeout    = 15 * time.Second
	mutationTimeout = 60 * time.Second
)

// detachedContext is the context for creating something. A cancelled caller still waits, at
// most mutationTimeout: the engine completes the request anyway, and would create the
// object after our clean-up.
func detachedContext(ctx context.Context) (context.Context, context.CancelFunc) {
	if ctx.Err() != nil {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(context.WithoutCancel(ctx), mutationTimeout)
}

// wrapUnavailable marks an error as "could not ask". It is used for all errors of queries
// (list, inspect, ping): if the engine fails to answer those, nothing is known either.
func wrapUnavailable(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", agent.ErrUnavailable, err)
}

// wrapQueryErr classifies the error of a query: "no such object" is an answer, and any
// other error means that nothing is known.
func wrapQueryErr(err error) error {
	if err == nil {
		return nil
	}
	if errdefs.IsNotFound(err) {
		return fmt.Errorf("%w: %w", agent.ErrNotFound, err)
	}
	return wrapUnavailable(err)
}

// wrapMutationErr classifies the error of a change. If the engine answered, its reason is kept; if
// not, the outcome is unknown.
func wrapMutationErr(err error) error {
	if err == nil || isEngineAnswer(err) {
		return err
	}
	return wrapUnavailable(err)
}

// isEngineAnswer reports whether an error is the engine's answer and not a failure to reach
// it. The client marks the engine's answers with these classes.
func isEngineAnswer(err error) bool {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) ||
		errors.Is(err, agent.ErrUnavailable) {
		return false
	}
	return errdefs.IsNotFound(err) || errdefs.IsConflict(err) ||
		errdefs.IsInvalidArgument(err) || errdefs.IsPermissionDenied(err) ||
		errdefs.IsUnauthorized(err) || errdefs.IsInternal(err) ||
		errdefs.IsNotImplemented(err) || errdefs.IsAlreadyExists(err) ||
		errdefs.IsFailedPrecondition(err)
}

// isNotFound reports whether an error of a removal means that there is nothing to remove.
func isNotFound(err error) bool { return errdefs.IsNotFound(err) }
