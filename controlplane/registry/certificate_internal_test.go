package registry

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nullops/nullops/controlplane"
)

func TestCertificateError(t *testing.T) {
	t.Parallel()
	cert := &x509.Certificate{DNSNames: []string{"other.example.org"},
		NotBefore: time.Unix(0, 0), NotAfter: time.Unix(86400, 0)}
	r := controlplane.Registry{Host: "reg.test"}
	for _, c := range []struct {
		err          error
		says, remedy string
	}{
		{x509.HostnameError{Certificate: cert, Host: "x"}, "but for other.example.org", "Use the host"},
		{x509.CertificateInvalidError{Cert: cert, Reason: x509.Expired},
			"from 1 January 1970 to 2 January 1970 only", "renew"},
		{x509.CertificateInvalidError{Cert: cert, Reason: x509.IncompatibleUsage}, "is not valid",
			"new certificate"},
	} {
		var said *controlplane.Error
		err := certificateError(r, &tls.CertificateVerificationError{Err: c.err})
		if !errors.As(err, &said) || !strings.Contains(said.Message, c.says) ||
			!strings.Contains(said.Remedy, c.remedy) {
			t.Errorf("%T: %+v", c.err, err)
		}
	}
	if err := certificateError(r, errors.New("refused")); err != nil {
		t.Errorf("not about a certificate: %v", err)
	}
}
