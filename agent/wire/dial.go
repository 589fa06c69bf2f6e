package wire

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/nullops/nullops/internal/idleconn"
)

// proofTimeout bounds TCP, TLS and proof together, on both ends, so that unproven
// connections cannot accumulate.
const proofTimeout = 5 * time.Second

// DialConfig says which agent to reach and as whom.
type DialConfig struct {
	// Address is host:port of the agent's listener. It may be a URL if Connect knows what to do
	// with it.
	Address string
	// Identity is the control plane's client certificate.
	Identity *Identity
	// Thumbprint pins the agent's certificate. Zero only while enrolling: then
	// the proof alone authenticates it, and Peer says what to store.
	Thumbprint Thumbprint
	NodeID     string
	Kid        string
	Key        Key
	// Epoch is the lease's: an agent obeys no lower one than it has seen.
	Epoch uint64
	Build Build
	// Maintain accepts an agent of another release that speaks this protocol. Such
	// a connection is good for PathInventory and PathUpgrade only.
	Maintain bool
	// Connect makes the TCP connection and is where addresses are vetted. Nil
	// means a plain net.Dialer.
	Connect func(ctx context.Context, network, address string) (net.Conn, error)
}

func (c DialConfig) validate() error {
	_, port, err := net.SplitHostPort(c.Address)
	isURL := c.Connect != nil && strings.Contains(c.Address, "://")
	switch {
	case !isURL && (err != nil || port == ""):
		return fmt.Errorf("address %q is not host:port: write it like 192.0.2.7:5000", c.Address)
	case c.Identity == nil:
		return errors.New("identity is missing: the control plane's client certificate")
	case !c.Key.set:
		return errors.New("key is missing: unseal the node's token key")
	case !c.newHello().isValid():
		return errors.New("node id, kid or build is missing or longer than 64 bytes")
	}
	return nil
}

func (c DialConfig) newHello() hello {
	return hello{Kid: c.Kid, NodeID: c.NodeID, Nonce: newNonce(), Epoch: c.Epoch,
		Protocol: Protocol, Build: c.Build}
}

// Dial reaches an agent, checks its certificate and proves the token both ways,
// within five seconds. The connection carries nothing else yet.
//
// Its errors wrap ErrUntrusted, ErrRefused, ErrIncompatible, ErrIntercepted or
// ErrNotAgent; anything else means the agent could not be reached. On
// ErrUntrusted nothing was sent on that connection; a second one, pinned to the
// certificate found, has asked it for the token proof and was closed.
func Dial(ctx context.Context, c DialConfig) (*ProvenConn, error) {
	if err := c.validate(); err != nil {
		return nil, fmt.Errorf("dial agent: %w", err)
	}
	conn, err := c.withPinnedConn(ctx, c.Thumbprint, c.exchangeProofs)
	if untrusted, ok := errors.AsType[*UntrustedError](err); ok {
		_, examined := c.withPinnedConn(ctx, untrusted.Got, c.checkUntrustedAgent)
		untrusted.ProofValid = examined == nil
		untrusted.Examined = examined
		err = untrusted // not what wrapped it: that text is older than the proof
	}
	if err != nil {
		return nil, fmt.Errorf("dial agent %s: %w", c.Address, err)
	}
	return conn, nil
}

// withPinnedConn makes one pinned TLS connection and runs step on it.
func (c DialConfig) withPinnedConn(
	ctx context.Context, pin Thumbprint, step func(*tls.Conn) (*ProvenConn, error),
) (_ *ProvenConn, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, proofTimeout, errSlowProof)
	defer cancel()
	raw, err := c.dialTCP(ctx)
	if err != nil {
		return nil, err
	}
	// A cancelled context must also wake a blocked read or write.
	stop := context.AfterFunc(ctx, func() { _ = raw.SetDeadline(time.Unix(1, 0)) })
	defer func() {
		if !stop() && err == nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			_ = raw.Close()
		}
	}()
	conn := tls.Client(idleconn.WrapConn(raw), clientTLS(c.Identity, pin))
	if err := conn.HandshakeContext(ctx); err != nil {
		return nil, c.handshakeError(ctx, err)
	}
	proven, err := step(conn)
	if err != nil && ctx.Err() != nil {
		return nil, fmt.Errorf("%w: %w", context.Cause(ctx), err)
	}
	return proven, err
}

var errSlowProof = fmt.Errorf("no proven connection within %v", proofTimeout)

