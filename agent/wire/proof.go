package wire

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
)

// Peer is what a proven far end is known to be. On the control plane's side
// NodeID, Kid and Epoch repeat what it dialed with.
type Peer struct {
	// Thumbprint is the agent's certificate, SPKI the control plane's key.
	Thumbprint Thumbprint
	SPKI       SPKI
	NodeID     string
	Kid        string
	Epoch      uint64
	// TunnelsOnly is set on the agent's side if the far end is the ingress: it may open
	// tunnels and do nothing else.
	TunnelsOnly bool
	// Build and Protocol are the far end's.
	Build    Build
	Protocol int
}

// Verifier is what an agent must remember about its control plane. Its
// methods are called concurrently, and before anything is served.
type Verifier interface {
	// Trusts reports whether this is the client key of the control plane, which the token
	// names, or that of the ingress, which the control plane named in a session. It is called
	// inside the TLS handshake and must answer from memory.
	Trusts(SPKI) bool

	// Key returns what a client has to prove for a token, or ErrUnknownKid if the token does not
	// exist, was revoked, or the client is not trusted any more. tunnelsOnly is set if the client
	// is the ingress, which never gets the token's own key. It must answer from memory:
	// unauthenticated clients can measure how long it takes.
	Key(kid string, client SPKI) (key Key, tunnelsOnly bool, err error)

	// Admit is called once per connection, after the peer has proven the token. Before it
	// returns nil, it has atomically stored on disk what it decides. It
	//
	//   - returns ErrUnknownKid if the token was revoked in the meantime,
	//   - returns ErrOtherNode if this agent is bound to another node ID, and binds it to this
	//     one if it is bound to none (so a stolen token cannot act as a second node),
	//   - returns ErrStaleEpoch if p.Epoch is lower than the highest seen, and stores it if it
	//     is higher,
	//   - stores nothing of a peer that may open tunnels only: it neither binds the agent nor
	//     raises the epoch.
	//
	// The connection is already visible to Listener.Cut: a revocation that is stored before it
	// calls Cut cannot miss a connection.
	Admit(ctx context.Context, p Peer) error
}

const (
	nonceLen     = 32
	maxNameLen   = 64 // node ids are UUIDs, builds are release names
	roleAgent    = "agent"
	roleControl  = "control-plane"
	proofLabel   = "nullops agent proof"
	exporterName = "EXPORTER-Channel-Binding" // RFC 9266
)

// hello is step 1, control plane to agent.
type hello struct {
	Kid      string `json:"kid"`
	NodeID   string `json:"node_id"`
	Nonce    []byte `json:"nonce"`
	Epoch    uint64 `json:"epoch"`
	Protocol int    `json:"protocol"`
	Build    Build  `json:"build"`
}

// answer is step 2, agent to control plane.
type answer struct {
	Refusal  *refusal `json:"refusal,omitempty"`
	Nonce    []byte   `json:"nonce,omitempty"`
	Protocol int      `json:"protocol,omitempty"`
	Build    Build    `json:"build,omitempty"`
	Proof    []byte   `json:"proof,omitempty"`
}

// confirm is step 3, control plane to agent. A refusal replaces the proof when the agent's
// certificate is not the trusted one. The agent must treat its text as unauthenticated.
type confirm struct {
	Refusal *refusal `json:"refusal,omitempty"`
	Proof   []byte   `json:"proof,omitempty"`
}

// verdict ends the preamble, agent to control plane.
type verdict struct {
	Refusal  *refusal `json:"refusal,omitempty"`
	Admitted bool     `json:"admitted"`
}

type refusal struct {
	Code   Code   `json:"code"`
	Reason string `json:"reason"`
}

// binding is what ties a proof to one TLS session between two certificates.
type binding struct {
	exporter [32]byte
	leaf     Thumbprint // agent's
	spki     SPKI       // control plane's
}

func newBinding(s tls.ConnectionState, leaf Thumbprint, spki SPKI) (binding, error) {
	raw, err := s.ExportKeyingMaterial(exporterName, nil, 32)
	if err != nil {
		return binding{}, fmt.Errorf("export keying material: %w", err)
	}
	return binding{exporter: [32]byte(raw), leaf: leaf, spki: spki}, nil
}

