package provision

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/pkg/sftp"
	"golang.org/x/crypto/ssh"

	"github.com/nullops/nullops/controlplane"
)

// newFault is why an attempt ended, for people.
func newFault(code, message, remedy string, cause error) *controlplane.Error {
	return &controlplane.Error{Kind: controlplane.Unavailable, Code: code, Message: message,
		Remedy: remedy, Cause: cause}
}

// hostKeyMismatch is another host key than the confirmed one. Nothing was sent.
type hostKeyMismatch struct{ want, got string }

func (m *hostKeyMismatch) Error() string {
	return fmt.Sprintf("the host shows the key %s, not %s", m.got, m.want)
}

// dialFault explains why there is no connection. An address that is off limits was
// explained by the check that refused it.
func dialFault(address string, err error) error {
	var wrong *hostKeyMismatch
	var said *controlplane.Error
	switch {
	case errors.As(err, &said):
		return said
	case errors.As(err, &wrong):
		return newFault("host_key_mismatch", wrong.Error(),
			"Nothing was sent there. If the machine was set up anew, confirm its new key; "+
				"otherwise somebody may be in between.", err)
	case strings.Contains(err.Error(), "unable to authenticate"),
		// 51 is the protocol's word for it, at a moment the library expects another.
		strings.Contains(err.Error(), "unexpected message type 51"):
		return newFault("auth_failed", "the machine refuses the user, the password or the key",
			"Correct them and begin a new attempt. Root may be barred from passwords there.", err)
	case timedOut(err):
		return newFault("host_unreachable", "nothing answers at "+address+" in time",
			"Check the address, and whether a firewall drops the packets.", err)
	default:
		return newFault("host_unreachable", "no SSH connection to "+address+": "+innermostError(err),
			"Check host and port, and that an SSH server runs there.", err)
	}
}

func timedOut(err error) bool {
	var slow net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &slow) && slow.Timeout()
}

// innermostError returns the innermost error: the outer ones repeat it.
func innermostError(err error) string {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err.Error()
		}
		err = inner
	}
}

// programFailure is a program on the machine that ended badly.
type programFailure struct {
	program string
	code    int
	output  string
}

func (f *programFailure) Error() string {
	text := fmt.Sprintf("%s ended with exit code %d", f.program, f.code)
	if line := lastLine(f.output); line != "" {
		text += ": " + line
	}
	return text
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}

// exitCode returns the exit code of a program that failed, 0 for any other error.
func exitCode(err error) int {
	if f, is := errors.AsType[*programFailure](err); is {
		return f.code
	}
	return 0
}

// notFound is the shell's word for a program that is not there.
const notFound = 127

// explainStep turns a step's failure into an error for people, with a remedy.
func explainStep(ctx context.Context, step string, err error) *controlplane.Error {
	var said *controlplane.Error
	var missing *ssh.ExitMissingError
	switch {
	case errors.Is(context.Cause(ctx), errStopped):
		return newFault("interrupted", "the control plane stopped in the middle of it",
			"Begin a new attempt; what is there already is found.", err)
	case errors.Is(context.Cause(ctx), errTooLong):
		return newFault("timeout", "it took longer than "+attemptLimit.String(),
			"Look at the output of the last step, and begin a new attempt.", err)
	case errors.As(err, &said):
		return said
	case errors.As(err, &missing), errors.Is(err, sftp.ErrSSHFxConnectionLost),
		errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF),
		errors.Is(err, net.ErrClosed), errors.Is(err, errSilent):
		return newFault("connection_lost", "the connection to the machine broke in the step "+step,
			"Begin a new attempt; what is there already is found.", err)
	case exitCode(err) != 0:
		return newFault("step_failed", "step "+step+": "+err.Error(),
			"Look at the output of the step, repair the machine, and begin a new attempt.", err)
	default:
		return newFault("step_failed", "step "+step+": "+err.Error(),
			"Look at the output of the step, and begin a new attempt.", err)
	}
}
