package controlplane

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"
	"time"
)

// OffLimits defines which addresses people may not enter: this machine, its network
// link, cloud metadata services, and the control plane's own listeners and database.
// Registries, nodes, webhooks and code hosts all use it. Private networks are allowed,
// because such things usually are there.
type OffLimits struct {
	// Own forbids more addresses: those of the control plane and its database;
	// nil forbids no more.
	Own func(netip.AddrPort) bool
	// Loopback allows this machine itself, for development, and for what was
	// configured to be there.
	Loopback bool
}

// Check says why an address is off limits, in words that follow "since"; nil
// when it is not. An IPv4 address counts in each of its IPv6 disguises.
func (o OffLimits) Check(ap netip.AddrPort) error {
	ip := ap.Addr().Unmap().WithZone("")
	if inner, ok := embeddedIPv4(ip); ok {
		if err := o.check(netip.AddrPortFrom(inner, ap.Port())); err != nil {
			return err
		}
	}
	return o.check(netip.AddrPortFrom(ip, ap.Port()))
}

func (o OffLimits) check(ap netip.AddrPort) error {
	var (
		// RFC 1122, 3.2.1.3: this network; and class E with the broadcast address.
		nowhere  = netip.MustParsePrefix("0.0.0.0/8")
		reserved = netip.MustParsePrefix("240.0.0.0/4")
	)
	ip := ap.Addr()
	switch {
	case ip.IsLoopback() && !o.Loopback:
		return errors.New("it is this machine itself")
	case ip.IsUnspecified(), ip.IsMulticast(), nowhere.Contains(ip), reserved.Contains(ip):
		return errors.New("it is no address of a machine")
	case ip.IsLinkLocalUnicast():
		return errors.New("it is valid on one network link only")
	case isMetadataAddress(ip):
		return errors.New("it is where a cloud answers for its machines")
	case o.Own != nil && o.Own(ap):
		return errors.New("it belongs to the control plane or its database")
	default:
		return nil
	}
}

// isMetadataAddress knows the addresses outside link-local ranges at which clouds hand
// out credentials: Amazon's and Google's for IPv6, Alibaba's, Azure's, Oracle's.
func isMetadataAddress(ip netip.Addr) bool {
	switch ip.String() {
	case "fd00:ec2::254", "fd20:ce::254", "100.100.100.200", "168.63.129.16", "192.0.0.192":
		return true
	default:
		return false
	}
}

// embeddedIPv4 finds an IPv4 address within an IPv6 one: NAT64 (RFC 6052, RFC 8215),
// 6to4 (RFC 3056) and the deprecated IPv4-compatible form.
func embeddedIPv4(ip netip.Addr) (netip.Addr, bool) {
	if !ip.Is6() {
		return ip, false
	}
	b := ip.As16()
	for _, p := range []struct {
		prefix netip.Prefix
		at     int
	}{
		{netip.MustParsePrefix("64:ff9b::/96"), 12}, {netip.MustParsePrefix("64:ff9b:1::/48"), 12},
		{netip.MustParsePrefix("2002::/16"), 2}, {netip.MustParsePrefix("::/96"), 12},
	} {
		if p.prefix.Contains(ip) && !ip.IsLoopback() && !ip.IsUnspecified() {
			return netip.AddrFrom4([4]byte(b[p.at : p.at+4])), true
		}
	}
	return ip, false
}

// Dialer refuses addresses that are off limits after their name was resolved
// and before a byte is sent: a name that changes its mind gains nothing.
func (o OffLimits) Dialer(within time.Duration) *net.Dialer {
	return &net.Dialer{Timeout: within,
		ControlContext: func(_ context.Context, _, address string, _ syscall.RawConn) error {
			ap, err := netip.ParseAddrPort(address)
			if err != nil {
				return fmt.Errorf("address %q: %w", address, err)
			}
			if err := o.Check(ap); err != nil {
				return &OffLimitsError{IP: ap.Addr().Unmap(), Why: err}
			}
			return nil
		}}
}

// OffLimitsError is how a dial ends that led where it may not.
type OffLimitsError struct {
	IP  netip.Addr
	Why error
}

func (e *OffLimitsError) Error() string {
	return fmt.Sprintf("it leads to %s, which is off limits: %s", e.IP, e.Why)
}

// Unwrap returns the reason.
func (e *OffLimitsError) Unwrap() error { return e.Why }
