package server

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"
)

// networkShare is the part of all connections that one network may hold.
const networkShare = 8

// connectionLimit bounds the connections of the control plane's port: in total, and
// for each network (an IPv4 address or an IPv6 /64) unless it is a trusted proxy. When
// all are in use, the one that has been idle longest is closed.
type connectionLimit struct {
	most    int
	proxies []netip.Prefix

	mu        sync.Mutex
	open      map[net.Conn]*limitedConn
	byNetwork map[netip.Prefix]int
}

func newConnectionLimit(most int, proxies []netip.Prefix) *connectionLimit {
	return &connectionLimit{most: most, proxies: proxies, open: map[net.Conn]*limitedConn{},
		byNetwork: map[netip.Prefix]int{}}
}

// limitListener returns a listener that closes connections above the limit right after
// accepting them, so that a full server answers fast instead of not at all.
func (c *connectionLimit) limitListener(l net.Listener) net.Listener {
	return limitedListener{Listener: l, limit: c}
}

// trackState records which connections are idle; it is an http.Server's ConnState.
func (c *connectionLimit) trackState(conn net.Conn, state http.ConnState) {
	if secure, ok := conn.(*tls.Conn); ok {
		conn = secure.NetConn()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if one := c.open[conn]; one != nil {
		one.idle = state == http.StateIdle
		one.since = time.Now()
	}
}

// admit counts a new connection, or reports that there is no room for it.
func (c *connectionLimit) admit(conn *limitedConn) bool {
	network, counted := c.networkOf(conn.RemoteAddr())
	c.mu.Lock()
	defer c.mu.Unlock()
	if counted && c.byNetwork[network] >= max(c.most/networkShare, 1) {
		return false
	}
	if len(c.open) >= c.most && !c.makeRoomLocked() {
		return false
	}
	conn.network, conn.counted, conn.since = network, counted, time.Now()
	c.open[conn] = conn
	if counted {
		c.byNetwork[network]++
	}
	return true
}

// makeRoomLocked closes the connection that has been idle longest.
func (c *connectionLimit) makeRoomLocked() bool {
	var oldest *limitedConn
	for _, one := range c.open {
		if one.idle && (oldest == nil || one.since.Before(oldest.since)) {
			oldest = one
		}
	}
	if oldest == nil {
		return false
	}
	c.removeLocked(oldest)
	_ = oldest.Conn.Close()
	return true
}

func (c *connectionLimit) remove(conn *limitedConn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.removeLocked(conn)
}

func (c *connectionLimit) removeLocked(conn *limitedConn) {
	if c.open[conn] == nil {
		return
	}
	delete(c.open, conn)
	if !conn.counted {
		return
	}
	if c.byNetwork[conn.network]--; c.byNetwork[conn.network] == 0 {
		delete(c.byNetwork, conn.network)
	}
}

// networkOf is the network under which a connection is counted. counted is false for trusted
// proxies, whose connections carry all visitors.
func (c *connectionLimit) networkOf(address net.Addr) (network netip.Prefix, counted bool) {
	tcp, ok := address.(*net.TCPAddr)
	if !ok {
		return network, false
	}
	ip := tcp.AddrPort().Addr().Unmap().WithZone("")
	for _, p := range c.proxies {
		if p.Contains(ip) {
			return network, false
		}
	}
	bits := 32
	if ip.Is6() {
		bits = 64
	}
	network, err := ip.Prefix(bits)
	return network, err == nil
}

type limitedListener struct {
	net.Listener
	limit *connectionLimit
}

func (l limitedListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		one := &limitedConn{Conn: conn, limit: l.limit}
		if l.limit.admit(one) {
			return one, nil
		}
		_ = conn.Close()
	}
}

// limitedConn frees its slot when it is closed. The fields are guarded by the limit's
// mutex.
type limitedConn struct {
	net.Conn
	limit   *connectionLimit
	network netip.Prefix
	counted bool
	idle    bool
	since   time.Time
}

func (c *limitedConn) Close() error {
	c.limit.remove(c)
	return c.Conn.Close()
}

// parseProxies reads a setting of addresses and networks with commas between.
func parseProxies(setting, text string) (all []netip.Prefix, err error) {
	for part := range strings.SplitSeq(text, ",") {
		part = strings.TrimSpace(part)
		if part == "" {
			continue
		}
		p, err := netip.ParsePrefix(part)
		if ip, bad := netip.ParseAddr(part); bad == nil {
			p, err = ip.Prefix(ip.BitLen())
		}
		if err != nil {
			return nil, fmt.Errorf("setting %s: %q is neither an address nor a network; "+
				"write them like 127.0.0.1,10.20.0.0/24", setting, part)
		}
		if p.Bits() == 0 {
			return nil, fmt.Errorf("setting %s: %s is everybody, so everybody could "+
				"claim any address; name your proxies only", setting, part)
		}
		all = append(all, p.Masked())
	}
	return all, nil
}

// checkConnections refuses a limit that locks everybody out.
func checkConnections(n int) error {
	if n < 16 || n > 1_000_000 {
		return fmt.Errorf("setting http.connections: %d is not from 16 to 1000000", n)
	}
	return nil
}