func (c DialConfig) dialTCP(ctx context.Context) (net.Conn, error) {
	connect := c.Connect
	if connect == nil {
		connect = (&net.Dialer{}).DialContext
	}
	raw, err := connect(ctx, "tcp", c.Address)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	return raw, nil
}

func (c DialConfig) handshakeError(ctx context.Context, err error) error {
	var plain tls.RecordHeaderError
	var op *net.OpError
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("TLS handshake: %w: %w", context.Cause(ctx), err)
	case errors.As(err, &plain):
		return fmt.Errorf("%w (it answers without TLS)", ErrNotAgent)
	case errors.As(err, &op) && op.Op == "remote error":
		return fmt.Errorf("%w (TLS handshake: %w)", ErrNotAgent, err)
	}
	return fmt.Errorf("TLS handshake: %w", err)
}

// exchangeProofs runs all steps, then compares the releases.
func (c DialConfig) exchangeProofs(conn *tls.Conn) (*ProvenConn, error) {
	b, err := c.bindingTo(conn)
	if err != nil {
		return nil, err
	}
	h := c.newHello()
	a, err := requestProof(conn, b, c.Key, h)
	if err != nil {
		return nil, err
	}
	peer := Peer{Thumbprint: b.leaf, SPKI: b.spki, NodeID: h.NodeID, Kid: h.Kid,
		Epoch: h.Epoch, Build: a.Build, Protocol: a.Protocol}
	err = sendProof(conn, b, c.Key, h, a)
	// The agent's other reasons weigh more: they hold whatever its release is.
	known := errors.Is(err, ErrStaleEpoch) || errors.Is(err, ErrOtherNode)
	if !known && c.Maintain && peer.Protocol == Protocol && isIncompatible(err) {
		return &ProvenConn{Conn: conn, peer: peer}, nil
	}
	if !known && (peer.Build != c.Build || peer.Protocol != Protocol) {
		return nil, &IncompatibleError{Ours: c.Build, Theirs: peer.Build,
			OurProtocol: Protocol, TheirProtocol: peer.Protocol, Peer: peer}
	}
	if err != nil {
		return nil, err
	}
	return &ProvenConn{Conn: conn, peer: peer}, nil
}

// isIncompatible reports whether the agent refused because of its release.
func isIncompatible(err error) bool {
	var refused *RefusedError
	return errors.As(err, &refused) && refused.Code == CodeIncompatible
}

// checkUntrustedAgent checks whether an agent with a certificate that is not pinned holds the
// token. We do not send our own proof, so this connection cannot carry commands. An agent that
// holds the token gets the reason why nothing follows.
func (c DialConfig) checkUntrustedAgent(conn *tls.Conn) (*ProvenConn, error) {
	defer conn.Close()
	b, err := c.bindingTo(conn)
	if err != nil {
		return nil, err
	}
	if _, err := requestProof(conn, b, c.Key, c.newHello()); err != nil {
		return nil, err
	}
	// Whether it arrives changes nothing.
	_ = writeFrame(conn, confirm{Refusal: &refusal{Code: CodeUntrusted, Reason: untrustedText}})
	return nil, nil
}

func (c DialConfig) bindingTo(conn *tls.Conn) (binding, error) {
	state := conn.ConnectionState()
	return newBinding(state, ThumbprintOf(state.PeerCertificates[0]), c.Identity.SPKI())
}

// ProvenConn is a connection whose both ends have proven the token.
type ProvenConn struct {
	*tls.Conn
	peer Peer
	// limited: the far end is of another release. See PathInventory.
	limited bool
	// received counts bytes read: any of them is a sign of life.
	received receipt
	closing  sync.Once
	onClose  func()
}

// Peer returns the identity of the other end, as proven by the handshake.
func (c *ProvenConn) Peer() Peer { return c.peer }

// Read counts what arrives, for the session's watch over a silent peer.
func (c *ProvenConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.received.record(n)
	return n, err
}

// Close ends the connection and takes it off its listener's list.
func (c *ProvenConn) Close() error {
	c.notifyClosed()
	return c.Conn.Close()
}

// closeAbruptly closes the connection without a TLS close_notify, which a dead or hostile
// peer could delay.
func (c *ProvenConn) closeAbruptly() {
	c.notifyClosed()
	_ = c.NetConn().Close()
}

func (c *ProvenConn) notifyClosed() {
	c.closing.Do(func() {
		if c.onClose != nil {
			c.onClose()
		}
	})
}
