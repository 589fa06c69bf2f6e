package ingress

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"sync"
	"time"
)

const (
	// leafLife is short, so that certificates need no revocation.
	leafLife = 30 * 24 * time.Hour
	// renewBefore leaves a browser days with the certificate it is shown.
	renewBefore = 10 * 24 * time.Hour
	// maxIssued bounds the memory that made-up names below an environment take.
	maxIssued = 4096
)

// Issuer signs certificates, one for each host, and remembers them.
type Issuer struct {
	authority tls.Certificate
	key       *ecdsa.PrivateKey // of all its certificates: it never leaves the process

	mu     sync.Mutex
	issued map[string]*tls.Certificate
}

// NewIssuer makes an issuer of the authority's certificate and key, in PEM.
func NewIssuer(chain, key string) (*Issuer, error) {
	authority, err := ParseKeyPair(chain, key)
	if err != nil {
		return nil, err
	}
	own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	return &Issuer{authority: authority, key: own,
		issued: make(map[string]*tls.Certificate)}, nil
}

// Issue returns the host's certificate, a new one if the last has nearly expired.
func (i *Issuer) Issue(host string, now time.Time) (*tls.Certificate, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if c := i.issued[host]; c != nil && now.Before(c.Leaf.NotAfter.Add(-renewBefore)) {
		return c, nil
	}
	c, err := i.issueLeaf(host, now)
	if err != nil {
		return nil, err
	}
	if len(i.issued) >= maxIssued {
		for old := range i.issued { // any one: the next visit signs it anew
			delete(i.issued, old)
			break
		}
	}
	i.issued[host] = c
	return c, nil
}

func (i *Issuer) issueLeaf(host string, now time.Time) (*tls.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, fmt.Errorf("make a serial number: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber: serial, DNSNames: []string{host},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(leafLife),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	if len(host) <= 64 { // as long as a common name may be
		template.Subject = pkix.Name{CommonName: host}
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, i.authority.Leaf, &i.key.PublicKey,
		i.authority.PrivateKey)
	if err != nil {
		return nil, fmt.Errorf("sign a certificate for %s: %w", host, err)
	}
	leaf, err := x509.ParseCertificate(raw)
	if err != nil {
		return nil, fmt.Errorf("read own certificate: %w", err)
	}
	return &tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: i.key, Leaf: leaf}, nil
}
