package api_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"math/big"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/nullops/nullops/controlplane/api"
)

// newEnrolBody is what a new machine sends with a token.
func newEnrolBody(t *testing.T, token string) object {
	t.Helper()
	public, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	cert := must(x509.CreateCertificate(rand.Reader, template, template, public, key))(t)
	return object{"token": token, "certificate": cert, "hostname": "GPU box.example.org",
		"signature": ed25519.Sign(key, []byte("nullops enrolment 1\n"+token)),
		"hardware":  object{"cpu": 8, "memory": 1 << 34, "arch": "x86_64"}}
}

// enrolFrom sends it from an address, without signing in.
func (w *world) enrolFrom(address string, body object) answer {
	w.t.Helper()
	text := must(json.Marshal(body))(w.t)
	return w.send("POST", "/api/v1/enrolments", http.Header{"Content-Type": {"application/json"},
		"X-Forwarded-For": {address}}, bytes.NewReader(text))
}

// A provisioning token is shown once. A machine that shows it needs nothing else, and becomes a
// node at the address that it comes from.
func TestProvisioningTokens(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *api.Config) {
		c.Proxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"),
			netip.MustParsePrefix("::1/128")}
		c.Fingerprint = "sha256:ab"
	})
	w.shop()
	root := w.token("root")
	made := w.call("POST", "/api/v1/provisioning-tokens", root, object{"environment": "qa",
		"max_uses": 1, "expires_in_hours": 2, "description": "rack 3",
		"settings": object{"labels": object{"zone": "fra"}}})
	token := made.field("token")
	if made.status != http.StatusCreated || token == "" {
		t.Fatalf("%d %s", made.status, made.body)
	}
	// promise: V-19
	for _, part := range []string{"AGENT_PROVISIONING_TOKEN=" + token, "nullops/agent:test",
		"AGENT_CONTROL=http://nullops.test ", "AGENT_FINGERPRINT=sha256:ab"} {
		if !strings.Contains(strings.Replace(made.field("command"), " -e", "  -e", 9), part) {
			t.Errorf("the line lacks %q: %s", part, made.field("command"))
		}
	}
	e := w.enrolFrom("203.0.113.7", newEnrolBody(t, token))
	if e.status != http.StatusCreated || e.field("name") != "gpu-box" || e.field("token") == "" {
		t.Fatalf("%d %s", e.status, e.body)
	}
	node := w.call("GET", "/api/v1/nodes/gpu-box", root, nil)
	for _, part := range []string{`"address":"203.0.113.7:5000"`, `"zone":"fra"`, `"cpu":8`,
		`"environment":"qa"`} {
		if !strings.Contains(string(node.body), part) {
			t.Errorf("the node lacks %s: %s", part, node.body)
		}
	}
	late := w.enrolFrom("203.0.113.8", newEnrolBody(t, token))
	if late.status != http.StatusForbidden || late.field("code") != "provisioning_token_used_up" ||
		late.field("remedy") == "" {
		t.Errorf("a machine too many: %d %s", late.status, late.body)
	}
	list := w.call("GET", "/api/v1/provisioning-tokens", root, nil)
	// promise: V-17
	if !strings.Contains(string(list.body), `"status":"used_up","uses":1`) ||
		strings.Contains(string(list.body), token[15:58]) {
		t.Errorf("the list says %s", list.body)
	}
	prefix := token[6:14]
	if a := w.call("DELETE", "/api/v1/provisioning-tokens/"+prefix, root, nil); a.status !=
		http.StatusNoContent {
		t.Errorf("revoke: %d %s", a.status, a.body)
	}
	if a := w.call("DELETE", "/api/v1/provisioning-tokens/aaaaaaaa", root, nil); a.status !=
		http.StatusNotFound {
		t.Errorf("revoke what is not there: %d %s", a.status, a.body)
	}
	if journal := w.listAudit(root); !strings.Contains(journal, `"revoke provisioning token"`) ||
		strings.Contains(journal, token[15:58]) {
		t.Errorf("audit: %s", journal)
	}
}

// Guesses from one address are slowed down; they hinder neither other addresses nor the people
// behind the same one.
func TestEnrolMachine_LimitsGuesses(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *api.Config) {
		c.Proxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"),
			netip.MustParsePrefix("::1/128")}
	})
	w.people()
	guess := newEnrolBody(t, "nopp1_abcd2345_guess")
	last := answer{}
	for range 40 {
		if last = w.enrolFrom("203.0.113.7", guess); last.status != http.StatusForbidden {
			break
		}
	}
	if last.status != http.StatusTooManyRequests || last.header.Get("Retry-After") == "" {
		t.Errorf("forty guesses end with %d %s", last.status, last.body)
	}
	if a := w.enrolFrom("203.0.113.8", guess); a.status != http.StatusForbidden {
		t.Errorf("another address: %d %s", a.status, a.body)
	}
	if got := w.signInVia("root", "203.0.113.7"); got != http.StatusUnauthorized {
		t.Errorf("a person at the same address: %d", got)
	}
}
