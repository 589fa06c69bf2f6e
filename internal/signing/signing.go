// Package signing states which program belongs to which release, and signs that statement. A
// release has one statement for each program; 'nullops version --verify' holds the running program
// to it. The key is an ed25519 key in PEM, as openssl makes them.
package signing

import (
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Statement is what a release says about one program.
type Statement struct {
	Release  string
	Platform string // such as linux/amd64
	SHA256   string // of the program, in hexadecimal
}

// statementFormat is the one line that is signed. Its first words keep the signature from being
// taken for one of something else.
const statementFormat = "nullops program of release %s for %s: sha256:%s\n"

// Sign returns the statement with its signature, as a file.
func Sign(key ed25519.PrivateKey, s Statement) []byte {
	text := fmt.Sprintf(statementFormat, s.Release, s.Platform, s.SHA256)
	return []byte(text + base64.StdEncoding.EncodeToString(ed25519.Sign(key, []byte(text))) + "\n")
}

// ErrNotSigned means that the signature is not this key's, or that the statement was changed.
var ErrNotSigned = errors.New("the signature does not match the statement and the key")

// Verify reads a file that Sign made, and returns its statement if the key has signed it.
func Verify(key ed25519.PublicKey, file []byte) (s Statement, err error) {
	text, signature, ok := strings.Cut(string(file), "\n")
	if !ok {
		return s, errors.New("the signature file has not two lines")
	}
	raw, err := base64.StdEncoding.DecodeString(strings.TrimSpace(signature))
	if err != nil {
		return s, fmt.Errorf("read the signature: %w", err)
	}
	if !ed25519.Verify(key, []byte(text+"\n"), raw) {
		return s, ErrNotSigned
	}
	words := strings.Fields(text)
	if len(words) != 8 {
		return s, errors.New("the statement has another form: verify with a program of that release")
	}
	return Statement{Release: words[4], Platform: strings.TrimSuffix(words[6], ":"),
		SHA256: strings.TrimPrefix(words[7], "sha256:")}, nil
}

// HashProgram is the SHA-256 of a program, as statements have it.
func HashProgram(program io.Reader) (string, error) {
	h := sha256.New()
	if _, err := io.Copy(h, program); err != nil {
		return "", fmt.Errorf("read the program: %w", err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// ReadPrivateKey reads what 'openssl genpkey -algorithm ed25519' writes.
func ReadPrivateKey(text []byte) (ed25519.PrivateKey, error) {
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, errors.New("the key is not PEM: make one with openssl genpkey -algorithm ed25519")
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("read the signing key: %w", err)
	}
	private, ok := key.(ed25519.PrivateKey)
	if !ok {
		return nil, errors.New("the key is not ed25519: make one with openssl genpkey -algorithm ed25519")
	}
	return private, nil
}

// ReadPublicKey reads a public key in PEM, or in the one line that FormatPublicKey makes.
func ReadPublicKey(text string) (ed25519.PublicKey, error) {
	if block, _ := pem.Decode([]byte(text)); block != nil {
		key, err := x509.ParsePKIXPublicKey(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("read the public key: %w", err)
		}
		if public, ok := key.(ed25519.PublicKey); ok {
			return public, nil
		}
		return nil, errors.New("the public key is not ed25519")
	}
	raw, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
	if err != nil || len(raw) != ed25519.PublicKeySize {
		return nil, errors.New("the public key is neither PEM nor 32 bytes in base64")
	}
	return raw, nil
}

// FormatPublicKey is the key in one line.
func FormatPublicKey(key ed25519.PublicKey) string {
	return base64.StdEncoding.EncodeToString(key)
}
