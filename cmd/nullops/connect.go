package main

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// connect reaches a node by TCP. The address is vetted after its name is
// resolved and before a packet goes there.
func (b *base) connect(ctx context.Context, network, address string) (net.Conn, error) {
	d := net.Dialer{Timeout: 5 * time.Second,
		Control: func(_, resolved string, _ syscall.RawConn) error {
			ap, err := netip.ParseAddrPort(resolved)
			if err != nil {
				return fmt.Errorf("node address %s: %w", resolved, err)
			}
			return b.catalog.AllowedNodeAddress(ap)
		}}
	return d.DialContext(ctx, network, address)
}

// ours reports whether an address is one of the control plane itself or of its
// database: no agent can be there, and whoever says so is up to something.
func (s Settings) ours(ap netip.AddrPort) bool {
	for _, listen := range []string{s.HTTP.Listen, s.Ingress.Listen, s.Metrics.Listen} {
		host, port, err := net.SplitHostPort(listen)
		if err != nil || port != strconv.Itoa(int(ap.Port())) {
			continue
		}
		ip, err := netip.ParseAddr(host)
		if err != nil || ip.IsUnspecified() && ap.Addr().IsLoopback() || ip.Unmap() == ap.Addr() {
			return true
		}
	}
	db, err := pgx.ParseConfig(s.Database.URL)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(db.Host)
	same := err == nil && ip.Unmap() == ap.Addr() || db.Host == "localhost" && ap.Addr().IsLoopback()
	return same && db.Port == ap.Port()
}
