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
	askTime = 15 * time.Second
	actTime = 60 * time.Second
)

// making is the context of an order to make something. Whoever gives up meanwhile
// waits for its end all the same: the engine goes on with what it has begun, and
// would finish it after everything of the deployment has been removed.
func making(ctx context.Context) (context.Context, context.CancelFunc) {
	if ctx.Err() != nil {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(context.WithoutCancel(ctx), actTime)
}

// unavailable marks every error as "could not ask". It is used for questions
// (list, inspect, ping): an engine that answers those with an error of its own
// has told us nothing either.
func unavailable(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", agent.ErrUnavailable, err)
}

// asked classifies the error of a question: "no such thing" is an answer.
func asked(err error) error {
	if err == nil {
		return nil
	}
	if errdefs.IsNotFound(err) {
		return fmt.Errorf("%w: %w", agent.ErrNotFound, err)
	}
	return unavailable(err)
}

// acted classifies the error of an order. If the engine answered, its reason
// stands; if it did not, nothing is known.
func acted(err error) error {
	if err == nil || answered(err) {
		return err
	}
	return unavailable(err)
}

// answered reports whether an error came from the engine, as opposed to the
// way there. The client marks the engine's answers with these classes.
func answered(err error) bool {
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

// gone reports whether an error of a removal means that there is nothing left
// to remove.
func gone(err error) bool { return errdefs.IsNotFound(err) }

// pause waits, unless the context ends first.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
