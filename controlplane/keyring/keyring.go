// Package keyring seals and opens the secrets that the database holds: each under a
// master key, and bound to its row, so that a value moved to another row does not open.
//
// It is the only package that opens them. Others ask it for the value of one row, after
// they have checked who asks, and write the audit entry. It also checks the master keys
// at the start, lists them, and seals everything anew when they are rotated.
package keyring

import (
	"errors"
	"log/slog"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/controlplane/seal"
)

// Keyring seals and opens what the store holds. It is safe for concurrent use.
type Keyring struct {
	store *postgres.Store
	keys  *seal.Keyring
	log   *slog.Logger
	// Used hears of each value that was sealed or opened; nil hears of nothing.
	Used func(operation string, err error)
}

func (k *Keyring) countUse(operation string, err error) {
	if k.Used != nil {
		k.Used(operation, err)
	}
}

// New makes the keyring of a store from its master keys.
func New(store *postgres.Store, keys *seal.Keyring, log *slog.Logger) *Keyring {
	return &Keyring{store: store, keys: keys, log: log}
}

// RequireSystem refuses all actors but the control plane's own tasks: opened secrets are not for
// people, not even admins.
func RequireSystem(actor access.Actor) error {
	if actor.IsSystem() {
		return nil
	}
	return &controlplane.Error{
		Kind: controlplane.Forbidden, Code: "forbidden",
		Message: "only the control plane itself may open secrets",
		Remedy:  "Set a new value instead; stored ones cannot be read back.",
	}
}

// seal is seal.Keyring.Seal with errors that people may see: they name the value that
// waits for a key in Vault, and say what to do.
func (k *Keyring) seal(at seal.Location, plain []byte) (controlplane.Sealed, error) {
	out, err := k.keys.Seal(at, plain)
	k.countUse("seal", err)
	return out, explainWaiting(err)
}

// open is seal.Keyring.Open with errors that people may see.
func (k *Keyring) open(at seal.Location, sealed controlplane.Sealed) ([]byte, error) {
	out, err := k.keys.Open(at, sealed)
	k.countUse("open", err)
	return out, explainWaiting(err)
}

// openText opens what is a text.
func (k *Keyring) openText(
	at seal.Location, sealed controlplane.Sealed,
) (controlplane.Plain, error) {
	b, err := k.open(at, sealed)
	if err != nil {
		return controlplane.Plain{}, err
	}
	defer clear(b)
	return controlplane.NewPlain(string(b)), nil
}

// rewrap is seal.Keyring.Rewrap with errors that people may see.
func (k *Keyring) rewrap(at seal.Location, sealed []byte) ([]byte, error) {
	out, _, err := k.keys.Rewrap(at, sealed)
	k.countUse("rewrap", err)
	return out, explainWaiting(err)
}

// RetryWaiting is when a value that waits for Vault may be tried again.
const RetryWaiting = 5 * time.Second

// explainWaiting leaves other errors as they are.
func explainWaiting(err error) error {
	w, ok := errors.AsType[*seal.WaitingError](err)
	if !ok {
		return err
	}
	out := &controlplane.Error{
		Kind: controlplane.Unavailable, Code: "sealing_key_unavailable",
		Message: w.Value.String() + " waits for its sealing key " + w.Key + " (" + w.Source +
			"), which does not answer",
		Remedy: "Check that Vault runs and is unsealed, and that the control plane reaches it. " +
			"Then try again.",
		RetryAfter: RetryWaiting, Cause: w,
	}
	if errors.Is(w, seal.ErrRefused) {
		out.Message = w.Value.String() + " waits for its sealing key " + w.Key + " (" + w.Source +
			"), which refuses the control plane"
		out.Remedy = "Check the control plane's role and policy in Vault; docs/vault.md lists " +
			"what it needs. The control plane's log says what Vault answered."
	}
	return out
}
