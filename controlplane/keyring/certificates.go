package keyring

import (
	"crypto"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/seal"
)

// SealCertificateKey seals the private key of a certificate that an admin uploaded.
func (k *Keyring) SealCertificateKey(
	id controlplane.CertificateID, key controlplane.Plain,
) (controlplane.Sealed, error) {
	return k.seal(certificateLocation(id), []byte(key.Reveal()))
}

// OpenCertificateKey opens the private key of an uploaded certificate.
func (k *Keyring) OpenCertificateKey(c controlplane.Certificate) (controlplane.Plain, error) {
	key, err := k.openText(certificateLocation(c.ID), c.Key)
	if err != nil {
		return key, fmt.Errorf("open key of certificate %s: %w", c.Name, err)
	}
	return key, nil
}

// SealAuthorityKey seals the private key of the internal authority.
func (k *Keyring) SealAuthorityKey(
	id controlplane.CertificateID, key crypto.Signer,
) (controlplane.Sealed, error) {
	return k.sealSigner(authorityLocation(id), key)
}

// OpenAuthorityKey opens the private key of the internal authority.
func (k *Keyring) OpenAuthorityKey(a controlplane.Authority) (controlplane.Plain, error) {
	key, err := k.openText(authorityLocation(a.ID), a.Key)
	if err != nil {
		return key, fmt.Errorf("open key of the certificate authority: %w", err)
	}
	return key, nil
}

// SealACMESecret seals the secret of the name server that an environment's orders use.
func (k *Keyring) SealACMESecret(
	id controlplane.EnvironmentID, secret controlplane.Plain,
) (controlplane.Sealed, error) {
	return k.seal(acmeSecretLocation(id), []byte(secret.Reveal()))
}

// OpenACMESecret opens the secret of an environment's name server.
func (k *Keyring) OpenACMESecret(
	id controlplane.EnvironmentID, sealed controlplane.Sealed,
) (controlplane.Plain, error) {
	secret, err := k.openText(acmeSecretLocation(id), sealed)
	if err != nil {
		return secret, fmt.Errorf("open name server secret of environment %s: %w", id, err)
	}
	return secret, nil
}

// SealACMEBinding seals the key of an environment's external account binding.
func (k *Keyring) SealACMEBinding(
	id controlplane.EnvironmentID, key controlplane.Plain,
) (controlplane.Sealed, error) {
	return k.seal(acmeBindingLocation(id), []byte(key.Reveal()))
}

// OpenACMEBinding opens the key of an environment's external account binding.
func (k *Keyring) OpenACMEBinding(
	id controlplane.EnvironmentID, sealed controlplane.Sealed,
) (controlplane.Plain, error) {
	key, err := k.openText(acmeBindingLocation(id), sealed)
	if err != nil {
		return key, fmt.Errorf("open account binding of environment %s: %w", id, err)
	}
	return key, nil
}

// SealACMEAccountKey seals the key of an account at an authority.
func (k *Keyring) SealACMEAccountKey(id string, key crypto.Signer) (controlplane.Sealed, error) {
	return k.sealSigner(acmeAccountLocation(id), key)
}

// OpenACMEAccountKey opens the key of an account at an authority.
func (k *Keyring) OpenACMEAccountKey(a controlplane.ACMEAccount) (crypto.Signer, error) {
	key, err := k.openSigner(acmeAccountLocation(a.ID), a.Key)
	if err != nil {
		return nil, fmt.Errorf("open ACME account: %w", err)
	}
	return key, nil
}

// SealOrderedKey seals the private key of a certificate that was ordered.
func (k *Keyring) SealOrderedKey(
	id controlplane.CertificateID, key crypto.Signer,
) (controlplane.Sealed, error) {
	return k.sealSigner(acmeKeyLocation(id), key)
}

// OpenOrderedKey opens the private key of an ordered certificate.
func (k *Keyring) OpenOrderedKey(c controlplane.ACMECertificate) (controlplane.Plain, error) {
	key, err := k.openText(acmeKeyLocation(c.ID), c.Key)
	if err != nil {
		return key, fmt.Errorf("open key of certificate %s: %w", c.Subject, err)
	}
	return key, nil
}

func (k *Keyring) sealSigner(at seal.Location, key crypto.Signer) (controlplane.Sealed, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encode a key: %w", err)
	}
	return k.seal(at, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
}

func (k *Keyring) openSigner(
	at seal.Location, sealed controlplane.Sealed,
) (crypto.Signer, error) {
	text, err := k.open(at, sealed)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, errors.New("it is no key")
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	signer, ok := key.(crypto.Signer)
	if err != nil || !ok {
		return nil, errors.New("it is no key to sign with")
	}
	return signer, nil
}
