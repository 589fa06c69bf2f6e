package seal

import (
	"context"
	"crypto/cipher"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
)

// LocalKeys are master keys in this process's memory, newest first.
type LocalKeys struct {
	keys   []key
	source string
}

var _ Wrapper = (*LocalKeys)(nil)

type key struct {
	kid  string
	aead cipher.AEAD
}

// sampleKey is the key in the documentation. It is refused, because it is public.
const sampleKey = "c2FtcGxlLWtleS1vZi10aGUtZG9jdW1lbnRhdGlvbiE="

// String hides the keys from every way of printing them.
func (l *LocalKeys) String() string { return "[keys]" }

// GoString hides the keys from %#v.
func (l *LocalKeys) GoString() string { return "[keys]" }

// Source implements Wrapper.
func (l *LocalKeys) Source() string { return l.source }

// KeyIDs implements Wrapper.
func (l *LocalKeys) KeyIDs() []string {
	kids := make([]string, len(l.keys))
	for i, k := range l.keys {
		kids[i] = k.kid
	}
	return kids
}

// Refresh implements Wrapper: keys of a setting change with a restart only.
func (l *LocalKeys) Refresh(context.Context) error { return nil }

// Wrap implements Wrapper.
func (l *LocalKeys) Wrap(
	_ context.Context, dek, bound []byte,
) (kid string, wrapped []byte, err error) {
	first := l.keys[0]
	return first.kid, first.aead.Seal(nil, nil, dek, bound), nil
}

// Unwrap implements Wrapper.
func (l *LocalKeys) Unwrap(
	_ context.Context, kid string, wrapped, bound []byte,
) (dek []byte, err error) {
	for _, k := range l.keys {
		if k.kid != kid {
			continue
		}
		if dek, err = k.aead.Open(nil, nil, wrapped, bound); err == nil {
			return dek, nil
		}
	}
	return nil, ErrUnopened
}

// ParseLocalKeys reads "k2:base64,k1:base64", newest first. It refuses keys that
// protect nothing, and says how to make a real one. Its errors hold no key.
func ParseLocalKeys(setting string) (*LocalKeys, error) {
	if strings.TrimSpace(setting) == "" {
		return nil, errors.New("no master key is set")
	}
	l := &LocalKeys{source: "local"}
	seen := map[string]bool{}
	for i, entry := range strings.Split(setting, ",") {
		k, err := parseKey(strings.TrimSpace(entry))
		if err != nil {
			return nil, fmt.Errorf("master key %d: %w", i+1, err)
		}
		if seen[k.kid] {
			return nil, fmt.Errorf("master key %d: the name %s is there twice", i+1, k.kid)
		}
		seen[k.kid] = true
		l.keys = append(l.keys, k)
	}
	return l, nil
}

// NewKey makes one entry for ParseKeyring: the name, a colon, and 32 random
// bytes in base64.
func NewKey(kid string) (string, error) {
	if !validKid(kid) {
		return "", fmt.Errorf("key name %q: use 1 to 20 letters and digits", kid)
	}
	b := make([]byte, keySize)
	if _, err := rand.Read(b); err != nil {
		return "", fmt.Errorf("make key: %w", err)
	}
	return kid + ":" + base64.StdEncoding.EncodeToString(b), nil
}

func parseKey(entry string) (key, error) {
	kid, encoded, ok := strings.Cut(entry, ":")
	if !ok || !validKid(kid) {
		return key{}, errors.New("write it as name:base64, with a name of letters and digits")
	}
	b, err := decodeBase64(encoded)
	if err != nil {
		return key{}, errors.New("what follows the name is not base64")
	}
	defer clear(b)
	if len(b) != keySize {
		return key{}, fmt.Errorf("it has %d bytes, AES-256 needs exactly %d", len(b), keySize)
	}
	if isWeak(b) {
		return key{}, errors.New("it is a sample or a pattern, not a random key")
	}
	aead, err := newGCM(b)
	return key{kid: kid, aead: aead}, err
}

// isWeak detects keys that are not random: the sample, and any with few different
// bytes. 32 random bytes have fewer than 16 different ones about once in 10^14 draws.
func isWeak(b []byte) bool {
	different := map[byte]bool{}
	for _, c := range b {
		different[c] = true
	}
	sample, err := decodeBase64(sampleKey)
	return err != nil || len(different) < 16 || subtle.ConstantTimeCompare(b, sample) == 1 ||
		hasConstantStep(b)
}

// hasConstantStep finds 00 01 02 … and the like: constant steps between bytes.
func hasConstantStep(b []byte) bool {
	step := b[1] - b[0]
	for i := 1; i < len(b); i++ {
		if b[i]-b[i-1] != step {
			return false
		}
	}
	return true
}

// decodeBase64 takes both alphabets, with and without padding.
func decodeBase64(s string) ([]byte, error) {
	s = strings.TrimRight(strings.NewReplacer("-", "+", "_", "/").Replace(s), "=")
	b, err := base64.RawStdEncoding.DecodeString(s)
	if err != nil {
		return nil, errors.New("not base64")
	}
	return b, nil
}

func validKid(kid string) bool {
	if kid == "" || len(kid) > 20 {
		return false
	}
	for _, c := range []byte(kid) {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') {
			return false
		}
	}
	return true
}
