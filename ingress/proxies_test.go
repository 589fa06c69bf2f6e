package ingress_test

import (
	"io"
	"net/http"
	"net/netip"
	"testing"

	"github.com/nullops/nullops/ingress"
)

// A trusted proxy says who visits and whether over HTTPS; what the visitor wrote before counts for
// nothing, and nobody else is believed.
func TestProxy_BelievesTrustedProxiesAlone(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ trusted, forwarded, proto, wantFrom, wantProto string }{
		{"127.0.0.0/8", "192.0.2.1", "https", "192.0.2.1", "https"},
		{"127.0.0.0/8", "6.6.6.6, 192.0.2.1", "http, HTTPS", "192.0.2.1", "https"},
		{"127.0.0.0/8", "6.6.6.6, 192.0.2.1, 127.0.0.7", "http", "192.0.2.1", "http"},
		{"127.0.0.0/8", "[2001:db8::1]:443", "", "2001:db8::1", "http"},
		{"127.0.0.0/8", "192.0.2.1, not an address", "gopher", "127.0.0.1", "http"},
		{"127.0.0.0/8", "", "", "127.0.0.1", "http"},
		{"10.0.0.0/8", "192.0.2.1", "https", "127.0.0.1", "http"},
	} {
		b := newBed(t, func(config *ingress.Config) {
			config.Proxies = []netip.Prefix{netip.MustParsePrefix(c.trusted)}
			config.Secure = func(host string) string { return "https://" + host }
		})
		r := b.up("cart", "web", func(w http.ResponseWriter, r *http.Request) {
			h := r.Header
			_, _ = io.WriteString(w, h.Get("X-Forwarded-For")+" "+h.Get("X-Forwarded-Proto"))
		})
		b.set(r)
		header := http.Header{"X-Forwarded-For": {c.forwarded}, "X-Forwarded-Proto": {c.proto}}
		for _, method := range []string{"GET", "POST"} {
			_, body := b.ask(method, r.Host, "/", header)
			if want := c.wantFrom + " " + c.wantProto; body != want {
				t.Errorf("%+v: the service reads %q", c, body)
			}
		}
		b.proxy.SetTable(ingress.NewTable(9, []ingress.Route{r}).WithZones([]ingress.Zone{
			{Suffix: "env." + domain, RedirectHTTPS: true}}))
		want := http.StatusPermanentRedirect
		if c.wantProto == "https" {
			want = http.StatusOK
		}
		if res, _ := b.ask("GET", r.Host, "/", header); res.StatusCode != want {
			t.Errorf("%+v, with a redirect to HTTPS: %d", c, res.StatusCode)
		}
	}
}
