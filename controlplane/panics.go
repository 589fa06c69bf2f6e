package controlplane

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
)

// ErrPanicked is what a panic becomes for people: the log has the rest.
var ErrPanicked = errors.New("this failed on our side; the control plane's log says where")

// CatchPanic turns a panic of the function that defers it into that function's error. Work on
// one object, such as a node, a job or a delivery, is wrapped in it: whatever is wrong with that
// object, the others continue.
func CatchPanic(ctx context.Context, log *slog.Logger, what string, err *error) {
	p := recover()
	if p == nil {
		return
	}
	log.ErrorContext(ctx, what+" panicked", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
	*err = ErrPanicked
}
