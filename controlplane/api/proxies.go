package api

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// believeProxies puts the visitor's address in the place of a trusted proxy's, so
// that limits, the audit and the log are about visitors.
func (s *server) believeProxies(next http.Handler) http.Handler {
	if len(s.Proxies) == 0 {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if visitor, ok := s.visitorOf(r); ok {
			r = r.WithContext(r.Context()) // a copy: the server reads its own
			r.RemoteAddr = net.JoinHostPort(visitor.String(), "0")
		}
		next.ServeHTTP(w, r)
	})
}

// visitorOf reads X-Forwarded-For from its end, where the nearest proxy wrote, up to
// the first address that is not one of our proxies: the visitor may have written what
// stands before it. ok is false if the connection comes from no trusted proxy, or the
// proxy named no address.
func (s *server) visitorOf(r *http.Request) (visitor netip.Addr, ok bool) {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil || !s.isProxy(peer.Addr()) {
		return visitor, false
	}
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for _, text := range slices.Backward(hops) {
		hop, valid := parseHop(strings.TrimSpace(text))
		if !valid {
			break
		}
		visitor, ok = hop, true
		if !s.isProxy(hop) {
			break
		}
	}
	return visitor, ok
}

func (s *server) isProxy(ip netip.Addr) bool {
	ip = ip.Unmap().WithZone("")
	for _, p := range s.Proxies {
		if p.Contains(ip) {
			return true
		}
	}
	return false
}

// parseHop reads one entry: an address, which some proxies write with a port or in
// brackets.
func parseHop(text string) (netip.Addr, bool) {
	if both, err := netip.ParseAddrPort(text); err == nil {
		return both.Addr().Unmap().WithZone(""), true
	}
	ip, err := netip.ParseAddr(strings.Trim(text, "[]"))
	return ip.Unmap().WithZone(""), err == nil
}
