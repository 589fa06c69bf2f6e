package ingress

import (
	"crypto/tls"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// believeProxy puts the visitor's address and scheme in the place of those of a trusted proxy, so
// that services, redirects and cookies are about visitors. Of every other client nothing is
// believed.
func (p *Proxy) believeProxy(r *http.Request) *http.Request {
	if len(p.config.Proxies) == 0 {
		return r
	}
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil || !isWithin(p.config.Proxies, peer.Addr()) {
		return r
	}
	r = r.WithContext(r.Context()) // a copy: the server reads its own
	if visitor, ok := p.visitorOf(r.Header["X-Forwarded-For"]); ok {
		r.RemoteAddr = net.JoinHostPort(visitor.String(), "0")
	}
	// The nearest proxy wrote the last one.
	schemes := strings.Split(strings.Join(r.Header["X-Forwarded-Proto"], ","), ",")
	switch scheme := strings.TrimSpace(schemes[len(schemes)-1]); {
	case strings.EqualFold(scheme, "https") && r.TLS == nil:
		r.TLS = &tls.ConnectionState{}
	case strings.EqualFold(scheme, "http"):
		r.TLS = nil
	}
	return r
}

// visitorOf reads X-Forwarded-For from its end, where the nearest proxy wrote, up to the first
// address that is no trusted proxy's: the visitor may have written what stands before it.
func (p *Proxy) visitorOf(lines []string) (visitor netip.Addr, ok bool) {
	for _, text := range slices.Backward(strings.Split(strings.Join(lines, ","), ",")) {
		text = strings.TrimSpace(text)
		hop, err := netip.ParseAddr(strings.Trim(text, "[]"))
		if both, bad := netip.ParseAddrPort(text); bad == nil { // some write a port, too
			hop, err = both.Addr(), nil
		}
		if err != nil {
			break
		}
		visitor, ok = hop.Unmap().WithZone(""), true
		if !isWithin(p.config.Proxies, visitor) {
			break
		}
	}
	return visitor, ok
}

func isWithin(networks []netip.Prefix, ip netip.Addr) bool {
	ip = ip.Unmap().WithZone("")
	return slices.ContainsFunc(networks, func(n netip.Prefix) bool { return n.Contains(ip) })
}
