package docker_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/pipeline"
)

// outerAddress is one of this machine that is not loopback, where engines take
// any certificate.
func outerAddress(t *testing.T) string {
	t.Helper()
	all, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range all {
		ip, ok := a.(*net.IPNet)
		if ok && ip.IP.To4() != nil && ip.IP.IsGlobalUnicast() {
			return ip.IP.String()
		}
	}
	t.Skip("this machine has no address but loopback")
	return ""
}

// selfSigned is a certificate for the address by nobody that an engine knows.
func selfSigned(t *testing.T, ip net.IP) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), IPAddresses: []net.IP{ip},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// A registry of an authority that the engine does not know: the error says which
// file helps, and where.
func TestPull_UnknownAuthorityHasARemedy(t *testing.T) {
	r := newRig(t)
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	l, err := net.Listen("tcp", net.JoinHostPort(outerAddress(t), "0"))
	if err != nil {
		t.Fatal(err)
	}
	_ = server.Listener.Close()
	server.Listener = l
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.TLS = &tls.Config{MinVersion: tls.VersionTLS12,
		Certificates: []tls.Certificate{selfSigned(t, l.Addr().(*net.TCPAddr).IP)}}
	server.StartTLS()
	t.Cleanup(server.Close)
	image := pipeline.Image{Registry: l.Addr().String(), Repository: "team/app",
		Digest: digestOf([]byte("nothing"))}
	err = r.Pull(t.Context(), image, nil, nil)
	if err == nil || errors.Is(err, agent.ErrUnavailable) ||
		!strings.Contains(err.Error(), "/etc/docker/certs.d/"+image.Registry+"/ca.crt") {
		t.Errorf("error is %v", err)
	}
}
