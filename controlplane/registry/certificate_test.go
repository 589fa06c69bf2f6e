package registry_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/registry"
)

// authority signs certificates of registries.
type authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{t: t}
	a.key, a.cert = a.issue(&x509.Certificate{Subject: pkix.Name{CommonName: "Shop CA"},
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign})
	return a
}

func (a *authority) issue(c *x509.Certificate) (*ecdsa.PrivateKey, *x509.Certificate) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	c.SerialNumber = big.NewInt(time.Now().UnixNano())
	if c.NotAfter.IsZero() {
		c.NotBefore, c.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	}
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = c, key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, key.Public(), signer)
	if err != nil {
		a.t.Fatal(err)
	}
	made, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	return key, made
}

func (a *authority) pem() string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw}))
}

// serve runs a registry with a certificate of the authority.
func (a *authority) serve(c *x509.Certificate) (host string) {
	a.t.Helper()
	key, cert := a.issue(c)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !pingRegistry(w, r) {
			_, _ = w.Write([]byte(`{"tags":["v1"]}`))
		}
	}))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.TLS = &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{
		{Certificate: [][]byte{cert.Raw}, PrivateKey: key}}}
	s.StartTLS()
	a.t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "https://")
}

func loopbackIPs() []net.IP { return []net.IP{net.IPv4(127, 0, 0, 1)} }

func secureSource(host string) registry.Source {
	s := plainSource(host)
	s.Registry.Insecure = false
	return s
}

// A certificate that does not fit is not called a registry that cannot be
// reached, and each reason has its own remedy.
func TestCertificate_SaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	plain := startFake(t, func(http.ResponseWriter, *http.Request) {})
	for _, c := range []struct{ name, host, says, remedy string }{
		{"unknown authority", a.serve(&x509.Certificate{IPAddresses: loopbackIPs()}),
			"authority that NullOps does not know: CN=Shop CA", "Set the registry's ca"},
		{"no TLS", plain.host(), "does not speak HTTPS", "Check the port"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			client := newClient(t, registry.Config{})
			_, listed := client.ListTags(t.Context(), secureSource(c.host))
			_, resolved := client.Resolve(t.Context(), secureSource(c.host), "v1")
			for _, err := range []error{listed, resolved, client.Ping(t.Context(), secureSource(c.host))} {
				var said *controlplane.Error
				if !errors.As(err, &said) || said.Code != "registry_certificate" ||
					!strings.Contains(said.Message, c.says) || !strings.Contains(said.Remedy, c.remedy) {
					t.Errorf("got %+v", err)
				}
			}
		})
	}
}

func newSourceWithCA(host, ca string) registry.Source {
	s := secureSource(host)
	s.Registry.CA = ca
	return s
}

// A registry of a private authority is asked with its ca and refused without,
// and with another's; a changed ca counts at once, not only when a list that was
// read before is old.
func TestCertificate_TrustsTheCAOfTheRegistry(t *testing.T) {
	t.Parallel()
	ours, other := newAuthority(t), newAuthority(t)
	host := ours.serve(&x509.Certificate{IPAddresses: loopbackIPs()})
	client := newClient(t, registry.Config{})
	refused := func(ca, remedy string) {
		t.Helper()
		_, listed := client.ListTags(t.Context(), newSourceWithCA(host, ca))
		for _, err := range []error{listed, client.Ping(t.Context(), newSourceWithCA(host, ca))} {
			var said *controlplane.Error
			if !errors.As(err, &said) || said.Code != "registry_certificate" ||
				!strings.Contains(said.Remedy, remedy) ||
				!strings.Contains(said.Remedy, "/etc/docker/certs.d/"+host+"/ca.crt") {
				t.Errorf("got %+v, want the remedy %q", err, remedy)
			}
		}
	}
	trusted := func(ca string) {
		t.Helper()
		l, err := client.ListTags(t.Context(), newSourceWithCA(host, ca))
		if err != nil || len(l.Tags) != 1 || l.Stale {
			t.Errorf("tags %v, %v", l, err)
		}
		if err := client.Ping(t.Context(), newSourceWithCA(host, ca)); err != nil {
			t.Errorf("ping: %v", err)
		}
	}
	refused("", "Set the registry's ca")
	trusted(ours.pem())
	refused(other.pem(), "another authority's")
	trusted(other.pem() + ours.pem())
	refused("", "Set the registry's ca")
}

// Whatever is no bundle of authorities is refused with the field and the reason.
func TestCheckCA(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	_, leaf := a.issue(&x509.Certificate{IPAddresses: loopbackIPs()})
	_, old := (&authority{t: t}).issue(&x509.Certificate{IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-2 * time.Hour), NotAfter: time.Now().Add(-time.Hour)})
	block := func(kind string, b []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: b}))
	}
	key, err := x509.MarshalPKCS8PrivateKey(a.key)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ ca, code string }{
		"nothing":                {" \n", ""},
		"an authority":           {"# Shop\n" + a.pem(), ""},
		"an old one beside":      {block("CERTIFICATE", old.Raw) + a.pem(), ""},
		"only an old one":        {block("CERTIFICATE", old.Raw), "ca_expired"},
		"no authority":           {block("CERTIFICATE", leaf.Raw), "ca_invalid"},
		"a private key":          {a.pem() + block("PRIVATE KEY", key), "ca_private_key"},
		"a key of its own":       {block("EC PRIVATE KEY", key), "ca_private_key"},
		"another kind":           {a.pem() + block("CERTIFICATE REQUEST", leaf.Raw), "ca_invalid"},
		"no PEM":                 {"hello", "ca_invalid"},
		"bytes of nothing":       {block("CERTIFICATE", []byte("hello")), "ca_invalid"},
		"cut off":                {a.pem() + a.pem()[:200], "ca_invalid"},
		"damaged before another": {strings.Replace(a.pem(), "\n", "\n!", 1) + a.pem(), "ca_invalid"},
		"a private key, cut":     {a.pem() + block("PRIVATE KEY", key)[:100], "ca_private_key"},
		"larger than it may be":  {strings.Repeat("#", 64<<10) + a.pem(), "too_long"},
	} {
		err := registry.CheckCA(c.ca, time.Now())
		var said *controlplane.Error
		if c.code == "" && err != nil || c.code != "" &&
			(!errors.As(err, &said) || said.Code != c.code || said.Field != "ca") {
			t.Errorf("%s: got %+v, want %q", name, err, c.code)
		}
	}
}

// The authority's certificate in a folder of SSL_CERT_DIR makes its registries
// trusted, as the remedy says. Go reads the variable once, so a process of its
// own has it.
func TestCertificate_TrustsSSLCertDir(t *testing.T) {
	t.Parallel()
	const host = "REGISTRY_OF_TRUST_TEST"
	if at := os.Getenv(host); at != "" {
		l, err := newClient(t, registry.Config{}).ListTags(t.Context(), secureSource(at))
		if err != nil || len(l.Tags) != 1 {
			t.Errorf("%v %v", l.Tags, err)
		}
		return
	}
	a := newAuthority(t)
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "shop.crt"), []byte(a.pem()), 0o600); err != nil {
		t.Fatal(err)
	}
	again := exec.CommandContext(t.Context(), os.Args[0],
		"-test.run=^TestCertificate_TrustsSSLCertDir$")
	again.Env = append(os.Environ(), "SSL_CERT_DIR=/etc/ssl/certs:"+folder,
		host+"="+a.serve(&x509.Certificate{IPAddresses: loopbackIPs()}))
	if out, err := again.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
