// Package exit holds the exit codes of all commands, and the errors that carry them.
package exit

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/spf13/cobra"
)

// Exit codes, for scripts. They are listed in docs/reference/commands.md.
const (
	Failed    = 1 // something broke
	Usage     = 2 // the command line itself is wrong
	Refused   = 3 // the control plane refused: invalid, in use, no room
	Forbidden = 4 // sign in, or ask for access
	NotReady  = 5 // the deployment failed or was removed, or what was waited for did not come
)

// ErrSilent only sets the exit code; everything was printed already.
var ErrSilent = errors.New("")

type codedError struct {
	error
	code int
}

func (e codedError) Unwrap() error { return e.error }

// WithCode returns err, with the code that the program exits with.
func WithCode(err error, code int) error { return codedError{err, code} }

// AsUsageError returns err as one of a wrong command line.
func AsUsageError(err error) error { return WithCode(err, Usage) }

// ExactArgs is cobra.ExactArgs with the exit code of a usage error.
func ExactArgs(n int) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) != n {
			return AsUsageError(fmt.Errorf("usage: %s", c.UseLine()))
		}
		return nil
	}
}

// isCobraUsageError recognises what cobra refuses by itself, for which it has no type.
func isCobraUsageError(err error) bool {
	return strings.HasPrefix(err.Error(), "unknown command ") ||
		strings.HasPrefix(err.Error(), "required flag(s) ") ||
		strings.HasPrefix(err.Error(), "if any flags in the group [") ||
		strings.HasPrefix(err.Error(), "accepts between ")
}

// refusal is an error with which the control plane answered.
type refusal interface {
	error
	HTTPStatus() int
}

// CodeOf returns the code that the program exits with after err.
func CodeOf(err error) int {
	if coded, ok := errors.AsType[codedError](err); ok {
		return coded.code
	}
	if isCobraUsageError(err) {
		return Usage
	}
	refused, ok := errors.AsType[refusal](err)
	switch {
	case !ok || refused.HTTPStatus() >= http.StatusInternalServerError:
		return Failed
	case refused.HTTPStatus() == http.StatusUnauthorized,
		refused.HTTPStatus() == http.StatusForbidden:
		return Forbidden
	}
	return Refused
}
