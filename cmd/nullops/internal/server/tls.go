package server

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/nullops/nullops/cmd/nullops/internal/pin"
	"github.com/nullops/nullops/ingress"
	"github.com/nullops/nullops/internal/durable"
)

// usesTLS reports whether API and UI are served with TLS. Plain HTTP is for localhost,
// and for a proxy on the same machine or one for which http.tls=off is set.
func (h HTTPSettings) usesTLS() bool {
	if h.Certificate != "" || h.TLS == "on" {
		return true
	}
	u, err := url.Parse(h.URL)
	return err == nil && h.TLS == "auto" && u.Scheme == "https" && !loopbackListen(h.Listen)
}

// behindProxy reports whether people see https while we serve plain HTTP, so that
// something in front of us has the certificate.
func (h HTTPSettings) behindProxy() bool {
	return strings.HasPrefix(h.URL, "https://") && !h.usesTLS()
}

// imageForm is what an image's name has to be like in a line for a shell.
var imageForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:/@-]*$`)

// check refuses what would carry passwords through a network in the clear.
func (h HTTPSettings) check() error {
	errs := []error{
		oneOf("http.tls", h.TLS, "auto", "on", "off"),
		checkAddress("http.listen", h.Listen),
		absoluteURL("http.url", h.URL),
	}
	if h.Internal != "" {
		_, err := h.internalURL()
		errs = append(errs, err)
	}
	_, err := parseProxies("http.proxies", h.Proxies)
	errs = append(errs, err, checkConnections(h.Connections))
	if h.AgentImage != "" && !imageForm.MatchString(h.AgentImage) {
		errs = append(errs, fmt.Errorf("setting http.agentimage: %q is no image; write one like "+
			"registry.example.com/nullops/agent:1.0", h.AgentImage))
	}
	if (h.Certificate == "") != (h.Key == "") {
		errs = append(errs, errors.New(
			"settings http.certificate and http.key go together: give both files, or none"))
	}
	if h.Order && (h.Certificate != "" || h.TLS == "off") {
		errs = append(errs, errors.New("setting http.order: a certificate is ordered only where "+
			"NullOps serves https itself and http.certificate is empty"))
	}
	switch {
	case strings.HasPrefix(h.URL, "http://") && !h.isLoopback():
		errs = append(errs, fmt.Errorf("setting http.url: %s is plain HTTP, which is for "+
			"localhost only; write https://. NullOps makes a certificate by itself until "+
			"http.certificate and http.key name yours", h.URL))
	case strings.HasPrefix(h.URL, "http://") && (h.TLS == "on" || h.Certificate != ""):
		errs = append(errs, fmt.Errorf("setting http.url: %s is plain HTTP, but TLS is switched "+
			"on; write https://", h.URL))
	case h.TLS == "off" && h.Certificate != "":
		errs = append(errs, errors.New(
			"setting http.tls is off, so nobody would get http.certificate: leave one of them out"))
	}
	return errors.Join(errs...)
}

// loopbackListen reports whether only this machine reaches the address.
func loopbackListen(listen string) bool {
	host, _, err := net.SplitHostPort(listen)
	ip, bad := netip.ParseAddr(host)
	return err == nil && (host == "localhost" || bad == nil && ip.IsLoopback())
}

// secureListener wraps the listener with TLS if the settings ask for it, and returns
// the certificate's fingerprint, "" without TLS.
func (h HTTPSettings) secureListener(
	l net.Listener, ordered *orderedCertificate,
) (net.Listener, string, error) {
	if !h.usesTLS() {
		return l, "", nil
	}
	k, err := h.newCertificateKeeper()
	if err != nil {
		return nil, "", err
	}
	now, err := k.currentCertificate(nil)
	if err != nil {
		return nil, "", err
	}
	choose := func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
		if c := ordered.forHost(hello.ServerName); c != nil {
			return c, nil
		}
		return k.currentCertificate(hello)
	}
	return tls.NewListener(l, &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: choose,
		CipherSuites: ingress.CipherSuites(), NextProtos: []string{"h2", "http/1.1"},
	}), pin.FormatFingerprint(now.Certificate[0]), nil
}

// selfSignedFingerprint is that of the certificate that we made ourselves, "" if we serve another
// one or none.
func (h HTTPSettings) selfSignedFingerprint() (string, error) {
	// A line to sign in by must not pin what is replaced as soon as the order is done.
	if h.Certificate != "" || !h.usesTLS() || h.Order {
		return "", nil
	}
	k, err := h.newCertificateKeeper()
	if err != nil {
		return "", err
	}
	now, err := k.currentCertificate(nil)
	if err != nil {
		return "", err
	}
	return pin.FormatFingerprint(now.Certificate[0]), nil
}

func (h HTTPSettings) newCertificateKeeper() (*certificateKeeper, error) {
	if h.Certificate != "" {
		return &certificateKeeper{cert: h.Certificate, key: h.Key}, nil
	}
	k := &certificateKeeper{cert: filepath.Join(h.Data, "https.crt"),
		key: filepath.Join(h.Data, "https.key")}
	u, err := url.Parse(h.URL)
	if err != nil {
		return nil, fmt.Errorf("setting http.url: %w", err)
	}
	if err := k.checkOwn(); err != nil {
		return nil, fmt.Errorf("setting http.data: %w", err)
	}
	if k.isUsableFor(u.Hostname()) {
		return k, nil
	}
	if err := k.createCertificate(u.Hostname()); err != nil {
		return nil, fmt.Errorf("setting http.data: %w", err)
	}
	return k, nil
}

// certificateKeeper serves the certificate in two files, and loads it again when they
// change.
type certificateKeeper struct {
	cert, key string

	mu     sync.Mutex
	read   time.Time
	parsed *tls.Certificate
}

// currentCertificate loads the certificate again after the file changed. While the two
// files do not match, it returns the old pair.
func (k *certificateKeeper) currentCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	info, err := os.Stat(k.cert)
	if err == nil && k.parsed != nil && info.ModTime().Equal(k.read) {
		return k.parsed, nil
	}
	pair, err := tls.LoadX509KeyPair(k.cert, k.key)
	switch {
	case err == nil:
		k.parsed, k.read = &pair, info.ModTime()
	case k.parsed == nil:
		return nil, fmt.Errorf("setting http.certificate: %w", err)
	}
	return k.parsed, nil
}

// checkOwn finds damage of a certificate that we made. It is not replaced, because people have
// pinned it: they could not tell a new one from an attacker's.
func (k *certificateKeeper) checkOwn() error {
	if _, err := os.Stat(k.cert); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	c, err := k.currentCertificate(nil)
	if err == nil {
		err = c.Leaf.CheckSignature(c.Leaf.SignatureAlgorithm, c.Leaf.RawTBSCertificate,
			c.Leaf.Signature)
	}
	if err != nil {
		return fmt.Errorf("%s or %s is damaged (%w): restore both files, or remove both to get a new "+
			"certificate, which everybody who signs in has to pin again", k.cert, k.key, err)
	}
	return nil
}

// isUsableFor reports whether there is an unexpired certificate for the host. It is
// not replaced then, because people have pinned it.
func (k *certificateKeeper) isUsableFor(host string) bool {
	c, err := k.currentCertificate(nil)
	return err == nil && c.Leaf.VerifyHostname(host) == nil && time.Now().Before(c.Leaf.NotAfter)
}

// createCertificate creates a self-signed certificate. It lasts ten years, because
// clients pin it; for clients that do not, install one from a certificate authority.
func (k *certificateKeeper) createCertificate(host string) error {
	if err := durable.MakeDir(durable.OS{}, filepath.Dir(k.key), 0o700); err != nil {
		return err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("make a key: %w", err)
	}
	template := selfSigned(host)
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return fmt.Errorf("make a certificate: %w", err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return fmt.Errorf("encode the key: %w", err)
	}
	// While the two do not belong together there is no certificate, so that a crash is no damage.
	if err := os.Remove(k.cert); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := (durable.OS{}).SyncDir(filepath.Dir(k.cert)); err != nil {
		return err
	}
	if err := writePEM(k.key, "PRIVATE KEY", secret); err != nil {
		return err
	}
	return writePEM(k.cert, "CERTIFICATE", der)
}

func selfSigned(host string) *x509.Certificate {
	serial := make([]byte, 16)
	_, _ = rand.Read(serial) // never fails: the process dies instead
	c := &x509.Certificate{
		SerialNumber: new(big.Int).SetBytes(serial), Subject: pkix.Name{CommonName: "NullOps"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(10, 0, 0),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames:    []string{"localhost"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},

		BasicConstraintsValid: true,
	}
	if ip := net.ParseIP(host); ip != nil {
		c.IPAddresses = append(c.IPAddresses, ip)
	} else if host != "localhost" {
		c.DNSNames = append(c.DNSNames, host)
	}
	return c
}

// writePEM replaces the file in one step, so that a crash leaves the old one.
func writePEM(path, kind string, der []byte) error {
	text := pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
	return durable.WriteFile(durable.OS{}, path, text, 0o600)
}
