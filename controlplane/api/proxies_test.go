package api_test

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/nullops/nullops/controlplane/api"
)

// signInVia tries a wrong password through what the header says.
func (w *world) signInVia(user string, forwarded ...string) int {
	w.t.Helper()
	header := http.Header{"Content-Type": {"application/json"}, "X-Forwarded-For": forwarded}
	a := w.send("POST", "/api/v1/sessions", header,
		strings.NewReader(`{"user":"`+user+`","password":"guess guess"}`))
	return a.status
}

// Behind a trusted proxy, each visitor has separate limits, and the audit names them. What a
// visitor writes into the header is ignored.
func TestProxies_TellVisitorsApart(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *api.Config) {
		c.Proxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"),
			netip.MustParsePrefix("::1/128"), netip.MustParsePrefix("10.20.0.0/24")}
	})
	w.people()
	for i := range 11 {
		want := http.StatusUnauthorized
		if i == 10 {
			want = http.StatusTooManyRequests
		}
		// The visitor claims another address each time; the last proxy does not lie.
		claim := "198.51.100." + string(rune('0'+i%10))
		if got := w.signInVia("root", claim+", 203.0.113.7, 10.20.0.3"); got != want {
			t.Errorf("guess %d answers %d, want %d", i, got, want)
		}
	}
	for _, one := range []string{"203.0.113.8", "[2001:db8::1]:4711", "203.0.113.9:80"} {
		if got := w.signInVia("root", one); got != http.StatusUnauthorized {
			t.Errorf("visitor %s answers %d", one, got)
		}
	}
	if got := w.signInVia("root", "1.2.3.4", "203.0.113.7"); got != http.StatusTooManyRequests {
		t.Errorf("two header lines are not one list: %d", got)
	}
}

// Without a trusted proxy the header changes nothing.
func TestProxies_AreNotBelievedByDefault(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.people()
	for range 10 {
		w.signInVia("root", "203.0.113.1")
	}
	if got := w.signInVia("root", "203.0.113.2"); got != http.StatusTooManyRequests {
		t.Errorf("a stranger's X-Forwarded-For is believed: %d", got)
	}
}

// The first page after a sign-in leaves the cookie by which the browser is known again.
func TestSignIn_KeepsTheDevice(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.people()
	session := w.signIn("root", password).cookies[0]
	a := w.send("GET", "/api/v1/me", http.Header{
		"Cookie": {session.Name + "=" + session.Value}}, nil)
	var device *http.Cookie
	for _, c := range a.cookies {
		if strings.HasSuffix(c.Name, "nullops_device") {
			device = c
		}
	}
	if device == nil || device.Value == "" || !device.HttpOnly || device.MaxAge <= 0 {
		t.Fatalf("cookies: %v", a.header.Values("Set-Cookie"))
	}
	for range 11 {
		w.signIn("root", "guess guess")
	}
	header := http.Header{"Content-Type": {"application/json"},
		"Cookie": {device.Name + "=" + device.Value}}
	again := w.send("POST", "/api/v1/sessions", header,
		strings.NewReader(`{"user":"root","password":"`+password+`"}`))
	if again.status != http.StatusCreated {
		t.Errorf("the known browser answers %d: %s", again.status, again.body)
	}
}
