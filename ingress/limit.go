package ingress

import (
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/nullops/nullops/internal/idleconn"
)

// warnInterval is the shortest time between two warnings about rejected connections.
const warnInterval = time.Minute

// Limits bounds the connections that clients hold open: all of them, so that
// the process never runs out of files, and those of one address, three quarters
// of that, so that one client alone cannot shut out the others. A connection
// beyond is closed as it comes. WebSockets count until they end.
type Limits struct {
	most, each int
	log        *slog.Logger
	proxies    []netip.Prefix

	mu   sync.Mutex
	open int
	by   map[netip.Prefix]int
	told time.Time
}

// NewLimits allows so many connections at a time.
func NewLimits(most int, log *slog.Logger) *Limits {
	return &Limits{most: most, each: max(1, most*3/4), log: log, by: map[netip.Prefix]int{}}
}

// TrustProxies lets proxies, whose connections carry all visitors, hold as many as there are.
func (l *Limits) TrustProxies(proxies []netip.Prefix) { l.proxies = proxies }

// Open is how many connections there are.
func (l *Limits) Open() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.open
}

// Listen returns a listener that enforces the limits, which several listeners may share.
func (l *Limits) Listen(under net.Listener) net.Listener { return &limitedListener{under, l} }

type limitedListener struct {
	net.Listener
	limits *Limits
}

// Accept implements net.Listener.
func (l *limitedListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		tcp, ok := c.(*net.TCPConn)
		if !ok {
			return c, nil // nobody's: only tests listen on something else
		}
		from := clientOf(tcp)
		if l.limits.tryAcquire(from) {
			return l.wrapCounted(tcp, from)
		}
		_ = tcp.Close()
	}
}

func (l *limitedListener) wrapCounted(tcp *net.TCPConn, from netip.Prefix) (net.Conn, error) {
	c, err := idleconn.Wrap(tcp)
	if err != nil {
		l.limits.release(from)
		return nil, errors.Join(err, tcp.Close())
	}
	return &countedConn{Conn: c, leave: sync.OnceFunc(func() { l.limits.release(from) })}, nil
}

// countedConn embeds the concrete type, so that bodies are still spliced, and idle
// connections need no read buffer.
type countedConn struct {
	*idleconn.Conn
	leave func()
}

// Close implements net.Conn.
func (c *countedConn) Close() error {
	c.leave()
	return c.Conn.Close()
}

// clientOf returns the prefix that counts as one client.
func clientOf(c *net.TCPConn) netip.Prefix {
	remote, _ := c.RemoteAddr().(*net.TCPAddr)
	return clientPrefix(remote.AddrPort().Addr())
}

// clientPrefix returns an IPv4 address, or an IPv6 /64, which is what one customer gets.
func clientPrefix(ip netip.Addr) netip.Prefix {
	ip = ip.Unmap().WithZone("")
	bits := 32
	if ip.Is6() {
		bits = 64
	}
	p, _ := ip.Prefix(bits) // the zero prefix, if there is no address
	return p
}

func (l *Limits) tryAcquire(from netip.Prefix) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open < l.most && (l.by[from] < l.each || isWithin(l.proxies, from.Addr())) {
		l.open++
		l.by[from]++
		return true
	}
	if now := time.Now(); now.Sub(l.told) > warnInterval {
		l.told = now
		l.log.Warn("connections are turned away: too many are open", "open", l.open,
			"from", from, "open_from", l.by[from], "limit", l.most, "limit_each", l.each)
	}
	return false
}

func (l *Limits) release(from netip.Prefix) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open--
	if l.by[from]--; l.by[from] == 0 {
		delete(l.by, from)
	}
}
