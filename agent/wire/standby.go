package wire

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/coder/websocket"
)

// PathStandby is where agents that dial the control plane leave connections for it, and where
// processes of the control plane ask each other for one. It follows the path of the control
// plane's URL, if that has one.
const PathStandby = "/agents/standby"

// StandbyRole is what the client of a standby connection wants.
type StandbyRole string

const (
	// StandbyAgent leaves a connection on which the control plane begins, as if it had dialed.
	StandbyAgent StandbyRole = "agent"
	// StandbyRelay asks for a connection that the node's agent left.
	StandbyRelay StandbyRole = "relay"
)

// StandbyClaim is who is at the other end of a standby connection, as proven.
type StandbyClaim struct {
	Role StandbyRole
	// Kid is the node's token.
	Kid string
}

// StandbyGuard decides which standby connections a process accepts.
type StandbyGuard interface {
	// StandbyKeys returns the keys that prove a claim, of which one is enough. It returns
	// ErrUnknownKid if the token does not exist or was revoked.
	StandbyKeys(ctx context.Context, claim StandbyClaim) ([]Key, error)
	// AdmitStandby is called once the claim is proven. Its error is the reason that the far end
	// is told.
	AdmitStandby(ctx context.Context, claim StandbyClaim) error
}

// The frames of a standby connection's handshake. The acceptor begins.
type (
	standbyChallenge struct {
		Nonce []byte `json:"nonce"`
	}
	standbyResponse struct {
		Role  StandbyRole `json:"role"`
		Kid   string      `json:"kid"`
		Nonce []byte      `json:"nonce"`
		Proof []byte      `json:"proof"`
	}
	standbyVerdict struct {
		Admitted bool `json:"admitted"`
	}
)

// standbyMAC proves that whoever computes it holds k, to one challenge. It is good for nothing
// else: the proof of the session inside begins with another label, and is bound to its TLS.
func standbyMAC(k Key, nonce []byte, r standbyResponse) []byte {
	m := hmac.New(sha256.New, k.bytes[:])
	for _, field := range [][]byte{[]byte("nullops standby proof v1"), []byte(r.Role),
		[]byte(r.Kid), nonce, r.Nonce} {
		m.Write(encodeUint64(uint64(len(field))))
		m.Write(field)
	}
	return m.Sum(nil)
}

// AcceptStandby answers a request on PathStandby. The far end has five seconds to prove its
// claim. On error it was told the reason, and nothing is left open.
func AcceptStandby(
	w http.ResponseWriter, r *http.Request, guard StandbyGuard,
) (*Carrier, StandbyClaim, error) {
	c, err := acceptCarrier(w, r)
	if err != nil {
		return nil, StandbyClaim{}, fmt.Errorf("accept standby connection: %w", err)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), proofTimeout)
	defer cancel()
	_ = c.SetDeadline(time.Now().Add(proofTimeout))
	claim, err := c.checkStandby(ctx, guard)
	if err != nil {
		code, reason := CodeRefused, refusalText
		if refused, ok := errors.AsType[*RefusedError](err); ok {
			code, reason = refused.Code, refused.Reason
		}
		c.closeWith(code, reason)
		return nil, claim, fmt.Errorf("accept standby connection: %w", err)
	}
	_ = c.SetDeadline(time.Time{})
	go c.keepAlive()
	return c, claim, nil
}

func (c *Carrier) checkStandby(ctx context.Context, guard StandbyGuard) (StandbyClaim, error) {
	challenge := standbyChallenge{Nonce: newNonce()}
	if err := writeFrame(c, challenge); err != nil {
		return StandbyClaim{}, fmt.Errorf("send challenge: %w", err)
	}
	var r standbyResponse
	if err := readFrame(c, &r); err != nil {
		return StandbyClaim{}, fmt.Errorf("%w: %w", errUnproven, err)
	}
	claim := StandbyClaim{Role: r.Role, Kid: r.Kid}
	known := r.Role == StandbyAgent || r.Role == StandbyRelay
	if !known || !validKid(r.Kid) || len(r.Nonce) != nonceLen {
		return claim, fmt.Errorf("%w: the response has impossible fields", errUnproven)
	}
	keys, err := guard.StandbyKeys(ctx, claim)
	if err != nil {
		return claim, fmt.Errorf("%w: kid %s: %w", errUnproven, r.Kid, err)
	}
	proven := false
	for _, k := range keys {
		proven = proven || k.set && hmac.Equal(r.Proof, standbyMAC(k, challenge.Nonce, r))
	}
	if !proven {
		return claim, fmt.Errorf("%w of kid %s", errUnproven, r.Kid)
	}
	if err := guard.AdmitStandby(ctx, claim); err != nil {
		return claim, err
	}
	c.finishHandshake()
	if err := writeFrame(c, standbyVerdict{Admitted: true}); err != nil {
		return claim, fmt.Errorf("send verdict: %w", err)
	}
	return claim, nil
}

