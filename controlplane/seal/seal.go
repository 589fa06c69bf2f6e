// Package seal encrypts bytes for storage. Bytes in, bytes out: it knows
// neither the database nor what it protects.
//
// A sealed value is
//
//	version (1) | length of kid (1) | kid | wrapped DEK (60) | nonce (12) | AES-256-GCM
//
// A fresh data key (DEK) encrypts each value, and the master key named by kid
// wraps only data keys: random nonces of one key never come near their limit.
// Both layers are bound to the place the value belongs to (table, row, column,
// version), so that a ciphertext moved to another row does not open.
package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
)

// format is the first byte of every sealed value.
const format = 1

const (
	keySize = 32
	// overhead is what GCM with a random nonce in front adds: 12 + 16 bytes.
	overhead    = 28
	wrappedSize = keySize + overhead
)

// ErrUnopened is returned for a value that cannot be opened: wrong key, wrong place,
// or changed bytes. Which one it was cannot be known.
var ErrUnopened = errors.New("sealed value does not open: " +
	"the key is wrong, or the value was changed or moved")

// Location is where a sealed value belongs. It is part of the encryption.
type Location struct {
	Table, Row, Column string
	// Version tells values of the same cell apart.
	Version int
}

// encode is unambiguous: each part is preceded by its length.
func (p Location) encode(layer string) []byte {
	var b []byte
	for _, part := range []string{layer, p.Table, p.Row, p.Column, strconv.Itoa(p.Version)} {
		b = binary.BigEndian.AppendUint32(b, uint32(len(part)))
		b = append(b, part...)
	}
	return b
}

// Seal encrypts under the first key of the ring, for one place.
func (r *Keyring) Seal(p Location, plain []byte) ([]byte, error) {
	dek := make([]byte, keySize)
	if _, err := rand.Read(dek); err != nil {
		return nil, fmt.Errorf("make data key: %w", err)
	}
	defer clear(dek)
	data, err := newGCM(dek)
	if err != nil {
		return nil, err
	}
	first := r.keys[0]
	out := append([]byte{format, byte(len(first.kid))}, first.kid...)
	out = first.aead.Seal(out, nil, dek, p.encode("key"))
	return data.Seal(out, nil, plain, p.encode("value")), nil
}

// Open decrypts what was sealed for this place under any key of the ring.
func (r *Keyring) Open(p Location, sealed []byte) ([]byte, error) {
	kid, rest, err := splitSealed(sealed)
	if err != nil {
		return nil, err
	}
	k, err := r.findKey(kid)
	if err != nil {
		return nil, err
	}
	dek, err := k.aead.Open(nil, nil, rest[:wrappedSize], p.encode("key"))
	if err != nil {
		return nil, ErrUnopened
	}
	defer clear(dek)
	data, err := newGCM(dek)
	if err != nil {
		return nil, err
	}
	plain, err := data.Open(nil, nil, rest[wrappedSize:], p.encode("value"))
	if err != nil {
		return nil, ErrUnopened
	}
	return plain, nil
}

// Rewrap seals a value under the first key of the ring. Changed is false, and the
// value the same, if it is under that key already.
func (r *Keyring) Rewrap(p Location, sealed []byte) (out []byte, changed bool, err error) {
	kid, _, err := splitSealed(sealed)
	if err != nil {
		return nil, false, err
	}
	if kid == r.keys[0].kid {
		return sealed, false, nil
	}
	plain, err := r.Open(p, sealed)
	if err != nil {
		return nil, false, err
	}
	defer clear(plain)
	out, err = r.Seal(p, plain)
	return out, err == nil, err
}

// KidOf names the key that a value is sealed under.
func KidOf(sealed []byte) (string, error) {
	kid, _, err := splitSealed(sealed)
	return kid, err
}

func splitSealed(sealed []byte) (kid string, rest []byte, err error) {
	if len(sealed) < 2 || sealed[0] != format {
		return "", nil, ErrUnopened
	}
	n := int(sealed[1])
	rest = sealed[2:]
	if n == 0 || len(rest) < n+wrappedSize+overhead {
		return "", nil, ErrUnopened
	}
	return string(rest[:n]), rest[n:], nil
}

// newGCM puts a random nonce in front of what it seals.
func newGCM(key []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("make cipher: %w", err)
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, fmt.Errorf("make cipher: %w", err)
	}
	return aead, nil
}