// proofMAC computes the HMAC of a proof over role and X. Each field is preceded by its
// length, so that two different exchanges never hash the same bytes.
func (b binding) proofMAC(k Key, role string, h hello, a answer) []byte {
	m := hmac.New(sha256.New, k.bytes[:])
	for _, field := range [][]byte{
		[]byte(role), []byte(proofLabel), []byte(alpn),
		b.exporter[:], b.leaf[:], b.spki[:],
		[]byte(h.NodeID), []byte(h.Kid), h.Nonce, a.Nonce, encodeUint64(h.Epoch),
		encodeUint64(uint64(h.Protocol)), []byte(h.Build),
		encodeUint64(uint64(a.Protocol)), []byte(a.Build),
	} {
		m.Write(encodeUint64(uint64(len(field))))
		m.Write(field)
	}
	return m.Sum(nil)
}

func encodeUint64(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

func newNonce() []byte {
	nonce := make([]byte, nonceLen)
	_, _ = rand.Read(nonce) // never fails: the process dies instead
	return nonce
}

// requestProof is the control plane's steps 1 and 2: afterwards the far end of
// this TLS session is known to hold the token, and knows nothing of us yet.
func requestProof(rw io.ReadWriter, b binding, k Key, h hello) (answer, error) {
	if err := writeFrame(rw, h); err != nil {
		return answer{}, fmt.Errorf("send hello: %w", explainProofErr(err))
	}
	var a answer
	if err := readFrame(rw, &a); err != nil {
		return a, fmt.Errorf("read the agent's proof: %w", explainProofErr(err))
	}
	if a.Refusal != nil {
		return a, a.Refusal.asError()
	}
	if len(a.Nonce) != nonceLen || !k.set || !hmac.Equal(a.Proof, b.proofMAC(k, roleAgent, h, a)) {
		return a, ErrIntercepted
	}
	return a, nil
}

// sendProof is the control plane's step 3 and the agent's verdict.
func sendProof(rw io.ReadWriter, b binding, k Key, h hello, a answer) error {
	if err := writeFrame(rw, confirm{Proof: b.proofMAC(k, roleControl, h, a)}); err != nil {
		return fmt.Errorf("send proof: %w", err)
	}
	var v verdict
	if err := readFrame(rw, &v); err != nil {
		return fmt.Errorf("read the agent's verdict: %w", explainProofErr(err))
	}
	if v.Refusal != nil {
		return v.Refusal.asError()
	}
	if !v.Admitted {
		return fmt.Errorf("%w: verdict says neither yes nor no", ErrNotAgent)
	}
	return nil
}

// explainProofErr distinguishes why the peer did not complete the proof: it is not an
// agent, it rejected our certificate, or it closed the connection.
func explainProofErr(err error) error {
	var op *net.OpError
	switch {
	case errors.Is(err, errFrame):
		return fmt.Errorf("%w (%w)", ErrNotAgent, err)
	case errors.As(err, &op) && op.Op == "remote error":
		// In TLS 1.3 the client is done first; the server's no to our
		// certificate arrives as an alert on the first read.
		return &RefusedError{Code: CodeRefused,
			Reason: "the agent does not accept this control plane's certificate: " +
				"its token was made by another one"}
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF),
		errors.Is(err, syscall.ECONNRESET):
		return fmt.Errorf("the far end hung up: %w", err)
	}
	return err
}

func (r refusal) asError() error {
	reason := r.Reason
	if len(reason) > 200 {
		reason = reason[:200]
	}
	return &RefusedError{Code: r.Code, Reason: reason}
}

// prover is the agent's end of the proof.
type prover struct {
	build    Build
	verifier Verifier
}

// errUnproven is why a connection ends before the proof, for our own log.
var errUnproven = errors.New("no proof of the token")

