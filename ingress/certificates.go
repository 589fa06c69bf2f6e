package ingress

import (
	"crypto/tls"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nullops/nullops/internal/idleconn"
)

// errNoCertificate ends a handshake; the client receives no further detail.
var errNoCertificate = errors.New("there is no certificate for this name")

// Certificates chooses what a client is shown: a given certificate that names the host, exactly or
// with a wildcard, or else one that the internal authority signs. It may be changed at any time;
// running handshakes use the old one.
type Certificates struct {
	// Issues says for which hosts the authority may sign: for any name below an environment,
	// whether something is there or not, so that a handshake reveals nothing about deployments.
	Issues func(host string) bool
	// Now is the clock. The default is time.Now.
	Now func() time.Time

	current atomic.Pointer[certificates]
}

type certificates struct {
	named  map[string]*tls.Certificate // "a.b" or "*.b"
	issuer *Issuer
}

// ParseKeyPair makes a certificate of PEM texts.
func ParseKeyPair(chain, key string) (tls.Certificate, error) {
	c, err := tls.X509KeyPair([]byte(chain), []byte(key))
	if err != nil {
		return c, errors.New("the key does not belong to the certificate") // nothing of the key
	}
	return c, nil
}

// Set puts other certificates in place of those before. Of two that name one
// host the one that lasts longer is shown. issuer may be nil.
func (c *Certificates) Set(given []tls.Certificate, issuer *Issuer) {
	next := &certificates{named: make(map[string]*tls.Certificate), issuer: issuer}
	for i := range given {
		for _, name := range given[i].Leaf.DNSNames {
			name = strings.ToLower(name)
			if old := next.named[name]; old == nil ||
				old.Leaf.NotAfter.Before(given[i].Leaf.NotAfter) {
				next.named[name] = &given[i]
			}
		}
	}
	c.current.Store(next)
}

// Get is tls.Config.GetCertificate.
func (c *Certificates) Get(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	host, ok := Canonical(hello.ServerName)
	all := c.current.Load()
	if !ok || all == nil {
		return nil, errNoCertificate
	}
	given := all.findFor(host)
	if given != nil && c.now().Before(given.Leaf.NotAfter) {
		return given, nil
	}
	if all.issuer != nil && c.Issues != nil && c.Issues(host) {
		return all.issuer.Issue(host, c.now())
	}
	if given != nil {
		return given, nil // a browser says best that it has expired
	}
	return nil, errNoCertificate
}

func (c *Certificates) now() time.Time {
	if c.Now == nil {
		return time.Now()
	}
	return c.Now()
}

// findFor prefers the host's own certificate to one of a wildcard.
func (c *certificates) findFor(host string) *tls.Certificate {
	if own := c.named[host]; own != nil {
		return own
	}
	_, parent, _ := strings.Cut(host, ".")
	return c.named["*."+parent]
}

// TLS is how the ingress speaks TLS: HTTP/2 and HTTP/1.1 over 1.2 or newer.
func (c *Certificates) TLS() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: c.Get,
		GetConfigForClient: coalesceHTTP2,
		CipherSuites:       CipherSuites(), NextProtos: []string{http2Protocol, "http/1.1"}}
}

const http2Protocol = "h2"

// coalesceHTTP2 has the pieces of answers over HTTP/2 written together. It leaves the configuration
// as it is.
func coalesceHTTP2(hello *tls.ClientHelloInfo) (*tls.Config, error) {
	if c := idleconn.FindConn(hello.Conn); c != nil &&
		slices.Contains(hello.SupportedProtos, http2Protocol) {
		c.Coalesce()
	}
	return nil, nil
}

// CipherSuites are those of TLS 1.2 with forward secrecy and authenticated encryption. Go's
// defaults still hold CBC modes. TLS 1.3 has suites of its own, which are all like that.
func CipherSuites() []uint16 {
	return []uint16{
		tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
		tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
		tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
		tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
	}
}

// Count says how many names have a given certificate, for logs.
func (c *Certificates) Count() string {
	all := c.current.Load()
	if all == nil {
		return "none"
	}
	return fmt.Sprintf("%d names, authority %v", len(all.named), all.issuer != nil)
}
