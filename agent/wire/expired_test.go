package wire_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"math/big"
	"testing"
	"time"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/agent/wire/wiretest"
)

// newDatedIdentity makes a certificate that is valid between two times only, as one could
// bring along.
func newDatedIdentity(t *testing.T, from, to time.Time) *wire.Identity {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: from, NotAfter: to,
		KeyUsage: x509.KeyUsageDigitalSignature}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	id, err := wire.ParseIdentity(append(
		pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})...))
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// A date locks nobody out: certificates of both ends that have expired, or are not valid yet
// because a clock is wrong, are let in by their pins. The pins still count. What we make
// ourselves names no end at all.
//
// fault: F62
func TestDial_DatesOfCertificatesDoNotMatter(t *testing.T) {
	now := time.Now()
	for name, dates := range map[string][2]time.Time{
		"expired":       {now.AddDate(-2, 0, 0), now.AddDate(-1, 0, 0)},
		"not valid yet": {now.AddDate(1, 0, 0), now.AddDate(2, 0, 0)},
	} {
		t.Run(name, func(t *testing.T) {
			dated := func() *wire.Identity { return newDatedIdentity(t, dates[0], dates[1]) }
			a := wiretest.NewAgent(t, wiretest.AgentConfig{Identity: dated(), ControlPlane: dated()})
			conn, err := wire.Dial(t.Context(), a.DialConfig())
			if err != nil {
				t.Fatalf("the pinned certificate: %v", err)
			}
			_ = conn.Close()
			c := a.DialConfig()
			c.Identity = dated()
			if _, err := wire.Dial(t.Context(), c); !errors.Is(err, wire.ErrRefused) {
				t.Errorf("another control plane's certificate: %v", err)
			}
			c = a.DialConfig()
			c.Thumbprint = dated().Thumbprint()
			var untrusted *wire.UntrustedError
			if _, err := wire.Dial(t.Context(), c); !errors.As(err, &untrusted) {
				t.Errorf("another agent's certificate: %v", err)
			}
		})
	}
	block, _ := pem.Decode(wiretest.NewIdentity(t).CertPEM())
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	// RFC 5280, 4.1.2.5: the date that means "no expiry".
	if cert.NotAfter.Year() != 9999 || cert.NotBefore.Unix() != 0 {
		t.Errorf("our own certificates are valid from %s to %s", cert.NotBefore, cert.NotAfter)
	}
}