// answerProof is the agent's part of all steps. admit is called when the far
// end has proven itself; only its nil lets the connection live.
func (p prover) answerProof(
	rw io.ReadWriter, b binding, admit func(Peer) error,
) (Peer, error) {
	q, err := p.readHello(rw, b)
	if err != nil {
		return Peer{}, errors.Join(err, writeFrame(rw, answer{Refusal: constantRefusal()}))
	}
	h, a := q.hello, q.answer
	if err := writeFrame(rw, a); err != nil {
		return Peer{}, fmt.Errorf("send proof: %w", err)
	}
	var c confirm
	if err := readFrame(rw, &c); err != nil {
		return Peer{}, fmt.Errorf("%w: %w", errUnproven, err)
	}
	if c.Refusal != nil {
		return Peer{}, fmt.Errorf("%w: %w", errUnproven, c.Refusal.asError())
	}
	if !hmac.Equal(c.Proof, b.proofMAC(q.key, roleControl, h, a)) {
		err := fmt.Errorf("%w: it is wrong", errUnproven)
		return Peer{}, errors.Join(err, writeFrame(rw, verdict{Refusal: constantRefusal()}))
	}
	peer := Peer{Thumbprint: b.leaf, SPKI: b.spki, NodeID: h.NodeID, Kid: h.Kid,
		Epoch: h.Epoch, Build: h.Build, Protocol: h.Protocol, TunnelsOnly: q.tunnelsOnly}
	return peer, p.sendVerdict(rw, peer, admit)
}

// readHello reads step 1 and prepares step 2. For an unknown token ID it does the same work
// with a random key, so that timing does not reveal which IDs exist.
func (p prover) readHello(rw io.Reader, b binding) (question, error) {
	var h hello
	if err := readFrame(rw, &h); err != nil {
		return question{}, fmt.Errorf("%w: %w", errUnproven, err)
	}
	if !h.isValid() {
		return question{}, fmt.Errorf("%w: hello has impossible fields", errUnproven)
	}
	key, tunnelsOnly, unknown := p.verifier.Key(h.Kid, b.spki)
	if unknown != nil || !key.set {
		key = Key{bytes: [keyLen]byte(newNonce()), set: true}
		if unknown == nil {
			unknown = ErrUnknownKid
		}
		unknown = fmt.Errorf("%w: kid %s: %w", errUnproven, h.Kid, unknown)
	}
	a := answer{Nonce: newNonce(), Protocol: Protocol, Build: p.build}
	a.Proof = b.proofMAC(key, roleAgent, h, a)
	return question{hello: h, answer: a, key: key, tunnelsOnly: tunnelsOnly}, unknown
}

// question is the agent's side of a proof after step 1: what it was asked, what it answers,
// and what the far end has to prove.
type question struct {
	hello       hello
	answer      answer
	key         Key
	tunnelsOnly bool
}

func (h hello) isValid() bool {
	return validKid(h.Kid) && len(h.Nonce) == nonceLen &&
		h.NodeID != "" && len(h.NodeID) <= maxNameLen &&
		h.Build != "" && len(h.Build) <= maxNameLen && h.Protocol > 0
}

// sendVerdict reports to a proven control plane whether it may send commands, and why not. The
// release is compared last, so that an incompatible peer is still admitted and stored as
// known.
func (p prover) sendVerdict(rw io.Writer, peer Peer, admit func(Peer) error) error {
	err := admit(peer)
	if err == nil && (peer.Build != p.build || peer.Protocol != Protocol) {
		err = &IncompatibleError{Ours: p.build, Theirs: peer.Build,
			OurProtocol: Protocol, TheirProtocol: peer.Protocol, Peer: peer}
	}
	if err == nil {
		return writeFrame(rw, verdict{Admitted: true})
	}
	return errors.Join(err, writeFrame(rw, verdict{Refusal: knownRefusal(err)}))
}

func constantRefusal() *refusal { return &refusal{Code: CodeRefused, Reason: refusalText} }

func knownRefusal(err error) *refusal {
	switch {
	case errors.Is(err, ErrStaleEpoch):
		return &refusal{Code: CodeStaleEpoch, Reason: ErrStaleEpoch.Error()}
	case errors.Is(err, ErrOtherNode):
		return &refusal{Code: CodeOtherNode, Reason: ErrOtherNode.Error()}
	case errors.Is(err, ErrIncompatible):
		return &refusal{Code: CodeIncompatible, Reason: ErrIncompatible.Error()}
	}
	return constantRefusal()
}
