// Package seal encrypts bytes for storage. Bytes in, bytes out: it knows
// neither the database nor what it protects.
//
// A sealed value is
//
//	format (1) | length of kid (1) | kid | wrapped DEK | nonce (12) | AES-256-GCM
//
// A fresh data key (DEK) encrypts each value, and the master key named by kid
// wraps only data keys: random nonces of one key never come near their limit.
// Both layers are bound to the place the value belongs to (table, row, column,
// version), so that a ciphertext moved to another row does not open.
//
// A [Wrapper] wraps the data keys: local keys, or a service that holds the
// master key. In format 1 the wrapped DEK has 60 bytes, as local keys make it;
// in format 2 two bytes in front of it hold its length.
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

// The first byte of every sealed value.
const (
	formatFixed  = 1
	formatLength = 2
)

const (
	keySize = 32
	// overhead is what GCM with a random nonce in front adds: 12 + 16 bytes.
	overhead    = 28
	wrappedSize = keySize + overhead
	// maxWrapped bounds what a service may return for a data key.
	maxWrapped = 4096
)

// ErrUnopened is returned for a value that cannot be opened: wrong key, wrong place,
// or changed bytes. Which one it was cannot be known.
var ErrUnopened = errors.New("sealed value does not open: " +
	"the key is wrong, or the value was changed or moved")

// Location is where a sealed value belongs. It is part of the encryption.
type Location struct {
	Table, Row, Column string
	// Version distinguishes values of the same cell.
	Version int
	// Label is how people know the value, such as "secret DB_PASSWORD". It is for errors
	// only and no part of the encryption.
	Label string
}

// String names the value for people.
func (p Location) String() string {
	if p.Label != "" {
		return p.Label
	}
	return p.Table + " " + p.Row
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
	ctx, cancel := r.callContext()
	defer cancel()
	kid, wrapped, err := r.wrappers[0].Wrap(ctx, dek, p.encode("key"))
	if err != nil {
		return nil, r.asWaiting(p, r.PrimaryKeyID(), err)
	}
	out, err := encodeHead(kid, wrapped)
	if err != nil {
		return nil, err
	}
	return data.Seal(out, nil, plain, p.encode("value")), nil
}

// Open decrypts what was sealed for this place under any key of the ring.
func (r *Keyring) Open(p Location, sealed []byte) ([]byte, error) {
	v, err := splitSealed(sealed)
	if err != nil {
		return nil, err
	}
	ctx, cancel := r.callContext()
	defer cancel()
	w, err := r.findWrapper(ctx, v.kid)
	if err != nil {
		return nil, r.asWaiting(p, v.kid, err)
	}
	dek, err := w.Unwrap(ctx, v.kid, v.wrapped, p.encode("key"))
	if err != nil {
		return nil, r.asWaiting(p, v.kid, err)
	}
	defer clear(dek)
	data, err := newGCM(dek)
	if err != nil {
		return nil, err
	}
	plain, err := data.Open(nil, nil, v.content, p.encode("value"))
	if err != nil {
		return nil, ErrUnopened
	}
	return plain, nil
}

// Rewrap seals a value under the first key of the ring. Changed is false, and the
// value the same, if it is under that key already.
func (r *Keyring) Rewrap(p Location, sealed []byte) (out []byte, changed bool, err error) {
	v, err := splitSealed(sealed)
	if err != nil {
		return nil, false, err
	}
	if v.kid == r.PrimaryKeyID() {
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
	v, err := splitSealed(sealed)
	return v.kid, err
}

// sealedValue is a sealed value in its parts.
type sealedValue struct {
	kid              string
	wrapped, content []byte
}

// encodeHead is what stands in front of the encrypted value. Format 1 is kept where it
// fits, because releases before format 2 read nothing else.
func encodeHead(kid string, wrapped []byte) ([]byte, error) {
	if !validKid(kid) || len(wrapped) > maxWrapped {
		return nil, fmt.Errorf("key %q wrapped a data key in %d bytes: a name has 1 to 20 letters "+
			"and digits, a wrapped key at most %d bytes", kid, len(wrapped), maxWrapped)
	}
	format := byte(formatFixed)
	if len(wrapped) != wrappedSize {
		format = formatLength
	}
	out := append([]byte{format, byte(len(kid))}, kid...)
	if format == formatLength {
		out = binary.BigEndian.AppendUint16(out, uint16(len(wrapped)))
	}
	return append(out, wrapped...), nil
}

func splitSealed(sealed []byte) (v sealedValue, err error) {
	if len(sealed) < 2 || sealed[0] != formatFixed && sealed[0] != formatLength {
		return v, ErrUnopened
	}
	format, n, rest := sealed[0], int(sealed[1]), sealed[2:]
	if n == 0 || len(rest) < n {
		return v, ErrUnopened
	}
	kid, rest := string(rest[:n]), rest[n:]
	size := wrappedSize
	if format == formatLength {
		if len(rest) < 2 {
			return v, ErrUnopened
		}
		size, rest = int(binary.BigEndian.Uint16(rest)), rest[2:]
	}
	if len(rest) < size+overhead {
		return v, ErrUnopened
	}
	return sealedValue{kid: kid, wrapped: rest[:size], content: rest[size:]}, nil
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
