package certificates

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
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
func (c *Certificates) OpenACME(
	ctx context.Context, actor access.Actor, id controlplane.EnvironmentID,
) (o ACMEOrder, ok bool, err error) {
	object := "environment " + string(id)
	err = c.changeAsAdmin(ctx, actor, "open certificate orders", object, func(tx *postgres.Tx) error {
		if o.ACME, ok, err = tx.ACME().Get(ctx, id); err != nil || !ok {
			return err
		}
		if len(o.DNSSecret) > 0 {
			if o.Secret, err = c.keys.OpenACMESecret(id, o.DNSSecret); err != nil {
				return err
			}
		}
		if len(o.EABKey) > 0 {
			if o.Binding, err = c.keys.OpenACMEBinding(id, o.EABKey); err != nil {
				return err
			}
		}
		a, has, err := tx.ACME().GetAccount(ctx, o.Directory, o.Email, o.EABKeyID)
		if err != nil || !has {
			return err
		}
		key, err := c.keys.OpenACMEAccountKey(a)
		if err != nil {
			return err
		}
		o.Account = &ACMEAccount{ID: a.ID, Location: a.Location, Key: key}
		return nil
	})
	return o, ok, err
}

// StoreACMEAccount stores the account that was made for an order.
func (c *Certificates) StoreACMEAccount(
	ctx context.Context, actor access.Actor, o ACMEOrder,
) error {
	return c.changeAsAdmin(ctx, actor, "make ACME account", o.Directory, func(tx *postgres.Tx) error {
		id := string(controlplane.NewID[controlplane.CertificateID]())
		key, err := c.keys.SealACMEAccountKey(id, o.Account.Key)
		if err != nil {
			return err
		}
		return tx.ACME().InsertAccount(ctx, controlplane.ACMEAccount{ID: id, Directory: o.Directory,
			Email: o.Email, EABKeyID: o.EABKeyID, Location: o.Account.Location, Key: key})
	})
}

// DropACMEAccount forgets an account that the authority does not know.
func (c *Certificates) DropACMEAccount(ctx context.Context, actor access.Actor, id string) error {
	return c.changeAsAdmin(ctx, actor, "forget ACME account", id, func(tx *postgres.Tx) error {
		return tx.ACME().DeleteAccount(ctx, id)
	})
}

// StoreOrderedCertificate stores a certificate and its key. One from an authority that the
// environment does not use now is dropped: the new one's is due.
func (c *Certificates) StoreOrderedCertificate(
	ctx context.Context, actor access.Actor, from ACMEOrder, got controlplane.ACMECertificate,
	key crypto.Signer,
) error {
	return c.changeAsAdmin(ctx, actor, "keep ordered certificate", got.Subject,
		func(tx *postgres.Tx) error {
			directory, roots, ok, err := tx.ACME().LockAuthority(ctx, got.Environment)
			if err != nil || ok && (directory != from.Directory || roots != from.Roots) {
				return err
			}
			sealed, err := c.keys.SealOrderedKey(got.ID, key)
			if err != nil {
				return err
			}
			got.Key = sealed
			return tx.ACME().RecordOrder(ctx, got, c.now())
		})
}

// OrderedCertificates lists what environments ordered, for the ingress to know
// what changed.
func (c *Certificates) OrderedCertificates(
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

// openOrdered opens the certificates that were ordered, for the ingress.
func (c *Certificates) openOrdered(
	ctx context.Context, tx *postgres.Tx,
) (out []controlplane.ServedCertificate, err error) {
	all, err := tx.ACME().ListCertificates(ctx, "")
	for _, one := range all {
		if one.Chain == "" {
			continue
		}
		key, failed := c.keys.OpenOrderedKey(one)
		if failed != nil {
			return nil, failed
		}
		out = append(out, controlplane.ServedCertificate{Name: one.Subject, Chain: one.Chain,
			Key: key})
	}
	return out, err
}

// ACMEAnswer is a host's answer to an authority's challenge; ok is false if nothing
// was ordered.
func (c *Certificates) ACMEAnswer(
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

// NewACMEKey makes the key of an account or of a certificate.
func NewACMEKey() (crypto.Signer, error) {
	return ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
}

// OpenOrdered opens one that was ordered, for the UI. It is an entry of the audit.
func (c *Certificates) OpenOrdered(
	ctx context.Context, actor access.Actor, one controlplane.ACMECertificate,
) (out controlplane.ServedCertificate, err error) {
	err = c.changeAsAdmin(ctx, actor, "open certificate keys", "ui", func(*postgres.Tx) error {
		key, err := c.keys.OpenOrderedKey(one)
		out = controlplane.ServedCertificate{Name: one.Subject, Chain: one.Chain, Key: key}
		return err
	})
	return out, err
}
