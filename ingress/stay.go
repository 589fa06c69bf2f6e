package ingress

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A deployment may take the hosts of an older one while people use that. Their browsers remember,
// in a cookie of ours, which deployment answered them last, so that who was in the middle of
// something stays where they were, until they leave or the time is up. Applications never see the
// cookie, and who has none gets the newest.

const (
	// stayCookie names the deployment that answered, and the minute in which it did.
	stayCookie = "nullops_stay"
	// stayIdle is how long a visitor may do nothing and still be there.
	stayIdle = 5 * time.Minute
)

// stayWithFormer leads a visitor of a deployment that was replaced back to it.
func (p *Proxy) stayWithFormer(table *Table, at *requestTarget) {
	was := at.last
	if was == "" || was == at.route.DeploymentID {
		return
	}
	for _, f := range at.route.Formers {
		former := table.routes[f.Host]
		if f.DeploymentID != was || former == nil || former.DeploymentID != was ||
			former.State != StateReady || !p.config.Now().Before(f.Until) {
			continue
		}
		at.successor, at.route, at.via = at.route, former, f.Host
		at.gate = at.successor.Gate.stricterOf(former.Gate)
		return
	}
}

// endStay leads a visitor to the newest deployment, since the one where they were is gone.
func (at *requestTarget) endStay(table *Table) *Route {
	at.successor, at.via = nil, ""
	at.route = table.routes[at.host]
	return at.route
}

// hostOfRoute is the host under which the table has the route.
func (at *requestTarget) hostOfRoute() string {
	if at.via != "" {
		return at.via
	}
	return at.host
}

// isOpenedBy reports whether a pass opens the route. One for a deployment opens what took its
// place, and the other way round: who was let in to one stays let in.
func (at *requestTarget) isOpenedBy(pass *heldPass) bool {
	return pass.opensRoute(at.gate, at.route) ||
		at.successor != nil && pass.opensRoute(at.gate, at.successor)
}

func (h *heldPass) opensRoute(gate Gate, r *Route) bool {
	return h.grantsAccess(gate, r.DeploymentID, r.environmentID()) ||
		h.Deployment != "" && !(h.Guest && gate == GateMembers) && !h.gone.Load() &&
			slices.ContainsFunc(r.Formers,
				func(f Former) bool { return f.DeploymentID == h.Deployment })
}

// lastDeployment returns the deployment that answered a visitor last, and when.
func lastDeployment(r *http.Request) (id string, at time.Time) {
	if !mentionsCookie(r, stayCookie) {
		return "", at
	}
	for _, c := range r.CookiesNamed(stayCookie) {
		id, minute, ok := strings.Cut(c.Value, ".")
		n, err := strconv.ParseInt(minute, 10, 64)
		if ok && err == nil && id != "" {
			return id, time.Unix(n*60, 0)
		}
	}
	return "", at
}

func mentionsCookie(r *http.Request, name string) bool {
	return slices.ContainsFunc(r.Header["Cookie"],
		func(line string) bool { return strings.Contains(line, name) })
}

// rememberVisitor has a visitor's browser remember the deployment that answers, at most once a
// minute. Hosts of one deployment share what is remembered where their names allow it.
func (p *Proxy) rememberVisitor(w http.ResponseWriter, r *http.Request, at *requestTarget) {
	shown := at.route
	if at.successor != nil {
		shown = at.successor
	}
	if shown.KnownAs == "" || shown.KnownAs != shown.Deployment {
		return // its hosts are its own for good
	}
	now := p.config.Now()
	if age := now.Sub(at.lastAt); at.last == at.route.DeploymentID && age >= 0 && age < time.Minute {
		return
	}
	c := &http.Cookie{Name: stayCookie, Path: "/", MaxAge: int(stayIdle / time.Second),
		Value:    at.route.DeploymentID + "." + strconv.FormatInt(now.Unix()/60, 10),
		HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: r.TLS != nil}
	named := *shown
	named.Host = at.host
	switch {
	case named.isDotted():
		c.Domain = at.host[len(named.Service)+1:]
	case strings.HasPrefix(at.host, named.KnownAs+"."):
		c.Domain = at.host
	}
	if text := c.String(); text != "" {
		w.Header().Add("Set-Cookie", text)
	}
}

// copyHeaders copies a service's headers into an answer. Cookies of ours that are there stay.
func copyHeaders(h, from http.Header) {
	own := h["Set-Cookie"]
	maps.Copy(h, from)
	if len(own) > 0 {
		h["Set-Cookie"] = append(slices.Clone(from["Set-Cookie"]), own...)
	}
}
