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
