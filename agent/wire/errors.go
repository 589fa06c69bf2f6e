package wire

import (
	"errors"
	"fmt"
)

// What a caller branches on when the far end was reached and is the problem;
// any other error of Dial means "could not ask". Test for ErrUntrusted first:
// it also wraps why the examination failed, if it did.
var (
	// ErrUntrusted: the far end has another certificate. See UntrustedError.
	ErrUntrusted = errors.New("agent certificate is not the trusted one")
	// ErrRefused: the agent does not accept this token. See RefusedError.
	ErrRefused = errors.New("agent refused the connection")
	// ErrIncompatible: both ends are genuine, their releases differ. See
	// IncompatibleError.
	ErrIncompatible = errors.New("control plane and agent run different releases")
	// ErrIntercepted: the far end cannot prove the token on this TLS session.
	ErrIntercepted = errors.New("something between control plane and agent terminates TLS, " +
		"or the agent holds another token")
	// ErrNotAgent: the far end does not speak this protocol at all.
	ErrNotAgent = errors.New("the far end does not speak the agent protocol: " +
		"check address and port, and that nothing in between terminates TLS")
)

// What a Verifier's Admit returns to refuse a proven control plane for a known
// reason. The control plane's Dial then wraps the same error.
var (
	// ErrStaleEpoch: the agent has obeyed a newer control plane.
	ErrStaleEpoch = errors.New("the agent has seen a newer control plane epoch")
	// ErrOtherNode: this token was first used by another node or control plane.
	ErrOtherNode = errors.New("the agent is bound to another node id")
	// ErrUnknownKid: no such token here, or it is refused since a rotation.
	ErrUnknownKid = errors.New("token is unknown or revoked")
)

// ErrTunnelsOnly refuses whatever the ingress asks of an agent besides tunnels.
var ErrTunnelsOnly = errors.New("the ingress may open tunnels to services and nothing else")

// ErrBadToken is wrapped by every error of ParseToken.
var ErrBadToken = errors.New("invalid agent token")

// UntrustedError says which certificate was expected and which one answered.
// ProofValid reports whether the far end proved, on a second connection that
// carried no command, to hold the node's token.
type UntrustedError struct {
	Want, Got  Thumbprint
	ProofValid bool
	// Examined is why the proof is not valid; nil when it is.
	Examined error
}

func (e *UntrustedError) Error() string {
	proof := "token proof valid for the new certificate"
	if !e.ProofValid {
		proof = "token proof INVALID for the new certificate"
	}
	return fmt.Sprintf("%v: want %s, got %s; %s", ErrUntrusted, e.Want, e.Got, proof)
}

func (e *UntrustedError) Unwrap() []error {
	if e.Examined == nil {
		return []error{ErrUntrusted}
	}
	return []error{ErrUntrusted, e.Examined}
}

// IncompatibleError names both releases. The peer is proven: it may be stored.
type IncompatibleError struct {
	Ours, Theirs Build
	// OurProtocol and TheirProtocol differ only when the wire format does.
	OurProtocol, TheirProtocol int
	Peer                       Peer
}

func (e *IncompatibleError) Error() string {
	return fmt.Sprintf("%v: ours %s (protocol %d), theirs %s (protocol %d)", ErrIncompatible,
		e.Ours, e.OurProtocol, e.Theirs, e.TheirProtocol)
}

func (e *IncompatibleError) Unwrap() error { return ErrIncompatible }

// RefusedError is a refusal the far end sent. Before the proof Reason is
// constant; afterwards it may wrap ErrStaleEpoch or ErrOtherNode.
type RefusedError struct {
	Code   Code
	Reason string
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("%v: %s (code %d)", ErrRefused, e.Reason, e.Code)
}

func (e *RefusedError) Unwrap() []error {
	switch e.Code {
	case CodeStaleEpoch:
		return []error{ErrRefused, ErrStaleEpoch}
	case CodeOtherNode:
		return []error{ErrRefused, ErrOtherNode}
	}
	return []error{ErrRefused}
}

// Code says why a proof was refused or a session closed. The numbers are from
// WebSocket's range for private use, so that one list serves both.
type Code int

// The codes. Only CodeRefused is ever sent to a peer that has not proven itself.
const (
	CodeGone         Code = 1001 // the sender stops: reconnect later
	CodeProtocol     Code = 1002 // the peer broke the protocol
	CodeTooBig       Code = 1009 // a message above MaxMessage
	CodeRefused      Code = 4001 // no such token, or no proof of it
	CodeStaleEpoch   Code = 4002 // a newer control plane is in charge
	CodeIncompatible Code = 4003 // different releases
	CodeOtherNode    Code = 4004 // this agent belongs to another node
	CodeReplaced     Code = 4005 // a newer session took over
	CodeRevoked      Code = 4006 // the token was rotated or revoked
	CodeSilent       Code = 4007 // two pings without an answer
	CodeSlow         Code = 4008 // the peer does not read what is sent
	CodeUntrusted    Code = 4009 // the agent's certificate is not the trusted one
	CodeUnavailable  Code = 4010 // too much at once, or nothing here: try again later
)

// untrustedText is sent to the agent to say why nothing follows its proof. It reveals nothing
// secret: at this point the agent has only shown its certificate.
const untrustedText = "another certificate is trusted for this node: was the token used on a " +
	"second machine, or the data folder lost? Approve this one, or stop this agent"

// refusalText is the one text that every peer without a proof of the token receives,
// whatever the cause, so that it cannot probe for valid tokens.
const refusalText = "token refused: compare the token on the agent with the node's in the UI"
