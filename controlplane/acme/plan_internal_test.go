package acme

import (
	"testing"

	"github.com/nullops/nullops/controlplane"
)

// The UI orders with the environment in whose domain it is, or with the only one.
func TestZoneOf_TheUI(t *testing.T) {
	zone := func(domain string) controlplane.ACMEZone { return controlplane.ACMEZone{Domain: domain} }
	wide, narrow, other := zone("example.org"), zone("qa.example.org"), zone("apps.test")
	for _, c := range []struct {
		host  string
		zones []controlplane.ACMEZone
		want  string
	}{
		{"qa.example.org", []controlplane.ACMEZone{wide, narrow, other}, "qa.example.org"},
		{"ui.qa.example.org", []controlplane.ACMEZone{wide, narrow}, "qa.example.org"},
		{"myqa.example.org", []controlplane.ACMEZone{narrow, wide}, "example.org"},
		{"ui.test", []controlplane.ACMEZone{other}, "apps.test"},
		{"ui.test", []controlplane.ACMEZone{other, wide}, ""},
		{"", []controlplane.ACMEZone{other}, ""},
	} {
		if z, ok := zoneOf(c.zones, c.host); z.Domain != c.want || ok != (c.want != "") {
			t.Errorf("%q: %q, %v, want %q", c.host, z.Domain, ok, c.want)
		}
	}
}