// StandbyDial says where to open a standby connection, and as whom.
type StandbyDial struct {
	// URL is the whole address, ws or wss, with PathStandby.
	URL string
	// Client makes the outer connection, with its proxy and its authorities.
	Client *http.Client
	Role   StandbyRole
	Kid    string
	Key    Key
}

// DialStandby opens a standby connection and proves the claim. An error that wraps ErrRefused
// is the far end's no.
func DialStandby(ctx context.Context, d StandbyDial) (*Carrier, error) {
	ctx, cancel := context.WithTimeout(ctx, dialStandbyTimeout)
	defer cancel()
	c, err := dialCarrier(ctx, d.URL, d.Client)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = c.Close() })
	err = c.proveStandby(d)
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		_ = c.Close()
		return nil, err
	}
	go c.keepAlive()
	return c, nil
}

// dialStandbyTimeout bounds name, proxy, TCP, TLS, upgrade and proof together.
const dialStandbyTimeout = 15 * time.Second

// dialCarrier opens a WebSocket that carries bytes. An answer that is none is an error, and
// redirects are not followed.
func dialCarrier(ctx context.Context, url string, client *http.Client) (*Carrier, error) {
	limited := *client
	limited.CheckRedirect = noRedirect
	c := &Carrier{}
	ws, answer, err := websocket.Dial(ctx, url, &websocket.DialOptions{HTTPClient: &limited,
		OnPingReceived: c.answersPing})
	if err != nil && answer != nil && answer.StatusCode != http.StatusSwitchingProtocols {
		return nil, fmt.Errorf("%w: it answered %q instead of opening a WebSocket", ErrNotAgent,
			answer.Status)
	}
	if err != nil {
		return nil, fmt.Errorf("open WebSocket: %w", err)
	}
	c.start(ws, url)
	return c, nil
}

// NewCarrierClient makes the client that opens WebSockets for DialStandby. proxy may be nil. config
// says which certificates of the far end are accepted.
func NewCarrierClient(
	proxy func(*http.Request) (*url.URL, error), config *tls.Config,
) *http.Client {
	// Only HTTP/1.1 can be upgraded, which is what a transport with its own TLS settings speaks.
	return &http.Client{Transport: &http.Transport{Proxy: proxy, DisableCompression: true,
		TLSClientConfig: config, MaxResponseHeaderBytes: maxHeader,
		DialContext: (&net.Dialer{}).DialContext}}
}

func (c *Carrier) proveStandby(d StandbyDial) error {
	var challenge standbyChallenge
	if err := readFrame(c, &challenge); err != nil {
		return explainStandby("read the challenge", err)
	}
	if len(challenge.Nonce) != nonceLen {
		return fmt.Errorf("%w: its challenge has %d bytes", ErrNotAgent, len(challenge.Nonce))
	}
	r := standbyResponse{Role: d.Role, Kid: d.Kid, Nonce: newNonce()}
	r.Proof = standbyMAC(d.Key, challenge.Nonce, r)
	if err := writeFrame(c, r); err != nil {
		return explainStandby("send the proof", err)
	}
	var v standbyVerdict
	if err := readFrame(c, &v); err != nil {
		return explainStandby("read the verdict", err)
	}
	if !v.Admitted {
		return fmt.Errorf("%w: its verdict says neither yes nor no", ErrNotAgent)
	}
	c.finishHandshake()
	return nil
}

// explainStandby turns the reason that the far end closed with into its refusal.
func explainStandby(what string, err error) error {
	closed, ok := errors.AsType[*CloseError](err)
	switch {
	case ok && closed.ByPeer:
		return (refusal{Code: closed.Code, Reason: closed.Reason}).asError()
	case errors.Is(err, errFrame):
		return fmt.Errorf("%w: %s: %w", ErrNotAgent, what, err)
	case errors.Is(err, io.EOF):
		return fmt.Errorf("%s: the far end hung up: %w", what, err)
	}
	return fmt.Errorf("%s: %w", what, err)
}
