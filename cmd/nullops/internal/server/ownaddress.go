package server

import (
	"context"
	"net"
	"net/netip"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// ownAddresses are the addresses where the control plane and its database listen. No
// agent can be there, so a node with such an address is an attack or a mistake.
type ownAddresses struct {
	// places are host and port as settings have them; a host may be a name, and
	// is empty for every address of this machine.
	places []hostPort
	lookup func(ctx context.Context, name string) ([]netip.Addr, error)
	// machine lists the addresses of this machine.
	machine func() []netip.Addr

	mu    sync.Mutex
	names map[string]resolved
}

type hostPort struct {
	host string
	port uint16
}

type resolved struct {
	at  time.Time
	ips []netip.Addr
}

// namesFor is how long a name's addresses are believed: an address is checked
// at every dial, and no resolver should notice.
const namesFor = time.Minute

func newOwnAddresses(s Settings) *ownAddresses {
	o := &ownAddresses{machine: machineAddresses, names: map[string]resolved{},
		lookup: func(ctx context.Context, name string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", name)
		}}
	for _, listen := range []string{s.HTTP.Listen, s.Ingress.Listen, s.Ingress.Secure,
		s.Metrics.Listen} {
		host, port, err := net.SplitHostPort(listen)
		number, wrong := strconv.ParseUint(port, 10, 16)
		if err == nil && wrong == nil {
			o.places = append(o.places, hostPort{host: host, port: uint16(number)})
		}
	}
	db, err := pgx.ParseConfig(s.Database.URL)
	if err != nil {
		return o // openBase reports it
	}
	o.places = append(o.places, databasePlace(db.Host, db.Port))
	for _, other := range db.Fallbacks {
		o.places = append(o.places, databasePlace(other.Host, other.Port))
	}
	return o
}

// databasePlace treats a unix socket as this machine: its server most likely listens
// on the same port by TCP too.
func databasePlace(host string, port uint16) hostPort {
	if filepath.IsAbs(host) || strings.HasPrefix(host, "@") {
		host = ""
	}
	return hostPort{host: host, port: port}
}

// contains reports whether an address is one of ours.
func (o *ownAddresses) contains(ap netip.AddrPort) bool {
	ip := ap.Addr().Unmap().WithZone("")
	for _, p := range o.places {
		if p.port == ap.Port() && o.answersAt(p.host, ip) {
			return true
		}
	}
	return false
}

// answersAt reports whether something that listens at host answers at ip. What is on
// this machine may answer at each of its addresses.
func (o *ownAddresses) answersAt(host string, ip netip.Addr) bool {
	for _, own := range o.resolveHost(host) {
		if own == ip {
			return true
		}
		here := own.IsUnspecified() || own.IsLoopback()
		if here && (ip.IsLoopback() || slices.Contains(o.machine(), ip)) {
			return true
		}
	}
	return false
}

func (o *ownAddresses) resolveHost(host string) []netip.Addr {
	if host == "" {
		return []netip.Addr{netip.IPv6Unspecified()}
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{ip.Unmap().WithZone("")}
	}
	if host == "localhost" {
		return []netip.Addr{netip.IPv6Loopback()}
	}
	o.mu.Lock()
	known, ok := o.names[host]
	o.mu.Unlock()
	if ok && time.Since(known.at) < namesFor {
		return known.ips
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	ips, err := o.lookup(ctx, host)
	if err != nil {
		return known.ips // better what was than nothing
	}
	for i := range ips {
		ips[i] = ips[i].Unmap().WithZone("")
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.names[host] = resolved{at: time.Now(), ips: ips}
	return ips
}

func machineAddresses() []netip.Addr {
	all, err := net.InterfaceAddrs()
	if err != nil {
		return nil
	}
	var ips []netip.Addr
	for _, a := range all {
		if prefix, err := netip.ParsePrefix(a.String()); err == nil {
			ips = append(ips, prefix.Addr().Unmap().WithZone(""))
		}
	}
	return ips
}
