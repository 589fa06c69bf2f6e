package certificates

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
)

// authorityLife is how long people need not install another root.
const authorityLife = 10 * 365 * 24 * time.Hour

// Authority returns the internal certificate authority, without its key. Its
// certificate is public: people install it as trusted.
func (c *Certificates) Authority(
	ctx context.Context, actor access.Actor,
) (a controlplane.Authority, err error) {
	if err := access.Check(actor, access.Public, access.Object{}); err != nil {
		return a, err
	}
	err = c.store.Read(ctx, func(tx *postgres.Tx) error {
		found, ok, err := tx.Authority(ctx)
		if err == nil && !ok {
			err = controlplane.NewNotFoundError("certificate authority", "internal")
		}
		found.Key = nil
		a = found
		return err
	})
	return a, err
}

// MakeAuthority makes the internal authority. Its key never leaves the
// control plane and its ingresses.
func (c *Certificates) MakeAuthority(
	ctx context.Context, actor access.Actor,
) (a controlplane.Authority, err error) {
	const object = "certificate authority"
	err = c.changeAsAdmin(
		ctx,
		actor,
		"make certificate authority",
		object,
		func(tx *postgres.Tx) error {
			if a, err = c.newAuthority(actor.Name()); err != nil {
				return err
			}
			made, err := tx.InsertAuthority(ctx, a)
			if err == nil && !made {
				err = &controlplane.Error{Kind: controlplane.Conflict, Code: "authority_exists",
					Message: "there is an internal certificate authority already",
					Remedy:  "Delete it first; then everybody has to trust the new one."}
			}
			return err
		},
	)
	a.Key = nil
	return a, err
}

func (c *Certificates) newAuthority(by string) (a controlplane.Authority, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return a, fmt.Errorf("make a key: %w", err)
	}
	a.ID = controlplane.NewID[controlplane.CertificateID]()
	a.CreatedBy, a.CreatedAt = by, c.now()
	raw, err := signAuthority(key, string(a.ID), a.CreatedAt)
	if err != nil {
		return a, err
	}
	leaf, err := x509.ParseCertificate(raw)
	if err != nil {
		return a, err
	}
	a.Certificate = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw}))
	a.CertificateFacts = controlplane.ReadCertificateFacts(leaf)
	a.Key, err = c.keys.SealAuthorityKey(a.ID, key)
	return a, err
}

func signAuthority(key *ecdsa.PrivateKey, id string, now time.Time) ([]byte, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, fmt.Errorf("make a serial number: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber: serial,
		// The id's end tells two authorities apart in a browser's list.
		Subject:   pkix.Name{CommonName: "NullOps internal authority " + id[len(id)-6:]},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(authorityLife),
		IsCA: true, MaxPathLenZero: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, fmt.Errorf("sign certificate authority: %w", err)
	}
	return raw, nil
}

// DeleteAuthority forgets the authority and its key.
func (c *Certificates) DeleteAuthority(ctx context.Context, actor access.Actor) error {
	const object = "certificate authority"
	return c.changeAsAdmin(ctx, actor, "delete certificate authority", object,
		func(tx *postgres.Tx) error {
			gone, err := tx.DeleteAuthority(ctx)
			if err == nil && !gone {
				err = controlplane.NewNotFoundError("certificate authority", "internal")
			}
			return err
		})
}

// OpenAuthority opens the authority's key for the ingress and audits that; ok is false if there is
// none.
func (c *Certificates) OpenAuthority(
	ctx context.Context, actor access.Actor,
) (out controlplane.ServedCertificate, ok bool, err error) {
	err = c.changeAsAdmin(ctx, actor, "open authority key", "ingress", func(tx *postgres.Tx) error {
		a, has, err := tx.Authority(ctx)
		if ok = has; err != nil || !has {
			return err
		}
		key, err := c.keys.OpenAuthorityKey(a)
		if err != nil {
			return err
		}
		out = controlplane.ServedCertificate{Name: "internal", Chain: a.Certificate, Key: key}
		return nil
	})
	return out, ok, err
}
