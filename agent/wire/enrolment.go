package wire

import (
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
)

// enrolmentContext starts what is signed, so that the signature means nothing elsewhere.
const enrolmentContext = "nullops enrolment 1\n"

// SignEnrolment proves to whoever knows the provisioning token that this identity's key is ours.
func (i *Identity) SignEnrolment(token string) ([]byte, error) {
	signed, hash := []byte(enrolmentContext+token), crypto.Hash(0)
	if _, whole := i.key.Public().(ed25519.PublicKey); !whole {
		sum := sha256.Sum256(signed)
		signed, hash = sum[:], crypto.SHA256
	}
	signature, err := i.key.Sign(rand.Reader, signed, hash)
	if err != nil {
		return nil, fmt.Errorf("sign the enrolment: %w", err)
	}
	return signature, nil
}

// CertDER is the certificate, as its thumbprint is made of it.
func (i *Identity) CertDER() []byte { return append([]byte(nil), i.leaf.Raw...) }
