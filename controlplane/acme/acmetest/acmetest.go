// Package acmetest has what orders of certificates need around them: Pebble, the
// test authority of Let's Encrypt, and a name server, both in processes of their own.
package acmetest

import (
	"encoding/pem"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"testing"

	"github.com/nullops/nullops/internal/servertest"
)

// Key is what the name server takes updates with.
const Key = "c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0IQ=="

// KeyName is the key's name.
const KeyName = "nullops."

// HookPassword is what the webhook asks for.
const HookPassword = "hook-password"

// NameServer is a name server on loopback: every name is this machine, and TXT
// records are what signed updates made them.
type NameServer struct {
	// Addr is its host:port.
	Addr string

	process *servertest.Process
}

// NewNameServer starts one for the length of a test.
func NewNameServer(t *testing.T) *NameServer {
	t.Helper()
	n := &NameServer{}
	n.process = servertest.Start(t, "names", map[string]string{
		"Key": Key, "KeyName": KeyName, "HookPassword": HookPassword}, n)
	return n
}

// CountLeftovers counts the records that were not cleaned up, the updates, and those with a wrong
// key.
func (n *NameServer) CountLeftovers() (texts, updates, refused int) {
	var count struct{ Texts, Updates, Refused int }
	n.process.Call("/count", nil, &count)
	return count.Texts, count.Updates, count.Refused
}

// Webhook is a program that updates the name server, for the user "nullops" with
// HookPassword.
func (n *NameServer) Webhook(w http.ResponseWriter, r *http.Request) {
	target, err := url.Parse(n.process.Control() + "/webhook")
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	proxyTo(target).ServeHTTP(w, r)
}

// Authority is Pebble behind TLS.
type Authority struct {
	Directory string
	// TLS is the root of the directory's own certificate, Root that of those it
	// signs; both in PEM.
	TLS, Root string
	// Busy makes it answer 503 to every request.
	Busy atomic.Bool

	front http.Handler
}

// Customer is an external account, for authorities that require one (EAB).
const Customer = "customer-1"

// CustomerKey is the secret that proves the customer.
const CustomerKey = "Y3VzdG9tZXIta2V5LWN1c3RvbWVyLWtleS0_Pz8-Pj4"

// NewAuthority starts one for the length of a test. It asks hosts at httpPort.
func NewAuthority(t *testing.T, names *NameServer, httpPort int) *Authority {
	t.Helper()
	return newAuthority(t, names, httpPort, false)
}

// NewAuthorityForContainers is NewAuthority with one that containers reach: to them, this machine
// has to be called ContainersHost.
func NewAuthorityForContainers(t *testing.T, names *NameServer, httpPort int) *Authority {
	t.Helper()
	a := newAuthority(t, names, httpPort, false)
	l, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(a.front)
	_ = s.Listener.Close()
	s.Listener = l
	s.StartTLS()
	t.Cleanup(s.Close)
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	at, err := url.Parse(a.Directory)
	if err != nil {
		t.Fatal(err)
	}
	at.Host = net.JoinHostPort(ContainersHost, port)
	a.Directory = at.String()
	return a
}

// ContainersHost is a name that the certificate of httptest has.
const ContainersHost = "example.com"

// NewCustomersAuthority is NewAuthority with one that makes accounts for
// customers only.
func NewCustomersAuthority(t *testing.T, names *NameServer, httpPort int) *Authority {
	t.Helper()
	return newAuthority(t, names, httpPort, true)
}

func newAuthority(
	t *testing.T, names *NameServer, httpPort int, customersOnly bool,
) *Authority {
	t.Helper()
	var ready struct{ Address, DirectoryPath, Root string }
	servertest.Start(t, "authority", map[string]any{"Names": names.Addr, "HTTPPort": httpPort,
		"CustomersOnly": customersOnly, "Customer": Customer, "CustomerKey": CustomerKey}, &ready)
	pebble := proxyTo(&url.URL{Scheme: "http", Host: ready.Address})
	a := &Authority{Root: ready.Root}
	a.front = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if a.Busy.Load() {
			http.Error(w, "busy", http.StatusServiceUnavailable)
			return
		}
		pebble.ServeHTTP(w, r)
	})
	s := httptest.NewTLSServer(a.front)
	t.Cleanup(s.Close)
	a.Directory = s.URL + ready.DirectoryPath
	a.TLS = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE",
		Bytes: s.Certificate().Raw}))
	return a
}

// proxyTo passes requests on under the name that the client used, from which Pebble makes
// its addresses.
func proxyTo(target *url.URL) *httputil.ReverseProxy {
	return &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Host = r.In.Host
		r.Out.Header.Set("X-Forwarded-Proto", "https")
	}}
}
