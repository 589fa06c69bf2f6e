package keyring

import (
	"fmt"

	"github.com/nullops/nullops/controlplane"
)

// SealSecret seals the value of a project's secret, for its version.
func (k *Keyring) SealSecret(
	s controlplane.Secret, value controlplane.Plain,
) (controlplane.Sealed, error) {
	sealed, err := k.seal(secretLocation(s), []byte(value.Reveal()))
	if err != nil {
		return nil, fmt.Errorf("seal secret: %w", err)
	}
	return sealed, nil
}

// OpenSecret opens the value of a project's secret.
func (k *Keyring) OpenSecret(s controlplane.Secret) (controlplane.Plain, error) {
	value, err := k.openText(secretLocation(s), s.Value)
	if err != nil {
		return value, fmt.Errorf("open secret %s: %w", s.Name, err)
	}
	return value, nil
}

// SealPassword seals the password of a registry.
func (k *Keyring) SealPassword(
	id controlplane.RegistryID, password controlplane.Plain,
) (controlplane.Sealed, error) {
	return k.seal(passwordLocation(id), []byte(password.Reveal()))
}

// OpenPassword opens the password of a registry, which is empty if it has none.
func (k *Keyring) OpenPassword(r controlplane.Registry) (controlplane.Plain, error) {
	if len(r.Password) == 0 {
		return controlplane.Plain{}, nil
	}
	password, err := k.openText(passwordLocation(r.ID), r.Password)
	if err != nil {
		return password, fmt.Errorf("open password of registry %s: %w", r.Name, err)
	}
	return password, nil
}

// SealSeed seals the seed of an authenticator app.
func (k *Keyring) SealSeed(
	id controlplane.FactorID, seed controlplane.Plain,
) (controlplane.Sealed, error) {
	return k.seal(seedLocation(id), []byte(seed.Reveal()))
}

// OpenSeed opens the seed of an authenticator app.
func (k *Keyring) OpenSeed(f controlplane.Factor) (controlplane.Plain, error) {
	seed, err := k.openText(seedLocation(f.ID), f.Seed)
	if err != nil {
		return seed, fmt.Errorf("open the seed of factor %s: %w", f.ID, err)
	}
	return seed, nil
}
