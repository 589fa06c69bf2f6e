package wire

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

// Thumbprint is SHA-256 of a leaf certificate's DER. The zero value means
// "none known yet".
type Thumbprint [32]byte

// ThumbprintOf reads a certificate's.
func ThumbprintOf(leaf *x509.Certificate) Thumbprint { return sha256.Sum256(leaf.Raw) }

// SPKIOf reads a certificate's public key fingerprint.
func SPKIOf(leaf *x509.Certificate) SPKI {
	return sha256.Sum256(leaf.RawSubjectPublicKeyInfo)
}

// ParseThumbprint takes 64 hex digits of either case, with or without the
// colons that openssl and String print.
func ParseThumbprint(text string) (Thumbprint, error) {
	bare := strings.NewReplacer(":", "", " ", "").Replace(strings.TrimSpace(text))
	raw, err := hex.DecodeString(bare)
	if err != nil || len(raw) != len(Thumbprint{}) {
		return Thumbprint{}, fmt.Errorf(
			"thumbprint %.80q is not 64 hex digits (colons allowed): "+
				"copy it from the agent's first log lines", text)
	}
	return Thumbprint(raw), nil
}

// IsZero reports whether no thumbprint is known.
func (t Thumbprint) IsZero() bool { return t == Thumbprint{} }

// String prints upper-case pairs with colons, as openssl x509 -fingerprint does.
func (t Thumbprint) String() string {
	pairs := make([]string, len(t))
	for i, b := range t {
		pairs[i] = fmt.Sprintf("%02X", b)
	}
	return strings.Join(pairs, ":")
}

// MarshalText is String; the zero value is the empty text.
func (t Thumbprint) MarshalText() ([]byte, error) {
	if t.IsZero() {
		return nil, nil
	}
	return []byte(t.String()), nil
}

// UnmarshalText parses the form that MarshalText writes.
func (t *Thumbprint) UnmarshalText(text []byte) (err error) {
	*t = Thumbprint{}
	if len(text) > 0 {
		*t, err = ParseThumbprint(string(text))
	}
	return err
}

// clientTLS is the control plane's end. The pin is the whole trust: names,
// issuers and dates of a self-signed certificate mean nothing, so the usual
// verification is off and VerifyConnection, which also runs on resumption,
// takes its place. It runs before our certificate or any byte of ours leaves.
func clientTLS(own *Identity, want Thumbprint) *tls.Config {
	c := commonTLS(own)
	c.InsecureSkipVerify = true
	c.VerifyConnection = func(s tls.ConnectionState) error {
		leaf, err := peerLeaf(s)
		if err != nil {
			return err
		}
		got := ThumbprintOf(leaf)
		if !want.IsZero() && !hmac.Equal(want[:], got[:]) {
			return &UntrustedError{Want: want, Got: got}
		}
		return nil
	}
	return c
}

// serverTLS is the agent's end: it requires a client certificate, and fails the handshake
// unless a token of this agent names the certificate's key.
func serverTLS(own *Identity, trusts func(SPKI) bool) *tls.Config {
	c := commonTLS(own)
	c.ClientAuth = tls.RequireAnyClientCert
	c.VerifyConnection = func(s tls.ConnectionState) error {
		leaf, err := peerLeaf(s)
		if err != nil {
			return err
		}
		if !trusts(SPKIOf(leaf)) {
			return errUnknownClient
		}
		return nil
	}
	return c
}

var errUnknownClient = errors.New("client certificate is not our control plane's")

func commonTLS(own *Identity) *tls.Config {
	return &tls.Config{
		MinVersion:             tls.VersionTLS13,
		MaxVersion:             tls.VersionTLS13,
		NextProtos:             []string{alpn},
		SessionTicketsDisabled: true,
		Certificates:           []tls.Certificate{own.tlsCertificate()},
	}
}

// peerLeaf returns the peer's certificate. It also verifies our ALPN, because Go accepts a
// peer that negotiates none.
func peerLeaf(s tls.ConnectionState) (*x509.Certificate, error) {
	if s.NegotiatedProtocol != alpn {
		return nil, ErrNotAgent
	}
	if len(s.PeerCertificates) == 0 {
		return nil, fmt.Errorf("%w: it shows no certificate", ErrNotAgent)
	}
	return s.PeerCertificates[0], nil
}
