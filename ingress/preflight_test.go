package ingress_test

import (
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/nullops/nullops/ingress"
)

// Browsers send a preflight without credentials, so it must reach the service
// through every gate. Nothing else passes without a pass.
func TestGate_PreflightPasses(t *testing.T) {
	t.Parallel()
	for _, gate := range []ingress.Gate{ingress.GateMembers, ingress.GateGuests} {
		var seen atomic.Pointer[http.Request]
		b, r, book := newGatedBed(t, gate, func(w http.ResponseWriter, r *http.Request) {
			seen.Store(r)
			w.Header().Set("Access-Control-Allow-Origin", "https://app.example")
			_, _ = io.WriteString(w, "service")
		})
		starting := newRoute("soon", "web")
		starting.State, starting.Gate = ingress.StateApplying, gate
		b.zone(gate, r, starting)
		const origin, asks = "Origin", "Access-Control-Request-Method"
		preflight := []string{origin, "https://app.example", asks, "PUT",
			"Access-Control-Request-Headers", "x-token"}
		withPass := append([]string{"Nullops-Pass", "nogv_x", "Cookie", "nullops_pass=y"}, preflight...)
		for _, header := range [][]string{preflight, withPass} {
			res, body := b.send("OPTIONS", r.Host, "/api?x=1", header...)
			if res.StatusCode != 200 || body != "service" ||
				res.Header.Get("Access-Control-Allow-Origin") != "https://app.example" {
				t.Fatalf("%s: %d %q", gate, res.StatusCode, body)
			}
			if got := seen.Load().Header; got.Get(origin) == "" || got.Get("Nullops-Pass") != "" ||
				strings.Contains(got.Get("Cookie"), "nullops_pass") {
				t.Errorf("%s: the service saw %v", gate, got)
			}
		}
		ghost := strings.Replace(r.Host, r.Deployment, "ghst", 1)
		for name, c := range map[string]struct {
			method, host, path string
			header             []string
		}{
			"GET":            {"GET", r.Host, "/", preflight},
			"POST":           {"POST", r.Host, "/", preflight},
			"no origin":      {"OPTIONS", r.Host, "/", []string{asks, "PUT"}},
			"empty origin":   {"OPTIONS", r.Host, "/", []string{origin, "", asks, "PUT"}},
			"two origins":    {"OPTIONS", r.Host, "/", append([]string{origin, "http://b"}, preflight...)},
			"no method":      {"OPTIONS", r.Host, "/", []string{origin, "http://a"}},
			"empty method":   {"OPTIONS", r.Host, "/", []string{origin, "http://a", asks, ""}},
			"upgrade":        {"OPTIONS", r.Host, "/", append([]string{"Upgrade", "h2c"}, preflight...)},
			"our own path":   {"OPTIONS", r.Host, "/.nullops/x", preflight},
			"no such host":   {"OPTIONS", ghost, "/", preflight},
			"does not run":   {"OPTIONS", starting.Host, "/", preflight},
			"plain question": {"OPTIONS", r.Host, "/", nil},
		} {
			want := http.StatusUnauthorized
			if name == "our own path" {
				want = http.StatusNotFound
			}
			res, body := b.send(c.method, c.host, c.path, c.header...)
			if res.StatusCode != want || body == "service" || strings.Contains(body, "soon") {
				t.Errorf("%s, %s: %d %q", gate, name, res.StatusCode, body)
			}
		}
		body := "OPTIONS / HTTP/1.1\r\nHost: " + r.Host + "\r\nOrigin: http://a\r\n" + asks +
			": PUT\r\nConnection: close\r\nContent-Length: 1\r\n\r\nx"
		if out := b.raw(body); !strings.HasPrefix(out, "HTTP/1.1 401 ") {
			t.Errorf("%s, with a body: %q", gate, out)
		}
		book.give("member", ingress.PassScope{Deployment: r.DeploymentID})
		res, _ := b.send("PUT", r.Host, "/api", "Nullops-Pass", "member", origin, "http://a")
		if res.StatusCode != 200 {
			t.Errorf("%s: the request that follows: %d", gate, res.StatusCode)
		}
	}
}
