package catalog

import (
	"errors"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/seal"
)

// valueKeys is the key ring with errors that people may see: they name the value that
// waits for a key in Vault, and say what to do.
type valueKeys struct{ *seal.Keyring }

// Seal is seal.Keyring.Seal.
func (k valueKeys) Seal(p seal.Location, plain []byte) ([]byte, error) {
	out, err := k.Keyring.Seal(p, plain)
	return out, explainWaiting(err)
}

// Open is seal.Keyring.Open.
func (k valueKeys) Open(p seal.Location, sealed []byte) ([]byte, error) {
	out, err := k.Keyring.Open(p, sealed)
	return out, explainWaiting(err)
}

// Rewrap is seal.Keyring.Rewrap.
func (k valueKeys) Rewrap(p seal.Location, sealed []byte) ([]byte, bool, error) {
	out, changed, err := k.Keyring.Rewrap(p, sealed)
	return out, changed, explainWaiting(err)
}

// retryWaiting is when a value that waits for its key may be tried again.
const retryWaiting = 5 * time.Second

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
		RetryAfter: retryWaiting, Cause: w,
	}
	if errors.Is(w, seal.ErrRefused) {
		out.Message = w.Value.String() + " waits for its sealing key " + w.Key + " (" + w.Source +
			"), which refuses the control plane"
		out.Remedy = "Check the control plane's role and policy in Vault; docs/vault.md lists " +
			"what it needs. The control plane's log says what Vault answered."
	}
	return out
}
