package registry

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"strings"
	"time"

	"github.com/nullops/nullops/controlplane"
)

// maxCA is how large a registry's bundle of authorities may be: a few dozen
// certificates.
const maxCA = 64 << 10

// CheckCA refuses what is not a bundle of certificates with at least one of an
// authority that is valid at this time. Nothing given is no bundle.
func CheckCA(bundle string, now time.Time) error {
	if strings.TrimSpace(bundle) == "" {
		return nil
	}
	if len(bundle) > maxCA {
		return controlplane.NewInvalidError("ca", "too_long",
			fmt.Sprintf("the authority's certificates have %d bytes, and at most %d are allowed",
				len(bundle), maxCA), "Give only the certificates of the registry's own authority.")
	}
	all, err := parseCA(bundle)
	if err != nil {
		return err
	}
	var expired *x509.Certificate
	for _, c := range all {
		switch {
		case !c.IsCA:
		case now.After(c.NotAfter):
			expired = c
		default:
			return nil
		}
	}
	if expired != nil {
		return controlplane.NewInvalidError("ca", "ca_expired",
			fmt.Sprintf("the authority %q has expired on %s",
				controlplane.ClipText(expired.Subject.String()), formatDay(expired.NotAfter)),
			"Give the certificate by which the authority signs now.")
	}
	return controlplane.NewInvalidError("ca", "ca_invalid",
		"this holds no certificate of an authority",
		"Give the certificate of the authority that signed the registry's certificate; "+
			"its basic constraints say CA:TRUE.")
}

// parseCA reads each certificate of a bundle. Text around the blocks is a
// comment, as in the system's own bundles.
func parseCA(bundle string) (all []*x509.Certificate, err error) {
	if strings.Contains(bundle, "PRIVATE KEY-----") {
		return nil, controlplane.NewInvalidError("ca", "ca_private_key", "this holds a private key",
			"Give certificates only. The key is the authority's secret: replace it if others "+
				"may have seen it.")
	}
	rest := []byte(bundle)
	for {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			return nil, controlplane.NewInvalidError("ca", "ca_invalid",
				fmt.Sprintf("this holds a PEM block %q, which is no certificate",
					controlplane.ClipText(block.Type)),
				"Give blocks of BEGIN CERTIFICATE only.")
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, controlplane.NewInvalidError("ca", "ca_invalid",
				fmt.Sprintf("certificate %d in ca cannot be read: %s", len(all)+1,
					controlplane.ClipText(err.Error())),
				"Copy the whole file again, without changes.")
		}
		all = append(all, c)
	}
	// The decoder leaves out blocks that it cannot read.
	if len(all) == 0 || len(all) != strings.Count(bundle, "-----BEGIN") {
		return nil, controlplane.NewInvalidError("ca", "ca_invalid",
			"this is not a bundle of certificates in PEM form",
			"Give it from -----BEGIN CERTIFICATE----- to -----END CERTIFICATE-----, with all lines "+
				"in between. A DER file becomes PEM by openssl x509 -inform der.")
	}
	return all, nil
}

// tlsConfig is what a registry's certificate is checked with: the system's authorities, and those
// of the registry. Nil means the system's authorities only.
func tlsConfig(r controlplane.Registry) *tls.Config {
	if r.CA == "" {
		return nil
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	pool.AppendCertsFromPEM([]byte(r.CA))
	return &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: pool}
}
