package ingress

import (
	"log/slog"
	"net/netip"
	"testing"
)

// The connections of a trusted proxy are those of all visitors.
func TestLimits_ProxiesHaveNoShare(t *testing.T) {
	t.Parallel()
	l := NewLimits(8, slog.New(slog.DiscardHandler))
	l.TrustProxies([]netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")})
	for from, want := range map[string]int{"10.1.1.1/32": 8, "192.0.2.1/32": 6} {
		ip, got := netip.MustParsePrefix(from), 0
		for l.tryAcquire(ip) {
			got++
		}
		for range got {
			l.release(ip)
		}
		if got != want {
			t.Errorf("%s has %d of 8 connections, want %d", from, got, want)
		}
	}
}

// One client is one IPv4 address, however it is written, or one network of IPv6.
func TestClientPrefix_IsWhatOneCustomerGets(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		one, other string
		same       bool
	}{
		{"192.0.2.1", "::ffff:192.0.2.1", true}, {"192.0.2.1", "192.0.2.0", false},
		{"2001:db8:0:1::1", "2001:db8:0:1:8000::1", true},
		{"2001:db8:0:1::1", "2001:db8::1", false}, {"fe80::1%eth0", "fe80::1%eth1", true},
	} {
		one, other := netip.MustParseAddr(c.one), netip.MustParseAddr(c.other)
		if same := clientPrefix(one) == clientPrefix(other); same != c.same {
			t.Errorf("%s and %s are one client: %t", c.one, c.other, same)
		}
	}
	if p := clientPrefix(netip.Addr{}); p.IsValid() {
		t.Errorf("no address is %s", p)
	}
}
