package fleet

import (
	"context"
	"errors"
	"io"
	"net"
	"syscall"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/controlplane"
)

// offlineReason is what people read beside "offline": what is the matter, and what to
// do about it.
func offlineReason(err error) string {
	var op *net.OpError
	var closed *wire.CloseError
	var said *controlplane.Error
	switch {
	case err == nil:
		return "the link was closed"
	case errors.As(err, &said):
		// A name that leads to an address no node may have, for one.
		return said.Message
	case errors.Is(err, errRevoked):
		return errRevoked.Error()
	case errors.Is(err, errNoStandby):
		return errNoStandby.Error()
	case errors.Is(err, errNoToken):
		return errNoToken.Error()
	case errors.Is(err, wire.ErrStaleEpoch):
		return "the agent obeys a newer control plane: if this one was restored from a backup, run " +
			"'nullops node recover'; if it is a copy of one in use, stop it"
	case errors.Is(err, wire.ErrOtherNode):
		return "the agent belongs to another node or control plane: give each machine a token " +
			"and a data folder of its own"
	case errors.Is(err, wire.ErrRefused):
		return "the agent refused the token: start it with this node's current one, or rotate the " +
			"token; one token serves one machine"
	case errors.Is(err, wire.ErrIntercepted), errors.Is(err, wire.ErrNotAgent):
		return truncateError(err)
	case errors.As(err, &op) && op.Op == "dial":
		return "nothing answers at its address; is the agent running and the port open?"
	case errors.As(err, &closed):
		return closeReason(closed)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF),
		errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "the link broke off: did the agent end, or the network break?"
	}
	return truncateError(err)
}

// closeReason puts the code of a session's end into words.
func closeReason(c *wire.CloseError) string {
	text, known := map[wire.Code]string{
		wire.CodeGone:     "the agent was stopped",
		wire.CodeProtocol: "the agent broke the protocol: run the same release on both ends",
		wire.CodeTooBig:   "the agent sent more than a message may hold: look at its log",
		wire.CodeStaleEpoch: "the agent obeys a newer control plane: does an old copy of this " +
			"one still run?",
		wire.CodeReplaced: "another session took over: does a second control plane use this " +
			"database's copy?",
		wire.CodeRevoked: errRevoked.Error(),
		wire.CodeSilent:  "the agent stopped answering: is the machine up and the network whole?",
		wire.CodeSlow:    "the link is too slow, or one end hangs: look at the machine's load",
	}[c.Code]
	if !known {
		return truncateError(c)
	}
	return text
}

// sessionCloseReason is the code and the reason that the agent gets when a session ends.
func sessionCloseReason(ctx context.Context, err error) (wire.Code, string) {
	switch {
	case errors.Is(err, errRevoked):
		return wire.CodeRevoked, errRevoked.Error()
	case errors.Is(err, errElsewhere):
		return wire.CodeStaleEpoch, "another control plane took over this node"
	case ctx.Err() != nil:
		return wire.CodeGone, "the control plane stops, or an admin disabled the node"
	case errors.Is(err, errUnexpected):
		return wire.CodeProtocol, err.Error()
	}
	return wire.CodeGone, "the control plane ends this session"
}

// truncateError keeps the status line short; the whole error is in the log.
func truncateError(err error) string {
	const most = 300
	text := err.Error()
	if len(text) > most {
		text = text[:most] + "…"
	}
	return text
}
