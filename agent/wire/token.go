package wire

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"log/slog"
	"strings"
)

// The shape of a token, all lengths in characters:
//
//	nopa1_<kid: 10>_<secret: 43>_<cp: 22>_<crc: 8>
//
// base64url may contain "_", so fields are cut by length, never by separator.
const (
	tokenPrefix = "nopa1"
	kidLen      = 10
	secretLen   = 43 // 256 bit in base64url
	cpLen       = 22 // 128 bit in base64url
	crcLen      = 8  // CRC-32 in hex: finds a truncated paste, nothing more
	tokenLen    = len(tokenPrefix) + kidLen + secretLen + cpLen + crcLen + 4
	// kidAlphabet has 32 letters without i, l, o and u: ids get read aloud.
	kidAlphabet = "0123456789abcdefghjkmnpqrstvwxyz"
)

// Token lets one control plane command one node. It is shown once and handed
// to the agent; the control plane keeps only the kid and the sealed Key.
type Token struct {
	// Kid names the token in databases and logs. It is not secret.
	Kid    string
	secret [32]byte
	cp     [16]byte
}

// NewToken makes a token for the control plane whose client key is cp.
func NewToken(cp SPKI) Token {
	var t Token
	_, _ = rand.Read(t.secret[:]) // never fails: the process dies instead
	var kid [kidLen]byte
	_, _ = rand.Read(kid[:])
	for i, b := range kid {
		kid[i] = kidAlphabet[b%32]
	}
	t.Kid = string(kid[:])
	copy(t.cp[:], cp[:])
	return t
}

// ParseToken reads what Reveal printed. Its errors wrap ErrBadToken, name the
// part that is wrong and never repeat what was given.
func ParseToken(text string) (Token, error) {
	text = strings.TrimSpace(text)
	kid, secret, cp, err := cutToken(text)
	if err != nil {
		return Token{}, fmt.Errorf("%w: %w", ErrBadToken, err)
	}
	t := Token{Kid: kid}
	if !decodeExact(t.secret[:], secret) {
		return Token{}, fmt.Errorf("%w: its secret part is damaged: copy it again", ErrBadToken)
	}
	if !decodeExact(t.cp[:], cp) {
		return Token{}, fmt.Errorf("%w: its control plane part is damaged: copy it again",
			ErrBadToken)
	}
	return t, nil
}

func cutToken(s string) (kid, secret, cp string, err error) {
	if !strings.HasPrefix(s, tokenPrefix+"_") {
		return "", "", "", fmt.Errorf("it must start with %q", tokenPrefix+"_")
	}
	if len(s) != tokenLen {
		return "", "", "", fmt.Errorf("it has %d characters instead of %d: copy it whole",
			len(s), tokenLen)
	}
	body, sum := s[:tokenLen-crcLen-1], s[tokenLen-crcLen-1:]
	if sum != "_"+tokenChecksum(body) {
		return "", "", "", errors.New("its checksum does not match: a character is wrong")
	}
	rest := body[len(tokenPrefix)+1:]
	kid, secret, cp = rest[:kidLen], rest[kidLen+1:kidLen+1+secretLen], rest[len(rest)-cpLen:]
	if !validKid(kid) {
		return "", "", "", errors.New("its id part is damaged: copy it again")
	}
	return kid, secret, cp, nil
}

func validKid(kid string) bool {
	return len(kid) == kidLen && strings.Trim(kid, kidAlphabet) == ""
}

func tokenChecksum(body string) string {
	return fmt.Sprintf("%08x", crc32.ChecksumIEEE([]byte(body)))
}

// decodeExact fills dst from its one canonical spelling: a token has no twins.
func decodeExact(dst []byte, text string) bool {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	return err == nil && copy(dst, raw) == len(dst) && len(raw) == len(dst)
}

// Reveal is the token itself, for the person who will paste it into the agent.
// Its other printed forms show the kid only.
func (t Token) Reveal() string {
	enc := base64.RawURLEncoding
	body := strings.Join([]string{tokenPrefix, t.Kid,
		enc.EncodeToString(t.secret[:]), enc.EncodeToString(t.cp[:])}, "_")
	return body + "_" + tokenChecksum(body)
}

// MadeBy reports whether this token names that control plane's client key.
func (t Token) MadeBy(cp SPKI) bool { return hmac.Equal(t.cp[:], cp[:len(t.cp)]) }

// Key derives what both ends compute proofs with.
func (t Token) Key() Key {
	hash := sha256.Sum256(append([]byte(tokenPrefix), t.secret[:]...))
	raw, err := hkdf.Key(sha256.New, hash[:], nil, "nullops agent auth v1", keyLen)
	if err != nil {
		// Only an absurd length can fail, and ours is a constant.
		panic("derive agent key: " + err.Error())
	}
	return Key{bytes: [keyLen]byte(raw), set: true}
}

// String hides the secret; so do the other ways of printing a token.
func (t Token) String() string               { return tokenPrefix + "_" + t.Kid + "_[secret]" }
func (t Token) GoString() string             { return t.String() }
func (t Token) Format(f fmt.State, _ rune)   { _, _ = f.Write([]byte(t.String())) }
func (t Token) LogValue() slog.Value         { return slog.StringValue(t.String()) }
func (t Token) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

const keyLen = 32

// Key is K of the proof. Its holder can act as either end, so it is sealed at rest and
// prints as [secret]. The zero Key proves nothing.
type Key struct {
	bytes [keyLen]byte
	set   bool
}

// KeyFromBytes restores a key from the result of Bytes, after unsealing.
func KeyFromBytes(raw []byte) (Key, error) {
	if len(raw) != keyLen {
		return Key{}, fmt.Errorf("agent key has %d bytes instead of %d", len(raw), keyLen)
	}
	return Key{bytes: [keyLen]byte(raw), set: true}, nil
}

// Bytes is the bare key, for sealing and nothing else.
func (k Key) Bytes() []byte { return append([]byte(nil), k.bytes[:]...) }

func (k Key) String() string               { return "[secret]" }
func (k Key) GoString() string             { return "[secret]" }
func (k Key) Format(f fmt.State, _ rune)   { _, _ = f.Write([]byte("[secret]")) }
func (k Key) LogValue() slog.Value         { return slog.StringValue("[secret]") }
func (k Key) MarshalText() ([]byte, error) { return []byte("[secret]"), nil }

// SPKI is SHA-256 of a certificate's public key: it outlives the certificate.
type SPKI [32]byte

func (s SPKI) String() string { return hex.EncodeToString(s[:]) }
