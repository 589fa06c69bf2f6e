package controlplane

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"time"
)

// CertificateID identifies a certificate of the ingress.
type CertificateID string

// Certificate is one that the ingress serves for the hosts it names.
type Certificate struct {
	ID   CertificateID
	Name string
	// Chain is PEM, the host's own certificate first. Key is sealed.
	Chain     string
	Key       Sealed
	CreatedBy string
	CreatedAt time.Time
	CertificateFacts
}

// CertificateFacts is what a certificate says of itself.
type CertificateFacts struct {
	Hosts       []string
	Subject     string
	Issuer      string
	Serial      string
	Fingerprint string // SHA-256 of the certificate, in hex
	NotBefore   time.Time
	NotAfter    time.Time
}

// Authority signs certificates for hosts without another one, in networks that no
// public authority reaches.
type Authority struct {
	ID          CertificateID
	Certificate string // PEM
	Key         Sealed
	CreatedBy   string
	CreatedAt   time.Time
	CertificateFacts
}

// ReadCertificates decodes PEM: one certificate after the other, and nothing else.
func ReadCertificates(text string) ([]*x509.Certificate, error) {
	var all []*x509.Certificate
	for rest := []byte(text); ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			return nil, fmt.Errorf("it holds a %s besides certificates", clipValue(block.Type))
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("certificate %d of it cannot be read", len(all)+1)
		}
		all = append(all, c)
	}
	if len(all) == 0 {
		return nil, errors.New("there is no certificate in it")
	}
	return all, nil
}

func clipValue(s string) string { return s[:min(len(s), 40)] }

// ReadCertificateFacts reads what a certificate says.
func ReadCertificateFacts(c *x509.Certificate) CertificateFacts {
	sum := sha256.Sum256(c.Raw)
	return CertificateFacts{
		Hosts: c.DNSNames, Subject: c.Subject.String(), Issuer: c.Issuer.String(),
		Serial: c.SerialNumber.Text(16), Fingerprint: hex.EncodeToString(sum[:]),
		NotBefore: c.NotBefore, NotAfter: c.NotAfter,
	}
}

// ServedCertificate is a certificate with its key opened, for the ingress.
type ServedCertificate struct {
	Name  string
	Chain string
	Key   Plain
}
