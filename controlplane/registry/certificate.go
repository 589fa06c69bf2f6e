package registry

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/nullops/nullops/controlplane"
)

// certificateError explains what is wrong with a registry's certificate; nil if the
// failure has another cause.
func certificateError(r controlplane.Registry, err error) error {
	host := r.Host
	var authority x509.UnknownAuthorityError
	var name x509.HostnameError
	var unfit x509.CertificateInvalidError
	var failed *tls.CertificateVerificationError
	var plain tls.RecordHeaderError
	message, remedy := "", "Have its operator issue a new certificate."
	switch {
	case errors.As(err, &authority):
		message = fmt.Sprintf("registry %s has a certificate of an authority that NullOps does "+
			"not know%s", host, issuerOf(authority.Cert))
		remedy = trustAuthority(r)
	case errors.As(err, &name):
		message = fmt.Sprintf("the certificate of registry %s is not for this host%s", host,
			namesOf(name.Certificate))
		remedy = "Use the host that the certificate names, or have its operator issue one for this host."
	case errors.As(err, &unfit) && unfit.Reason == x509.Expired:
		message = fmt.Sprintf("the certificate of registry %s is valid from %s to %s only", host,
			formatDay(unfit.Cert.NotBefore), formatDay(unfit.Cert.NotAfter))
		remedy = "Have its operator renew the certificate; if it is valid, set this machine's clock."
	case errors.As(err, &failed):
		message = fmt.Sprintf("the certificate of registry %s is not valid: %s", host, failed.Err)
	case errors.As(err, &plain), errors.Is(err, http.ErrSchemeMismatch):
		message = "registry " + host + " does not speak HTTPS on this port"
		remedy = "Check the port, or give the registry a certificate."
	default:
		return nil
	}
	return unavailableError("registry_certificate", message, remedy, err)
}

// trustAuthority returns the remedy: how to make the authority of a registry known to the control
// plane and to the container engines that pull.
func trustAuthority(r controlplane.Registry) string {
	remedy := "Set the registry's ca to the certificate of its authority (PEM)"
	if r.CA != "" {
		remedy = "The registry's ca is another authority's: replace it by the certificate of " +
			"the one that signed"
	}
	return remedy + ". Docker on the nodes pulls by itself and needs the same file at " +
		"/etc/docker/certs.d/" + r.Host + "/ca.crt."
}

func issuerOf(c *x509.Certificate) string {
	if c == nil || c.Issuer.String() == "" {
		return ""
	}
	return ": " + clipLabel(controlplane.ClipText(c.Issuer.String()))
}

func namesOf(c *x509.Certificate) string {
	if c == nil || len(c.DNSNames) == 0 {
		return ""
	}
	return ", but for " + clipLabel(controlplane.ClipText(strings.Join(c.DNSNames, ", ")))
}

func formatDay(at time.Time) string { return at.UTC().Format("2 January 2006") }
