// Package certificates is what the ingress serves over HTTPS: certificates that admins
// upload, the internal authority, and those that environments order.
//
// It keeps the settings, the accounts and the results of orders. To speak with an
// authority is the work of package acme.
package certificates

import (
	"context"
	"crypto/ecdsa"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/audit"
	"github.com/nullops/nullops/controlplane/keyring"
	"github.com/nullops/nullops/controlplane/postgres"
)

// Config is what New needs.
type Config struct {
	Store *postgres.Store
	Keys  *keyring.Keyring
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Certificates is the door to what the ingress serves. It is safe for concurrent use.
type Certificates struct {
	store *postgres.Store
	keys  *keyring.Keyring
	now   func() time.Time
}

// New makes the use cases.
func New(c Config) *Certificates {
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Certificates{store: c.Store, keys: c.Keys, now: c.Now}
}

func (c *Certificates) changeAsAdmin(
	ctx context.Context, actor access.Actor, action, object string, fn func(*postgres.Tx) error,
) error {
	return audit.ChangeAsAdmin(ctx, c.store, actor, action, object, fn)
}

// Put is a certificate as an admin uploads it: chain and key in PEM.
type Put struct {
	Name  string
	Chain string
	Key   controlplane.Plain
}

// ListCertificates lists what the ingress serves.
func (c *Certificates) ListCertificates(
	ctx context.Context, actor access.Actor,
) (all []controlplane.Certificate, err error) {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return nil, err
	}
	err = c.store.Read(ctx, func(tx *postgres.Tx) (err error) {
		all, err = tx.Certificates(ctx)
		return err
	})
	return all, err
}

// PutCertificate stores a certificate, in place of the one of that name.
func (c *Certificates) PutCertificate(
	ctx context.Context, actor access.Actor, p Put,
) (out controlplane.Certificate, err error) {
	object := "certificate " + p.Name
	err = c.changeAsAdmin(ctx, actor, "put certificate", object, func(tx *postgres.Tx) error {
		if err := controlplane.ValidName("name", p.Name); err != nil {
			return err
		}
		leaf, err := c.checkCertificate(p)
		if err != nil {
			return err
		}
		old, err := tx.CertificateByName(ctx, p.Name)
		exists, err := controlplane.IsFound(err)
		if err != nil {
			return err
		}
		out = controlplane.Certificate{ID: old.ID, Name: p.Name, Chain: p.Chain,
			CreatedBy: actor.Name(), CreatedAt: c.now(),
			CertificateFacts: controlplane.ReadCertificateFacts(leaf)}
		if !exists {
			out.ID = controlplane.NewID[controlplane.CertificateID]()
		}
		out.Key, err = c.keys.SealCertificateKey(out.ID, p.Key)
		if err != nil {
			return err
		}
		return tx.PutCertificate(ctx, out)
	})
	return out, err
}

// checkCertificate refuses what browsers would refuse, so that the admin learns of it
// now.
func (c *Certificates) checkCertificate(p Put) (*x509.Certificate, error) {
	chain, err := controlplane.ReadCertificates(p.Chain)
	if err != nil || len(chain) > 10 || len(p.Chain) > 65536 {
		reason := "it is longer than a chain is"
		if err != nil {
			reason = err.Error()
		}
		return nil, controlplane.NewInvalidError(
			"chain", "certificate_unreadable", "the chain is not usable: "+reason,
			"Give certificates in PEM, the host's own first, without the root.")
	}
	pair, err := tls.X509KeyPair([]byte(p.Chain), []byte(p.Key.Reveal()))
	if err != nil || weakKey(pair) {
		// The library's text might repeat what it read.
		return nil, controlplane.NewInvalidError("key", "certificate_key",
			"the key is not the first certificate's private key, or is too weak",
			"Give the key in PEM, without a passphrase: RSA of 2048 bits or more, or ECDSA.")
	}
	if err := c.checkLeaf(chain[0]); err != nil {
		return nil, err
	}
	return chain[0], checkOrder(chain)
}

func (c *Certificates) checkLeaf(leaf *x509.Certificate) error {
	switch {
	case len(leaf.DNSNames) == 0:
		return controlplane.NewInvalidError(
			"chain", "certificate_hosts", "the certificate names no host",
			"Have it made with subject alternative names: browsers read nothing else.")
	case c.now().After(leaf.NotAfter):
		return controlplane.NewInvalidError(
			"chain", "certificate_expired", "the certificate expired on "+
				leaf.NotAfter.UTC().Format("2 Jan 2006"), "Upload its successor.")
	}
	return nil
}

func weakKey(pair tls.Certificate) bool {
	switch key := pair.PrivateKey.(type) {
	case *rsa.PrivateKey:
		return key.N.BitLen() < 2048
	case *ecdsa.PrivateKey:
		return false
	default:
		return true // browsers take no other
	}
}

// checkOrder requires that each certificate is signed by the next one.
func checkOrder(chain []*x509.Certificate) error {
	for i, cert := range chain[:len(chain)-1] {
		if err := cert.CheckSignatureFrom(chain[i+1]); err != nil {
			return controlplane.NewInvalidError("chain", "certificate_order",
				fmt.Sprintf("certificate %d is not signed by the one behind it", i+1),
				"Put the host's certificate first, then each one's issuer.")
		}
	}
	return nil
}

// DeleteCertificate deletes a certificate; its hosts fall back to another one that
// names them, or to the internal authority.
func (c *Certificates) DeleteCertificate(
	ctx context.Context, actor access.Actor, name string,
) error {
	object := "certificate " + name
	return c.changeAsAdmin(ctx, actor, "delete certificate", object, func(tx *postgres.Tx) error {
		return tx.DeleteCertificate(ctx, name)
	})
}

// OpenCertificates opens every key for the ingress, of what was uploaded and of
// what was ordered, and writes that down.
func (c *Certificates) OpenCertificates(
	ctx context.Context, actor access.Actor,
) (out []controlplane.ServedCertificate, err error) {
	err = c.changeAsAdmin(ctx, actor, "open certificate keys", "ingress", func(tx *postgres.Tx) error {
		all, err := tx.Certificates(ctx)
		out = make([]controlplane.ServedCertificate, len(all))
		for i, one := range all {
			key, failed := c.keys.OpenCertificateKey(one)
			if failed != nil {
				return failed
			}
			out[i] = controlplane.ServedCertificate{Name: one.Name, Chain: one.Chain, Key: key}
		}
		if err != nil {
			return err
		}
		ordered, err := c.openOrdered(ctx, tx)
		out = append(out, ordered...)
		return err
	})
	return out, err
}
