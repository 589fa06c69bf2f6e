package catalog

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/controlplane/seal"
)

// ACMEOrder is all that it takes to order one certificate, opened.
type ACMEOrder struct {
	controlplane.ACME
	// Secret is the name server's, Binding the key of the external account binding, if the
	// authority requires one.
	Secret  controlplane.Plain
	Binding controlplane.Plain
	// Account is nil until there is one at the directory.
	Account *ACMEAccount
}

// ACMEAccount is ours at a directory, with its key.
type ACMEAccount struct {
	ID       string
	Location string
	Key      crypto.Signer
}

// OpenACME opens the secrets of one order and audits that; ok is false if the environment no longer
// orders certificates.
func (c *Catalog) OpenACME(
	ctx context.Context, actor access.Actor, id controlplane.EnvironmentID,
) (o ACMEOrder, ok bool, err error) {
	object := "environment " + string(id)
	err = c.changeAsAdmin(ctx, actor, "open certificate orders", object, func(tx *postgres.Tx) error {
		if o.ACME, ok, err = tx.ACME().Get(ctx, id); err != nil || !ok {
			return err
		}
		if len(o.DNSSecret) > 0 {
			secret, err := c.keys.Open(acmeSecretPlace(id), o.DNSSecret)
			if err != nil {
				return fmt.Errorf("open name server secret of %s: %w", object, err)
			}
			o.Secret = controlplane.NewPlain(string(secret))
		}
		if len(o.EABKey) > 0 {
			key, err := c.keys.Open(acmeBindingPlace(id), o.EABKey)
			if err != nil {
				return fmt.Errorf("open account binding of %s: %w", object, err)
			}
			o.Binding = controlplane.NewPlain(string(key))
		}
		a, has, err := tx.ACME().GetAccount(ctx, o.Directory, o.Email, o.EABKeyID)
		if err != nil || !has {
			return err
		}
		key, err := openSigner(c.keys, acmeAccountPlace(a.ID), a.Key)
		if err != nil {
			return fmt.Errorf("open ACME account: %w", err)
		}
		o.Account = &ACMEAccount{ID: a.ID, Location: a.Location, Key: key}
		return nil
	})
	return o, ok, err
}

// StoreACMEAccount stores the account that was made for an order.
func (c *Catalog) StoreACMEAccount(
	ctx context.Context, actor access.Actor, o ACMEOrder,
) error {
	return c.changeAsAdmin(ctx, actor, "make ACME account", o.Directory, func(tx *postgres.Tx) error {
		id := string(controlplane.NewID[controlplane.CertificateID]())
		key, err := sealSigner(c.keys, acmeAccountPlace(id), o.Account.Key)
		if err != nil {
			return err
		}
		return tx.ACME().InsertAccount(ctx, controlplane.ACMEAccount{ID: id, Directory: o.Directory,
			Email: o.Email, EABKeyID: o.EABKeyID, Location: o.Account.Location, Key: key})
	})
}

// DropACMEAccount forgets an account that the authority does not know.
func (c *Catalog) DropACMEAccount(ctx context.Context, actor access.Actor, id string) error {
	return c.changeAsAdmin(ctx, actor, "forget ACME account", id, func(tx *postgres.Tx) error {
		return tx.ACME().DeleteAccount(ctx, id)
	})
}

// StoreOrderedCertificate stores a certificate and its key. One from an authority that the
// environment does not use now is dropped: the new one's is due.
func (c *Catalog) StoreOrderedCertificate(
	ctx context.Context, actor access.Actor, from ACMEOrder, got controlplane.ACMECertificate,
	key crypto.Signer,
) error {
	return c.changeAsAdmin(ctx, actor, "keep ordered certificate", got.Subject,
		func(tx *postgres.Tx) error {
			directory, roots, ok, err := tx.ACME().LockAuthority(ctx, got.Environment)
			if err != nil || ok && (directory != from.Directory || roots != from.Roots) {
				return err
			}
			sealed, err := sealSigner(c.keys, acmeKeyPlace(got.ID), key)
			if err != nil {
				return err
			}
			got.Key = sealed
			return tx.ACME().RecordOrder(ctx, got, c.now())
		})
}

// OrderedCertificates lists what environments ordered, for the ingress to know
// what changed.
func (c *Catalog) OrderedCertificates(
	ctx context.Context, actor access.Actor,
) (all []controlplane.ACMECertificate, err error) {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return nil, err
	}
	err = c.store.Read(ctx, func(tx *postgres.Tx) (err error) {
		all, err = tx.ACME().ListCertificates(ctx, "")
		return err
	})
	return all, err
}

// openOrdered opens what came by orders, for the ingress.
func (c *Catalog) openOrdered(
	ctx context.Context, tx *postgres.Tx,
) (out []controlplane.ServedCertificate, err error) {
	all, err := tx.ACME().ListCertificates(ctx, "")
	for _, one := range all {
		if one.Chain == "" {
			continue
		}
		key, failed := c.keys.Open(acmeKeyPlace(one.ID), one.Key)
		if failed != nil {
			return nil, fmt.Errorf("open key of certificate %s: %w", one.Subject, failed)
		}
		out = append(out, controlplane.ServedCertificate{Name: one.Subject, Chain: one.Chain,
			Key: controlplane.NewPlain(string(key))})
	}
	return out, err
}

// ACMEAnswer is a host's answer to an authority's challenge; ok is false if nothing
// was ordered.
func (c *Catalog) ACMEAnswer(
	ctx context.Context, actor access.Actor, host, token string,
) (answer string, ok bool, err error) {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return "", false, err
	}
	err = c.store.Read(ctx, func(tx *postgres.Tx) (err error) {
		answer, ok, err = tx.ACME().GetChallenge(ctx, host, token)
		return err
	})
	return answer, ok, err
}

func sealSigner(
	keys valueKeys, at seal.Location, key crypto.Signer,
) (controlplane.Sealed, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encode a key: %w", err)
	}
	return keys.Seal(at, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
}

func openSigner(
	keys valueKeys, at seal.Location, sealed controlplane.Sealed,
) (crypto.Signer, error) {
	text, err := keys.Open(at, sealed)
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

// NewACMEKey makes the key of an account or of a certificate.
func NewACMEKey() (crypto.Signer, error) {
	return ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
}
