package ingress_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/nullops/nullops/ingress"
)

// makeAuthority makes a root of its own, as texts and as something to trust.
func makeAuthority(t *testing.T) (chain, key string, pool *x509.CertPool) {
	t.Helper()
	chain, key = selfSigned(t, time.Hour, nil)
	pool = x509.NewCertPool()
	if !pool.AppendCertsFromPEM([]byte(chain)) {
		t.Fatal("no root")
	}
	return chain, key, pool
}

// selfSigned signs itself, for the hosts or, without any, as an authority.
func selfSigned(t *testing.T, life time.Duration, hosts []string) (chain, key string) {
	t.Helper()
	secret, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), DNSNames: hosts,
		Subject: pkix.Name{CommonName: "test"}, NotBefore: time.Now().Add(-2 * time.Hour),
		NotAfter: time.Now().Add(life), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, &secret.PublicKey, secret)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(secret)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw})),
		string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
}

// serveTLS serves a bed over TLS too.
func (b *bed) serveTLS(shown *ingress.Certificates) string {
	b.t.Helper()
	server := ingress.NewServer(b.proxy, quietLogger())
	server.TLSConfig = shown.TLS()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.t.Fatal(err)
	}
	var done sync.WaitGroup
	done.Go(func() { _ = server.Serve(tls.NewListener(l, server.TLSConfig)) })
	b.t.Cleanup(func() { _ = server.Close(); done.Wait() })
	return l.Addr().String()
}

// newBrowser trusts a root and finds every host at one address.
func newBrowser(t *testing.T, addr string, roots *x509.CertPool) *http.Client {
	t.Helper()
	tr := &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{RootCAs: roots},
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", addr)
		}}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, Timeout: time.Minute,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// Over TLS and HTTP/2 the service gets X-Forwarded-Proto https, and any host below an environment
// has a certificate, whether something is there or not; a host of nobody has none.
func TestHTTPS_InternalAuthority(t *testing.T) {
	b := newBed(t)
	r := b.up("cart", "web", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.Header.Get("X-Forwarded-Proto"))
	})
	b.zone(ingress.GateOpen, r)
	chain, key, roots := makeAuthority(t)
	issuer, err := ingress.NewIssuer(chain, key)
	if err != nil {
		t.Fatal(err)
	}
	shown := &ingress.Certificates{Issues: func(h string) bool { return b.proxy.Table().InZone(h) }}
	shown.Set(nil, issuer)
	addr := b.serveTLS(shown)
	client := newBrowser(t, addr, roots)
	for host, want := range map[string]int{
		r.Host: 200, "web--cart--env." + domain: 404, "ghost.none.env." + domain: 404} {
		res, err := client.Get("https://" + host + "/")
		if err != nil {
			t.Fatal(host, err)
		}
		body, _ := io.ReadAll(res.Body)
		_ = res.Body.Close()
		// promise: G-03
		if res.StatusCode != want || res.ProtoMajor != 2 || want == 200 && string(body) != "https" {
			t.Errorf("%s: %d over HTTP/%d: %.100s", host, res.StatusCode, res.ProtoMajor, body)
		}
	}
	if res, err := client.Get("https://web.cart.other.example/"); err == nil {
		_ = res.Body.Close()
		t.Error("a host of nobody has a certificate")
	}
}

// A certificate that names the host comes before one of a wildcard, that one
// before the authority's, and of two alike the one that lasts longer.
func TestHTTPS_ChoosesCertificates(t *testing.T) {
	var given []tls.Certificate
	serials := map[string]string{}
	add := func(name string, life time.Duration, hosts ...string) {
		pair, err := ingress.ParseKeyPair(selfSigned(t, life, hosts))
		if err != nil {
			t.Fatal(err)
		}
		given = append(given, pair)
		serials[pair.Leaf.SerialNumber.String()] = name
	}
	add("wild", time.Hour, "*.env.example")
	add("short", time.Hour, "a.env.example")
	add("long", 2*time.Hour, "A.ENV.example")
	add("expired", -time.Hour, "old.env.example")
	add("alone", -time.Hour, "alone.example")
	chain, key, _ := makeAuthority(t)
	issuer, err := ingress.NewIssuer(chain, key)
	if err != nil {
		t.Fatal(err)
	}
	shown := &ingress.Certificates{
		Issues: func(h string) bool { return strings.HasSuffix(h, ".env.example") }}
	shown.Set(given, issuer)
	for host, want := range map[string]string{"a.env.example": "long", "A.env.EXAMPLE.": "long",
		"b.env.example": "wild", "x.y.env.example": "authority", "old.env.example": "authority",
		"alone.example": "alone", "nobody.example": "", "": "", "127.0.0.1": ""} {
		c, err := shown.Get(&tls.ClientHelloInfo{ServerName: host})
		got := ""
		if err == nil {
			if got = serials[c.Leaf.SerialNumber.String()]; got == "" {
				got = "authority"
			}
		}
		if got != want {
			t.Errorf("%q is shown %q, want %q (%v)", host, got, want, err)
		}
	}
	first, _ := issuer.Issue("x.y.env.example", time.Now())
	again, _ := issuer.Issue("x.y.env.example", time.Now())
	later, _ := issuer.Issue("x.y.env.example", time.Now().Add(25*24*time.Hour))
	if first == nil || first != again || first == later {
		t.Error("a certificate is kept until it is nearly over")
	}
}

