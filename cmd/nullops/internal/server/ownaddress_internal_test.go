package server

import (
	"context"
	"errors"
	"net/netip"
	"testing"
)

// No node can be where the control plane or its database listens, under
// whichever of their addresses.
func TestOwnAddresses(t *testing.T) {
	var s Settings
	s.HTTP.Listen, s.Ingress.Listen, s.Metrics.Listen = ":8443", "192.0.2.7:443", "127.0.0.1:9100"
	s.Database.URL = "postgres://nullops@db.internal:5432/nullops"
	o := newOwnAddresses(s)
	o.machine = func() []netip.Addr {
		return []netip.Addr{netip.MustParseAddr("192.0.2.7"), netip.MustParseAddr("2001:db8::7")}
	}
	asked := 0
	o.lookup = func(_ context.Context, name string) ([]netip.Addr, error) {
		asked++
		if name != "db.internal" {
			return nil, errors.New("unknown name " + name)
		}
		return []netip.Addr{netip.MustParseAddr("::ffff:198.51.100.4"),
			netip.MustParseAddr("2001:db8::4")}, nil
	}
	for text, want := range map[string]bool{
		"127.0.0.1:8443": true, "192.0.2.7:8443": true, "[2001:db8::7]:8443": true,
		"[::1]:8443": true, "[::ffff:192.0.2.7]:8443": true,
		"192.0.2.8:8443": false, "192.0.2.7:5000": false, // an agent beside the control plane
		"192.0.2.7:443": true, "127.0.0.1:443": false,
		"127.0.0.1:9100": true, "192.0.2.7:9100": true, "192.0.2.8:9100": false,
		"198.51.100.4:5432": true, "[2001:db8::4]:5432": true, "198.51.100.4:5000": false,
		"198.51.100.5:5432": false,
	} {
		if got := o.contains(netip.MustParseAddrPort(text)); got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
	if asked != 1 {
		t.Errorf("the resolver was asked %d times", asked)
	}
}

func TestOwnAddresses_DatabaseBehindASocket(t *testing.T) {
	var s Settings
	s.Database.URL = "host=/run/postgresql port=5433 dbname=nullops"
	o := newOwnAddresses(s)
	o.machine = func() []netip.Addr { return []netip.Addr{netip.MustParseAddr("192.0.2.7")} }
	for text, want := range map[string]bool{
		"127.0.0.1:5433": true, "192.0.2.7:5433": true, "192.0.2.7:5432": false,
		"192.0.2.9:5433": false,
	} {
		if got := o.contains(netip.MustParseAddrPort(text)); got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}
