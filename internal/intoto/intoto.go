// Package intoto writes and verifies signed in-toto statements: what somebody attests of a set of
// artifacts, in a DSSE envelope, in a Sigstore bundle. Registries hold such bundles beside images,
// and cosign and admission controllers read them.
//
// It signs with a key, not with a certificate: nothing is published in a transparency log.
package intoto

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
)

// BundleType is the media type of a bundle.
const BundleType = "application/vnd.dev.sigstore.bundle.v0.3+json"

// StatementType is the type of all statements.
const StatementType = "https://in-toto.io/Statement/v1"

// payloadType is the media type of a statement in an envelope.
const payloadType = "application/vnd.in-toto+json"

// Statement says something of all of its subjects together.
type Statement struct {
	Type          string    `json:"_type"`
	Subject       []Subject `json:"subject"`
	PredicateType string    `json:"predicateType"`
	Predicate     any       `json:"predicate"`
}

// Subject is one artifact; the digest has the algorithm's name as its key.
type Subject struct {
	Name   string            `json:"name"`
	Digest map[string]string `json:"digest"`
}

type bundle struct {
	MediaType    string   `json:"mediaType"`
	Verification material `json:"verificationMaterial"`
	Envelope     envelope `json:"dsseEnvelope"`
}

type material struct {
	PublicKey hint `json:"publicKey"`
}

// hint tells keys apart; it is no proof of anything.
type hint struct {
	Hint string `json:"hint"`
}

type envelope struct {
	Payload     []byte      `json:"payload"`
	PayloadType string      `json:"payloadType"`
	Signatures  []signature `json:"signatures"`
}

type signature struct {
	Sig []byte `json:"sig"`
}

// Sign returns the statement in a signed bundle. The key is one of ECDSA on P-256.
func Sign(key crypto.Signer, s Statement) ([]byte, error) {
	payload, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("write statement: %w", err)
	}
	sum := sha256.Sum256(encodePayload(payloadType, payload))
	sig, err := key.Sign(rand.Reader, sum[:], crypto.SHA256)
	if err != nil {
		return nil, fmt.Errorf("sign statement: %w", err)
	}
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return nil, fmt.Errorf("write public key: %w", err)
	}
	return json.Marshal(bundle{MediaType: BundleType,
		Verification: material{PublicKey: hint{hintOf(der)}},
		Envelope: envelope{Payload: payload, PayloadType: payloadType,
			Signatures: []signature{{Sig: sig}}}})
}

// KeyHint is what bundles say of a public key in PEM, to tell keys apart; empty if it is none.
func KeyHint(publicKey string) string {
	block, _ := pem.Decode([]byte(publicKey))
	if block == nil {
		return ""
	}
	return hintOf(block.Bytes)
}

func hintOf(der []byte) string {
	id := sha256.Sum256(der)
	return base64.StdEncoding.EncodeToString(id[:])
}

// ErrNotSigned means that a bundle was not signed with the key, or was changed since.
var ErrNotSigned = errors.New("the signature does not match the statement and the key")

// Verify returns the statement of a bundle that the key has signed; its predicate is a
// json.RawMessage.
func Verify(publicKey string, content []byte) (s Statement, err error) {
	key, err := readPublicKey(publicKey)
	if err != nil {
		return s, err
	}
	var b bundle
	if err := json.Unmarshal(content, &b); err != nil {
		return s, fmt.Errorf("read bundle: %w", err)
	}
	sum := sha256.Sum256(encodePayload(b.Envelope.PayloadType, b.Envelope.Payload))
	if len(b.Envelope.Signatures) != 1 || b.Envelope.PayloadType != payloadType ||
		!ecdsa.VerifyASN1(key, sum[:], b.Envelope.Signatures[0].Sig) {
		return s, ErrNotSigned
	}
	var raw json.RawMessage
	s.Predicate = &raw
	if err := json.Unmarshal(b.Envelope.Payload, &s); err != nil {
		return s, fmt.Errorf("read statement: %w", err)
	}
	s.Predicate = raw
	return s, nil
}

func readPublicKey(text string) (*ecdsa.PublicKey, error) {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return nil, errors.New("the public key is not PEM")
	}
	key, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("read public key: %w", err)
	}
	public, ok := key.(*ecdsa.PublicKey)
	if !ok {
		return nil, errors.New("the public key is not one of ECDSA")
	}
	return public, nil
}

// encodePayload is the pre-authentication encoding of DSSE: what is signed.
func encodePayload(kind string, payload []byte) []byte {
	return fmt.Appendf(nil, "DSSEv1 %d %s %d %s", len(kind), kind, len(payload), payload)
}
