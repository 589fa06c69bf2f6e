package keyring

import (
	"crypto/rand"
	"fmt"

	"github.com/nullops/nullops/controlplane"
)

// NewRunKey creates the 32-byte key that encrypts a run's secret outputs on its node,
// and returns it sealed.
func (k *Keyring) NewRunKey(run controlplane.RunID) (controlplane.Sealed, error) {
	key := make([]byte, 32)
	if _, err := rand.Read(key); err != nil {
		return nil, fmt.Errorf("make run key: %w", err)
	}
	defer clear(key)
	return k.SealRunKey(run, key)
}

// SealRunKey seals the key that a node still has of a run whose row was lost. Without one it
// creates another; values sealed with the old one cannot be opened again.
func (k *Keyring) SealRunKey(run controlplane.RunID, key []byte) (controlplane.Sealed, error) {
	if len(key) == 0 {
		return k.NewRunKey(run)
	}
	sealed, err := k.seal(runKeyLocation(run), key)
	if err != nil {
		return nil, fmt.Errorf("seal run key: %w", err)
	}
	return sealed, nil
}

// OpenRunKey opens the key of a run.
func (k *Keyring) OpenRunKey(run controlplane.RunID, key controlplane.Sealed) ([]byte, error) {
	plain, err := k.open(runKeyLocation(run), key)
	if err != nil {
		return nil, fmt.Errorf("open key of run %s: %w", run, err)
	}
	return plain, nil
}

// SealRunSecret seals a value with the run that uses it.
func (k *Keyring) SealRunSecret(run controlplane.RunID, name string,
	value controlplane.Plain) (controlplane.Sealed, error) {
	sealed, err := k.seal(runSecretLocation(run, name), []byte(value.Reveal()))
	if err != nil {
		return nil, fmt.Errorf("seal secret %s with run %s: %w", name, run, err)
	}
	return sealed, nil
}

// OpenRunSecret opens a value that was sealed with a run.
func (k *Keyring) OpenRunSecret(run controlplane.RunID, name string,
	sealed controlplane.Sealed) (controlplane.Plain, error) {
	value, err := k.openText(runSecretLocation(run, name), sealed)
	if err != nil {
		return value, fmt.Errorf("open secret %s of run %s: %w", name, run, err)
	}
	return value, nil
}

// SealGenerated seals a value that was generated for a deployment, so that it is the same at
// the next opening.
func (k *Keyring) SealGenerated(deployment controlplane.DeploymentID, name string,
	value controlplane.Plain) (controlplane.Sealed, error) {
	sealed, err := k.seal(generatedLocation(deployment, name), []byte(value.Reveal()))
	if err != nil {
		return nil, fmt.Errorf("seal generated secret %s: %w", name, err)
	}
	return sealed, nil
}

// OpenGenerated opens a value that was generated for a deployment.
func (k *Keyring) OpenGenerated(deployment controlplane.DeploymentID, name string,
	sealed controlplane.Sealed) (controlplane.Plain, error) {
	value, err := k.openText(generatedLocation(deployment, name), sealed)
	if err != nil {
		return value, fmt.Errorf("open generated secret %s: %w", name, err)
	}
	return value, nil
}
