package ingress

import (
	"net"
	"net/http"
	"slices"
	"strings"
)

// narrowCookies keeps a deployment's cookies to the deployment. A Domain that
// reaches further (the environment's domain, say) would hand them to, and set
// them for, the deployments of strangers; such an attribute is dropped, which
// makes the cookie one of this very host.
func narrowCookies(h http.Header, route *Route) {
	// Our own cookie is not the application's to set.
	cookies := slices.DeleteFunc(h["Set-Cookie"], func(c string) bool {
		return isOwnCookie(c)
	})
	h["Set-Cookie"] = cookies
	for i, c := range cookies {
		if strings.Contains(c, ";") {
			cookies[i] = narrowCookie(c, route)
		}
	}
}

// isOwnCookie finds our own cookies. Browsers send a cookie without a name as its value alone,
// which may look like ours.
func isOwnCookie(cookie string) bool {
	name, value, _ := strings.Cut(cookie, "=")
	if name = strings.TrimSpace(name); name == "" {
		name, _, _ = strings.Cut(value, "=")
		name = strings.TrimSpace(name)
	}
	return name == passCookie || name == securePassCookie || name == stayCookie
}

func narrowCookie(cookie string, route *Route) string {
	attributes := strings.Split(cookie, ";")
	kept := slices.DeleteFunc(attributes[1:], func(a string) bool {
		name, value, _ := strings.Cut(a, "=")
		return strings.EqualFold(strings.TrimSpace(name), "domain") &&
			!route.ownsCookieDomain(strings.TrimSpace(value))
	})
	if len(kept) == len(attributes)-1 {
		return cookie
	}
	return strings.Join(attributes[:1+len(kept)], ";")
}

// ownsCookieDomain says whether every host under a cookie's domain belongs to the route's
// deployment. In the flat form hosts of different deployments are siblings,
// so only the host itself does.
func (r *Route) ownsCookieDomain(domain string) bool {
	domain = strings.ToLower(strings.TrimPrefix(domain, "."))
	if domain == r.Host {
		return true
	}
	return r.isDotted() && domain == r.Host[len(r.Service)+1:]
}

// isDotted reports whether the host has the form service.deployment.environment.domain, so that
// everything below deployment.environment.domain is of the same deployment.
func (r *Route) isDotted() bool {
	return r.Service != "" && (r.Deployment != "" && strings.HasPrefix(r.Host,
		r.Service+"."+r.Deployment+".") || r.KnownAs != "" && strings.HasPrefix(r.Host,
		r.Service+"."+r.KnownAs+"."))
}

const (
	// maxExpired and maxCookieName keep the answer to a cookie bomb from
	// being one.
	maxExpired    = 64
	maxCookieName = 128
)

// expireCookies frees a browser whose cookies are too many to be served, for the
// host, for its own deployment and for the environment. The environment's domain
// belongs to all its deployments, but only their scripts can have set cookies for
// it, since narrowCookies keeps their servers from it; such a cookie is everybody's
// to expire, and is how one deployment locks visitors out of its neighbours.
// Cookies of the domains above may be those of a company's sign-in: they stay, and
// so does what Clear-Site-Data would clear, which is the whole registrable domain.
// What only the deployment of a gated host has set stays too, so that strangers do
// not learn whether there is one.
func (p *Proxy) expireCookies(w http.ResponseWriter, r *http.Request) {
	host, ok := Canonical(r.Host)
	if !ok || net.ParseIP(host) != nil {
		return
	}
	domains := []string{host}
	table := p.table.Load()
	_, parent, _ := strings.Cut(host, ".")
	if route := table.match(host); route != nil && route.Gate == GateOpen &&
		route.ownsCookieDomain(parent) {
		domains = append(domains, parent)
	}
	if zone := table.zoneOf(host); zone != nil && strings.HasSuffix(host, "."+zone.Suffix) {
		domains = append(domains, zone.Suffix)
	}
	left := maxExpired
	for name := range cookieNames(r) {
		if left--; left < 0 {
			return
		}
		w.Header().Add("Set-Cookie", name+"=; Path=/; Max-Age=0")
		for _, d := range domains {
			w.Header().Add("Set-Cookie", name+"=; Path=/; Max-Age=0; Domain="+d)
		}
	}
}

// cookieNames reads the names alone; values may be anything.
func cookieNames(r *http.Request) map[string]bool {
	names := make(map[string]bool)
	for _, line := range r.Header["Cookie"] {
		for pair := range strings.SplitSeq(line, ";") {
			name, _, _ := strings.Cut(strings.TrimSpace(pair), "=")
			if name != "" && len(name) <= maxCookieName {
				names[name] = true
			}
		}
	}
	return names
}
