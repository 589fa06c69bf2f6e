package seal

import (
	"crypto/cipher"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
)

// Keyring holds the master keys, newest first. It never prints them.
type Keyring struct{ keys []key }

type key struct {
	kid  string
	aead cipher.AEAD
}

// sampleKey is the key in the documentation. It is refused, because it is public.
const sampleKey = "c2FtcGxlLWtleS1vZi10aGUtZG9jdW1lbnRhdGlvbiE="

// String hides the keys from every way of printing the ring.
func (r *Keyring) String() string { return "[keyring]" }

// GoString hides the keys from %#v.
func (r *Keyring) GoString() string { return "[keyring]" }

// PrimaryKeyID names the key that new values are sealed under.
func (r *Keyring) PrimaryKeyID() string { return r.keys[0].kid }

// KeyIDs names all keys, newest first.
func (r *Keyring) KeyIDs() []string {
	kids := make([]string, len(r.keys))
	for i, k := range r.keys {
		kids[i] = k.kid
	}
	return kids
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

// ParseKeyring reads "k2:base64,k1:base64", newest first. It refuses keys that
// protect nothing, and says how to make a real one. Its errors hold no key.
func ParseKeyring(setting string) (*Keyring, error) {
	if strings.TrimSpace(setting) == "" {
		return nil, errors.New("no master key is set")
	}
	r := &Keyring{}
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
		r.keys = append(r.keys, k)
	}
	return r, nil
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

func (r *Keyring) findKey(kid string) (key, error) {
	for _, k := range r.keys {
		if k.kid == kid {
			return k, nil
		}
	}
	return key{}, fmt.Errorf("master key %s is not in the ring: %w", kid, ErrUnopened)
}
