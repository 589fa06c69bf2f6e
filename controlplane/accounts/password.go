package accounts

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"runtime"

	"github.com/alexedwards/argon2id"
	"golang.org/x/crypto/argon2"
	"golang.org/x/text/unicode/norm"

	"github.com/nullops/nullops/controlplane"
)

// Lengths of passwords in bytes. The upper one bounds the work of one guess.
const (
	minPassword = 12
	maxPassword = 1024
)

// mostAtOnce × 64 MiB is the memory that hashing may use; waiting is how many requests may queue
// for it. Others get an error that asks to try again.
const (
	mostAtOnce = 4
	waiting    = 16
)

// atOnce leaves one processor to other requests, if there is more than one: each hash uses as many
// processors as it has lanes.
func atOnce(p *argon2id.Params) int {
	return min(mostAtOnce, max(1, (runtime.NumCPU()-1)/max(1, int(p.Parallelism))))
}

type hasher struct {
	params *argon2id.Params
	// dummy makes an unknown name cost what a wrong password costs.
	dummy string
	queue chan struct{}
	slots chan struct{}
}

func newHasher(p *argon2id.Params) (*hasher, error) {
	h := &hasher{
		params: p,
		queue:  make(chan struct{}, atOnce(p)+waiting), slots: make(chan struct{}, atOnce(p)),
	}
	h.dummy = dummyHash(p)
	if _, _, _, err := argon2id.DecodeHash(h.dummy); err != nil {
		return nil, fmt.Errorf("hash parameters: %w", err)
	}
	return h, nil
}

// dummyHash has the form of a hash but matches no password. Computing a real one would take the
// memory of a sign-in, at every start.
func dummyHash(p *argon2id.Params) string {
	random := func(n uint32) string {
		b := make([]byte, n)
		_, _ = rand.Read(b) // never fails, says its documentation
		return base64.RawStdEncoding.EncodeToString(b)
	}
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, p.Memory,
		p.Iterations, p.Parallelism, random(p.SaltLength), random(p.KeyLength))
}

// acquireSlot waits for a free slot, or refuses at once when too many wait.
func (h *hasher) acquireSlot(ctx context.Context) (leave func(), err error) {
	select {
	case h.queue <- struct{}{}:
	default:
		return nil, busyError()
	}
	select {
	case h.slots <- struct{}{}:
		return func() { <-h.slots; <-h.queue }, nil
	case <-ctx.Done():
		<-h.queue
		return nil, fmt.Errorf("wait to hash: %w", context.Cause(ctx))
	}
}

func (h *hasher) hashPassword(ctx context.Context, password controlplane.Plain) (string, error) {
	leave, err := h.acquireSlot(ctx)
	if err != nil {
		return "", err
	}
	defer leave()
	hash, err := argon2id.CreateHash(normalizePassword(password), h.params)
	if err != nil {
		return "", fmt.Errorf("hash password: %w", err)
	}
	return hash, nil
}

// verifyPassword compares a password with a hash, or with a dummy when there is none.
// weak says that the hash was made with less work than we ask for now, or with
// other lanes.
func (h *hasher) verifyPassword(
	ctx context.Context, password controlplane.Plain, hash string,
) (ok, weak bool, err error) {
	leave, err := h.acquireSlot(ctx)
	if err != nil {
		return false, false, err
	}
	defer leave()
	known := hash != ""
	if !known {
		hash = h.dummy
	}
	match, p, err := argon2id.CheckHash(normalizePassword(password), hash)
	if err != nil {
		return false, false, fmt.Errorf("compare password: %w", err)
	}
	weak = p.Memory < h.params.Memory || p.Iterations < h.params.Iterations ||
		p.Parallelism != h.params.Parallelism
	return match && known, weak, nil
}

// normalizePassword makes the same password of the same keys on every keyboard.
func normalizePassword(p controlplane.Plain) string { return norm.NFC.String(p.Reveal()) }

func validPassword(field string, p controlplane.Plain) error {
	if n := len(p.Reveal()); n >= minPassword && n <= maxPassword {
		return nil
	}
	return &controlplane.Error{
		Kind: controlplane.Invalid, Code: "password_length", Field: field,
		Message: fmt.Sprintf("a password has %d to %d bytes", minPassword, maxPassword),
		Remedy:  "Choose another one; a few random words are good.",
	}
}
