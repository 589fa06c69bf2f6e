package server

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"syscall"
	"time"
)

// connectNode reaches a node by TCP. The address is vetted after its name is
// resolved and before a packet goes there.
func (b *serverBase) connectNode(ctx context.Context, network, address string) (net.Conn, error) {
	d := net.Dialer{Timeout: 5 * time.Second,
		Control: func(_, resolved string, _ syscall.RawConn) error {
			ap, err := netip.ParseAddrPort(resolved)
			if err != nil {
				return fmt.Errorf("node address %s: %w", resolved, err)
			}
			return b.nodes.AllowedNodeAddress(ap)
		}}
	return d.DialContext(ctx, network, address)
}
