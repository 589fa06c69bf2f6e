package certificates

import (
	"context"
	"crypto/x509"
	"encoding/base64"
	"net"
	"net/mail"
	"net/url"
	"strings"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/keyring"
	"github.com/nullops/nullops/controlplane/postgres"
)

// ACMEPut is an admin's settings for ordering certificates. A nil Secret keeps the
// stored one, and so does a nil Binding, which is the key of EABKeyID.
type ACMEPut struct {
	controlplane.ACME
	Secret  *controlplane.Plain
	Binding *controlplane.Plain
}

// ACME returns how an environment orders certificates, and the state of its orders; ok
// is false if it orders none.
func (c *Certificates) ACME(
	ctx context.Context, actor access.Actor, environment string,
) (a controlplane.ACME, all []controlplane.ACMECertificate, ok bool, err error) {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return a, nil, false, err
	}
	err = c.store.Read(ctx, func(tx *postgres.Tx) error {
		e, err := tx.EnvironmentByName(ctx, environment)
		if err != nil {
			return err
		}
		if a, ok, err = tx.ACME(ctx, e.ID); err != nil {
			return err
		}
		all, err = tx.ACMECertificates(ctx, e.ID)
		return err
	})
	return a, all, ok, err
}

// PutACME sets how an environment orders certificates.
func (c *Certificates) PutACME(
	ctx context.Context, actor access.Actor, environment string, p ACMEPut,
) error {
	return c.changeAsAdmin(ctx, actor, "set certificate orders", "environment "+environment,
		func(tx *postgres.Tx) error {
			e, err := tx.EnvironmentByName(ctx, environment)
			if err != nil {
				return err
			}
			old, _, err := tx.ACME(ctx, e.ID) // none is another authority, too
			if err != nil {
				return err
			}
			if p.DNSSecret = old.DNSSecret; p.changesDNS(old) {
				p.DNSSecret = nil // a key is only ever sent to where it was given for
			}
			if p.EABKey = old.EABKey; p.Directory != old.Directory || p.EABKeyID != old.EABKeyID {
				p.EABKey = nil
			}
			if err := p.checkBinding(); err != nil {
				return err
			}
			if err := p.sealSecrets(c.keys, e.ID); err != nil {
				return err
			}
			if err := p.check(); err != nil {
				return err
			}
			if err := tx.PutACME(ctx, e.ID, p.ACME); err != nil {
				return err
			}
			if p.Directory != old.Directory || p.Roots != old.Roots {
				return tx.RenewACME(ctx, e.ID, c.now()) // what there is serves until then
			}
			return tx.RetryACME(ctx, e.ID, c.now())
		})
}

func (p *ACMEPut) changesDNS(old controlplane.ACME) bool {
	return p.DNS != old.DNS || p.DNSServer != old.DNSServer || p.DNSUser != old.DNSUser
}

func (p *ACMEPut) sealSecrets(keys *keyring.Keyring, id controlplane.EnvironmentID) (err error) {
	switch {
	case p.DNS == controlplane.NameServerNone:
		p.DNSSecret = nil
	case p.Secret != nil:
		p.DNSSecret, err = keys.SealACMESecret(id, *p.Secret)
	}
	if err == nil && p.EABKeyID != "" && p.Binding != nil {
		p.EABKey, err = keys.SealACMEBinding(id, *p.Binding)
	}
	return err
}

// checkBinding requires both halves of an external account binding, and a decodable
// key: authorities use either alphabet of base64.
func (p *ACMEPut) checkBinding() error {
	if p.EABKeyID == "" && p.Binding != nil {
		return controlplane.NewInvalidError("eab_key_id", "acme_eab_key_id", "the key has no id",
			"Give the key's id as the authority shows it, or leave out the key.")
	}
	if p.EABKeyID != "" && p.Binding == nil && len(p.EABKey) == 0 {
		return controlplane.NewInvalidError(
			"eab_key", "acme_eab_key", "the account's key is missing",
			"Give the MAC key that belongs to the id; again whenever id or directory change.")
	}
	if p.Binding == nil {
		return nil
	}
	key := strings.TrimRight(strings.NewReplacer("+", "-", "/", "_").Replace(p.Binding.Reveal()), "=")
	if raw, err := base64.RawURLEncoding.DecodeString(key); err != nil || len(raw) < 16 {
		return controlplane.NewInvalidError("eab_key", "acme_eab_key", "this is no MAC key",
			"Give it in base64, as the authority shows it.")
	}
	usable := controlplane.NewPlain(key)
	p.Binding = &usable
	return nil
}

