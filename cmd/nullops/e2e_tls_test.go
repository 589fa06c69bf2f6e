package main_test

import (
	"crypto/tls"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/nullops/nullops/controlplane/postgres/pgtest"
	"github.com/nullops/nullops/internal/testpart"
)

// serveTLS starts a control plane that is not on localhost only: it has TLS by
// itself, and the command line signs in to the pinned certificate and to no other.
func serveTLS(t *testing.T, w *world) {
	testpart.Rotate(t)
	p := &product{w: w, dir: shortDir(t), database: pgtest.NewEmptyDatabase(t), http: freeAddress(t),
		ingressAddr: freeAddress(t)}
	p.url, p.ingressURL = "https://localhost:"+portOf(p.http),
		"http://localhost:"+portOf(p.ingressAddr)
	key, errs, code := runCommand(t, w.binary, nil, "", "keys", "new")
	if code != 0 {
		t.Fatalf("keys new: %s", errs)
	}
	p.key = strings.TrimSpace(key)
	p.http = "0.0.0.0:" + portOf(p.http)
	p.startControlPlane(t, "NULLOPS_HTTP_DATA="+p.dir)
	p.password = p.firstPassword(t)
	print := p.loggedFingerprint(t)
	expectOnlyTLS(t, "http://localhost:"+portOf(p.http))
	expectStrongTLS(t, p.http)
	env := []string{"XDG_CONFIG_HOME=" + t.TempDir()}
	login := func(want int, more ...string) string {
		t.Helper()
		_, errs, code := runCommand(t, w.binary, env, p.password+"\n",
			append([]string{"login", p.url, "--password-stdin"}, more...)...)
		if code != want {
			t.Fatalf("login %v: exit code %d: %s", more, code, errs)
		}
		return errs
	}
	if errs := login(exitForbidden); !strings.Contains(errs, print) {
		t.Errorf("the fingerprint %s is not shown: %s", print, errs)
	}
	login(1, "--fingerprint", "sha256:"+strings.Repeat("0", 64))
	login(0, "--fingerprint", print)
	if _, errs, code := runCommand(t, w.binary, env, "", "list"); code != 0 {
		t.Errorf("list with a pinned certificate: %s", errs)
	}
	p.cookieIsBound(t)
	p.pinHolds(t, env)
}

// loggedFingerprint is logged once the door is open, so it may come a little later.
func (p *product) loggedFingerprint(t *testing.T) (print string) {
	t.Helper()
	eventually(t, "the fingerprint is in the log", func() string {
		text, err := os.ReadFile(p.controlPlane.log)
		if err != nil {
			t.Fatal(err)
		}
		if print = regexp.MustCompile(`sha256:[0-9a-f]{64}`).FindString(string(text)); print == "" {
			return "it says " + string(text)
		}
		return ""
	})
	return print
}

// expectOnlyTLS makes sure that nothing but TLS is spoken.
func expectOnlyTLS(t *testing.T, url string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/api/v1/me", nil)
	if err != nil {
		t.Fatal(err)
	}
	if a := sendRequest(t, &http.Client{Timeout: patience}, r); a.status != http.StatusBadRequest {
		t.Errorf("plain HTTP is answered with %d: %s", a.status, a.body)
	}
}

// expectStrongTLS makes sure that old versions and suites without authenticated encryption are
// refused.
func expectStrongTLS(t *testing.T, address string) {
	t.Helper()
	for name, c := range map[string]*tls.Config{
		"TLS 1.1": {MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11},
		"CBC": {MaxVersion: tls.VersionTLS12, CipherSuites: []uint16{
			tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA, tls.TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA}},
		"RSA": {MaxVersion: tls.VersionTLS12, CipherSuites: []uint16{
			tls.TLS_RSA_WITH_AES_128_GCM_SHA256}},
	} {
		c.InsecureSkipVerify = true
		if conn, err := tls.Dial("tcp", "localhost:"+portOf(address), c); err == nil {
			_ = conn.Close()
			t.Errorf("%s is spoken", name)
		}
	}
}

// cookieIsBound signs in like a browser.
func (p *product) cookieIsBound(t *testing.T) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.url+"/api/v1/sessions",
		strings.NewReader(`{"user":"admin","password":"`+p.password+`"}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	a := sendRequest(t, &http.Client{Timeout: patience, Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}, r)
	if got := a.header.Get("Set-Cookie"); !strings.HasPrefix(got, "__Host-") ||
		!strings.Contains(got, "; Secure") {
		t.Errorf("signed in with the cookie %q", got)
	}
}

// pinHolds replaces the certificate: who pinned the old one goes no further.
func (p *product) pinHolds(t *testing.T, env []string) {
	t.Helper()
	p.controlPlane.stop(t)
	for _, name := range []string{"https.crt", "https.key"} {
		if err := os.Remove(filepath.Join(p.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	p.startControlPlane(t, "NULLOPS_HTTP_DATA="+p.dir)
	_, errs, code := runCommand(t, p.w.binary, env, "", "list")
	if code == 0 || !strings.Contains(errs, "another certificate") {
		t.Errorf("list with another certificate: exit code %d: %s", code, errs)
	}
}