// A key that is not the certificate's is refused in words that hold nothing of it.
func TestHTTPS_PairKeepsTheKeySecret(t *testing.T) {
	chain, _ := selfSigned(t, time.Hour, []string{"a.example"})
	_, key := selfSigned(t, time.Hour, []string{"a.example"})
	if _, err := ingress.ParseKeyPair(chain, key); err == nil ||
		strings.Contains(err.Error(), key[40:60]) {
		t.Errorf("%v", err)
	}
}

// Plain HTTP is sent to the same place over HTTPS where the environment says so,
// with its method, whether something is there or not.
func TestHTTPS_Redirect(t *testing.T) {
	b := newBed(t, func(c *ingress.Config) {
		c.Secure = func(host string) string { return "https://" + host + ":8443" }
	})
	r := b.up("cart", "web", sayText("plain"))
	b.proxy.SetTable(ingress.NewTable(1, []ingress.Route{r}).WithZones([]ingress.Zone{
		{Suffix: "env." + domain, RedirectHTTPS: true}}))
	for _, host := range []string{r.Host, "ghost.cart.env." + domain} {
		res, _ := b.send("POST", host, "/a%2fb?c=d")
		// promise: G-03
		if res.StatusCode != 308 || res.Header.Get("Location") != "https://"+host+":8443/a%2fb?c=d" {
			t.Errorf("%d %s", res.StatusCode, res.Header.Get("Location"))
		}
	}
	out := b.raw("GET /a%2Fb|c HTTP/1.1\r\nHost: " + r.Host + "\r\nConnection: close\r\n\r\n")
	if want := "\r\nLocation: https://" + r.Host + ":8443/a%2Fb|c\r\n"; !strings.Contains(out, want) {
		t.Errorf("%q, want%q", out, want)
	}
	if res, _ := b.send("GET", "web.cart.other."+domain, "/"); res.StatusCode != 404 {
		t.Errorf("outside: %d", res.StatusCode)
	}
}

// A pass given over TLS is in a cookie that no other host can set, and WebSockets
// work with it.
func TestHTTPS_GateAndWebSocket(t *testing.T) {
	b, r, book := newGatedBed(t, ingress.GateMembers, func(w http.ResponseWriter, r *http.Request) {
		c, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer c.CloseNow()
		_ = c.Write(r.Context(), websocket.MessageText, []byte("hello"))
	})
	chain, key, roots := makeAuthority(t)
	issuer, err := ingress.NewIssuer(chain, key)
	if err != nil {
		t.Fatal(err)
	}
	shown := &ingress.Certificates{Issues: func(string) bool { return true }}
	shown.Set(nil, issuer)
	client := newBrowser(t, b.serveTLS(shown), roots)
	book.codes[r.Host+" nogc_1"] = "nogv_1"
	book.give("nogv_1", ingress.PassScope{Deployment: r.DeploymentID})
	res, err := client.PostForm("https://"+r.Host+"/.nullops/pass",
		map[string][]string{"pass": {"nogc_1"}, "to": {"/"}})
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	cookies := res.Cookies()
	if len(cookies) != 1 || cookies[0].Name != "__Host-nullops_pass" || !cookies[0].Secure {
		t.Fatalf("%v", res.Header)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c, _, err := websocket.Dial(ctx, "wss://"+r.Host+"/", &websocket.DialOptions{
		HTTPClient: client, HTTPHeader: http.Header{"Cookie": {"__Host-nullops_pass=nogv_1"}}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.CloseNow()
	if _, data, err := c.Read(ctx); err != nil || string(data) != "hello" {
		t.Errorf("%q %v", data, err)
	}
}

// Versions before TLS 1.2, and suites without forward secrecy or authenticated encryption, are
// refused.
func TestHTTPS_RefusesWeakTLS(t *testing.T) {
	pair, err := ingress.ParseKeyPair(selfSigned(t, time.Hour, []string{"a.example"}))
	if err != nil {
		t.Fatal(err)
	}
	shown := &ingress.Certificates{}
	shown.Set([]tls.Certificate{pair}, nil)
	for name, c := range map[string]struct {
		most   uint16
		suites []uint16
		fine   bool
	}{
		"TLS 1.3":         {most: tls.VersionTLS13, fine: true},
		"TLS 1.2 and GCM": {most: tls.VersionTLS12, suites: ingress.CipherSuites(), fine: true},
		"TLS 1.1":         {most: tls.VersionTLS11},
		"CBC": {most: tls.VersionTLS12, suites: []uint16{
			tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA, tls.TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA}},
	} {
		near, far := net.Pipe()
		go func() { _ = tls.Server(far, shown.TLS()).Handshake() }()
		client := tls.Client(near, &tls.Config{ServerName: "a.example", InsecureSkipVerify: true,
			MinVersion: tls.VersionTLS10, MaxVersion: c.most, CipherSuites: c.suites})
		if err := client.Handshake(); (err == nil) != c.fine {
			t.Errorf("%s: %v", name, err)
		}
		_, _ = near.Close(), far.Close()
	}
}
