package catalog

import (
	"context"
	"net/netip"
	"strings"

	"golang.org/x/net/publicsuffix"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
)

// isSameSite reports whether two hosts are under one registrable domain: then
// cookies that one of them sets can reach the other. Addresses and names that
// are a public suffix themselves, such as localhost, share nothing.
func isSameSite(a, b string) bool {
	if _, err := netip.ParseAddr(strings.Trim(a, "[]")); err == nil {
		return false
	}
	one, err := publicsuffix.EffectiveTLDPlusOne(strings.ToLower(a))
	if err != nil {
		return false
	}
	other, err := publicsuffix.EffectiveTLDPlusOne(strings.ToLower(b))
	return err == nil && one == other
}

// IsRegistrable reports whether a host is a registrable domain itself, such as example.org:
// what is below it may be anything of its owner.
func IsRegistrable(host string) bool {
	top, err := publicsuffix.EffectiveTLDPlusOne(strings.ToLower(host))
	return err == nil && top == strings.ToLower(host)
}

// checkSibling refuses an environment on the UI's domain: a deployment there could set
// cookies for the UI, or imitate it.
func (c *Catalog) checkSibling(name, domain string) error {
	if c.uiHost == "" || !isSameSite(c.uiHost, name+"."+domain) {
		return nil
	}
	if c.shared {
		c.log.Warn("the UI shares a domain with deployments, which can set cookies for it",
			"environment", name, "domain", domain, "ui", c.uiHost)
		return nil
	}
	return controlplane.NewInvalidError("domain", "domain_of_ui",
		"deployments in "+name+"."+domain+" could set cookies for the UI at "+c.uiHost,
		"Use another registrable domain for deployments, or set ingress.shared and accept that.")
}

// CheckDomains refuses to start while an environment shares the UI's domain.
func (c *Catalog) CheckDomains(ctx context.Context, actor access.Actor) error {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return err
	}
	var all []controlplane.Zone
	err := c.store.Read(ctx, func(tx *postgres.Tx) error {
		front, err := tx.Gates().GetIngressConfig(ctx)
		all = front.Zones
		return err
	})
	for _, z := range all {
		if err == nil {
			err = c.checkSibling(z.Name, z.Domain)
		}
	}
	return err
}