func (p *ACMEPut) check() error {
	if err := p.checkAuthority(); err != nil {
		return err
	}
	switch p.Challenge {
	case controlplane.ChallengeHTTP:
		if p.DNS != controlplane.NameServerNone || p.DNSServer != "" || p.DNSUser != "" {
			return controlplane.NewInvalidError(
				"dns", "acme_dns_unused", "http-01 asks no name server",
				"Leave the name server out, or choose dns-01.")
		}
		return nil
	case controlplane.ChallengeDNS:
		return p.checkNameServer()
	default:
		return controlplane.NewInvalidError(
			"challenge", "acme_challenge", "this is not a challenge",
			"Use http-01 for single hosts, dns-01 for wildcards.")
	}
}

func (p *ACMEPut) checkAuthority() error {
	if u, err := url.Parse(p.Directory); err != nil || u.Scheme != "https" || u.Host == "" ||
		u.User != nil {
		return controlplane.NewInvalidError(
			"directory", "acme_directory", "the directory is no https:// address",
			"For Let's Encrypt: https://acme-v02.api.letsencrypt.org/directory; to try first: "+
				"https://acme-staging-v02.api.letsencrypt.org/directory.")
	}
	if p.Email != "" {
		if a, err := mail.ParseAddress(p.Email); err != nil || a.Address != p.Email {
			return controlplane.NewInvalidError(
				"email", "acme_email", "this is not an e-mail address",
				"Give one like ops@example.com, or none.")
		}
	}
	if p.Roots != "" && (len(p.Roots) > 65536 ||
		!x509.NewCertPool().AppendCertsFromPEM([]byte(p.Roots))) {
		return controlplane.NewInvalidError("roots", "acme_roots", "there is no certificate in it",
			"Give the directory's root certificate in PEM, or nothing for a public authority.")
	}
	return nil
}

func (p *ACMEPut) checkNameServer() error {
	switch p.DNS {
	case controlplane.NameServerUpdate:
		if host, port, err := net.SplitHostPort(p.DNSServer); err != nil || host == "" ||
			port == "" {
			return controlplane.NewInvalidError(
				"dns_server", "acme_dns_server", "the name server is not host:port",
				"Give the server that takes updates for the zone, as in ns1.example.com:53.")
		}
		if p.DNSUser == "" {
			return controlplane.NewInvalidError(
				"dns_user", "acme_dns_user", "the TSIG key has no name",
				"Give the key's name as the name server knows it.")
		}
	case controlplane.NameServerWebhook:
		if u, err := url.Parse(p.DNSServer); err != nil || u.Host == "" || u.User != nil ||
			u.Scheme != "https" && u.Scheme != "http" {
			return controlplane.NewInvalidError(
				"dns_server", "acme_dns_server", "the webhook is no address",
				"Give its URL; NullOps posts to URL/present and URL/cleanup.")
		}
	default:
		return controlplane.NewInvalidError(
			"dns", "acme_dns", "dns-01 needs a name server that is told",
			"Use rfc2136 for dynamic updates, or webhook.")
	}
	if len(p.DNSSecret) == 0 {
		return controlplane.NewInvalidError(
			"dns_secret", "acme_dns_secret", "the name server's secret is missing",
			"Give the TSIG key in base64, or the webhook's password; again whenever its server "+
				"or user changes.")
	}
	return nil
}

// DeleteACME ends ordering for an environment; existing certificates are still served.
func (c *Certificates) DeleteACME(
	ctx context.Context, actor access.Actor, environment string,
) error {
	return c.changeAsAdmin(ctx, actor, "end certificate orders", "environment "+environment,
		func(tx *postgres.Tx) error {
			e, err := tx.EnvironmentByName(ctx, environment)
			if err != nil {
				return err
			}
			gone, err := tx.DeleteACME(ctx, e.ID)
			if err == nil && !gone {
				err = controlplane.NewNotFoundError("certificate orders of environment", environment)
			}
			return err
		})
}

// RetryACME orders what failed again now.
func (c *Certificates) RetryACME(
	ctx context.Context, actor access.Actor, environment string,
) error {
	return c.changeAsAdmin(ctx, actor, "retry certificate orders", "environment "+environment,
		func(tx *postgres.Tx) error {
			e, err := tx.EnvironmentByName(ctx, environment)
			if err != nil {
				return err
			}
			return tx.RetryACME(ctx, e.ID, c.now())
		})
}
