package controlplane_test

import (
	"errors"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/nullops/nullops/controlplane"
)

// A typed-in address reaches a network, and neither this machine, its link, a
// cloud's metadata nor the control plane, in whatever disguise.
func TestOffLimits(t *testing.T) {
	own := netip.MustParseAddrPort("10.0.0.9:8080")
	o := controlplane.OffLimits{Own: func(ap netip.AddrPort) bool { return ap == own }}
	for _, a := range []string{
		"127.0.0.1:80", "127.9.9.9:80", "[::1]:80", "[::ffff:127.0.0.1]:80", "0.0.0.0:80", "[::]:80",
		"169.254.169.254:80", "[fe80::1]:80", "[fd00:ec2::254]:80", "100.100.100.200:80",
		"168.63.129.16:80", "224.0.0.1:80", "255.255.255.255:80", "[ff02::1]:80",
		"[64:ff9b::a9fe:a9fe]:80", "[64:ff9b::7f00:1]:80", "[64:ff9b:1::7f00:1]:80",
		"[2002:7f00:1::]:80", "[2002:a9fe:a9fe::1]:80", "[::127.0.0.1]:80",
		"10.0.0.9:8080", "[::ffff:10.0.0.9]:8080", "[64:ff9b::a00:9]:8080",
	} {
		if o.Check(netip.MustParseAddrPort(a)) == nil {
			t.Errorf("%s is allowed", a)
		}
	}
	for _, a := range []string{"10.0.0.9:443", "192.168.1.5:5000", "93.184.216.34:443",
		"[2001:db8::1]:443", "[fd12::1]:443", "[64:ff9b::5db8:d822]:443"} {
		if err := o.Check(netip.MustParseAddrPort(a)); err != nil {
			t.Errorf("%s is refused: %v", a, err)
		}
	}
	o.Loopback = true
	if err := o.Check(netip.MustParseAddrPort("127.0.0.1:80")); err != nil {
		t.Errorf("allowed loopback: %v", err)
	}
}

// The check is on what a name resolved to.
//
// threat: T36
func TestOffLimits_Dialer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	_, err = controlplane.OffLimits{}.Dialer(5*time.Second).DialContext(t.Context(), "tcp4",
		"localhost:"+port)
	if _, ok := errors.AsType[*controlplane.OffLimitsError](err); !ok {
		t.Errorf("dialed this machine by its name: %v", err)
	}
	c, err := controlplane.OffLimits{Loopback: true}.Dialer(5*time.Second).DialContext(t.Context(),
		"tcp4", "localhost:"+port)
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
}
