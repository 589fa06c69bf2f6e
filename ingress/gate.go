package ingress

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// ownPath is the path prefix that the ingress itself answers on every host of an
// environment. Applications never receive such requests.
const ownPath = "/.nullops/"

// RecheckPasses checks every pass in use with the gatekeeper and ends requests whose pass is no
// longer valid. Call it whenever passes, people or their rights may have changed, and
// periodically.
func (p *Proxy) RecheckPasses(ctx context.Context) error {
	err := p.passes.recheckAll(ctx)
	p.endUnauthorized()
	return err
}

// endUnauthorized ends running requests that would not be let in now.
func (p *Proxy) endUnauthorized() {
	table := p.table.Load()
	p.passes.live.Range(func(k, _ any) bool {
		s := k.(*trackedRequest)
		r := table.routes[s.host]
		if r == nil || r.Gate == GateOpen {
			return true
		}
		if s.pass == nil || !s.pass.opensRoute(r.Gate, r) {
			s.end(errPassWithdrawn)
		}
		return true
	})
}

func (r *Route) environmentID() string {
	if r == nil || r.zone == nil {
		return ""
	}
	return r.zone.EnvironmentID
}

// requestTarget is the route of a request and the access rule that applies there.
type requestTarget struct {
	host  string // canonical, empty when it cannot be
	zone  *Zone  // nil outside every environment
	route *Route // nil for nothing
	// successor has the host now, and via is where route is; both are empty but for visitors who
	// stay on a deployment that was replaced.
	successor *Route
	via       string
	// last answered this visitor, at lastAt; empty if their browser does not say.
	last   string
	lastAt time.Time
	gate   Gate
	pass   *heldPass // that was shown; nil where none is asked for
	// preflight is a request that passes the gate without a pass.
	preflight bool
}

// environment is the name of the environment, empty outside every one.
func (at *requestTarget) environment() string {
	switch {
	case at.zone != nil:
		return at.zone.Environment
	case at.route != nil:
		return at.route.Environment
	}
	return ""
}

func (p *Proxy) resolveTarget(r *http.Request) requestTarget {
	table := p.table.Load()
	host, ok := Canonical(r.Host)
	if !ok {
		return requestTarget{}
	}
	at := requestTarget{host: host, route: table.routes[host]}
	if at.route != nil {
		at.zone, at.gate = at.route.zone, at.route.Gate
		if at.route.KnownAs != "" {
			at.last, at.lastAt = lastDeployment(r)
			p.stayWithFormer(table, &at)
		}
		return at
	}
	if at.zone = table.zoneOf(host); at.zone != nil {
		at.gate = at.zone.Gate
	}
	return at
}

// authorizeRequest answers requests that must not reach a service: ACME challenges, redirects to
// HTTPS, our own paths, and requests without a required pass. It reports whether the
// request may be forwarded.
func (p *Proxy) authorizeRequest(w http.ResponseWriter, r *http.Request, at *requestTarget) bool {
	if p.answerChallenge(w, r, at) {
		return false
	}
	if at.zone != nil && at.zone.RedirectHTTPS && r.TLS == nil && p.config.Secure != nil {
		p.redirectToHTTPS(w, r, at.host)
		return false
	}
	ours := at.zone != nil || at.route == nil && at.host != ""
	if ours && strings.HasPrefix(r.URL.Path, ownPath) && p.keepsOwnPath(at, r.URL.Path) {
		p.serveOwnPath(w, r, at)
		return false
	}
	at.preflight = isPreflight(r) && at.route != nil && at.route.State == StateReady
	if at.gate != GateOpen && !at.preflight && !p.checkPass(w, r, at) {
		return false
	}
	stripPass(r.Header)
	return true
}

// isPreflight finds the question that a browser asks before a script's request to
// another origin (CORS). Browsers never send credentials with it, so no gate can
// ask for a pass, and only the service knows the answer. It is let through to
// services that run; a page of ours would tell strangers about the deployment.
func isPreflight(r *http.Request) bool {
	origin, method := r.Header["Origin"], r.Header["Access-Control-Request-Method"]
	return r.Method == http.MethodOptions && len(origin) == 1 && origin[0] != "" &&
		len(method) == 1 && method[0] != "" &&
		r.ContentLength == 0 && len(r.TransferEncoding) == 0 && len(r.Header["Upgrade"]) == 0
}

func (p *Proxy) redirectToHTTPS(w http.ResponseWriter, r *http.Request, host string) {
	w.Header().Set("Location", p.config.Secure(host)+r.RequestURI)
	w.Header().Set("Cache-Control", "no-store")
	p.countAnswer(r, http.StatusPermanentRedirect)
	w.WriteHeader(http.StatusPermanentRedirect)
}

// checkPass looks for a valid pass. Clients without one get the same response, by the same
// steps, whether the host exists or not.
func (p *Proxy) checkPass(w http.ResponseWriter, r *http.Request, at *requestTarget) bool {
	environment := ""
	if at.zone != nil {
		environment = at.zone.EnvironmentID
	}
	pass, err := p.passes.findPass(r, func(h *heldPass) bool {
		if at.route == nil {
			return h.grantsAccess(at.gate, "", environment)
		}
		return at.isOpenedBy(h)
	})
	if err != nil {
		p.config.Log.Warn("passes cannot be checked, nobody is let in", "error", err)
		p.answerPage(w, r, p.pages.gateClosedPage())
		return false
	}
	if at.pass = pass; pass != nil {
		return true
	}
	p.requireSignIn(w, r, at.host)
	return false
}

// requireSignIn redirects people to the sign-in page, and answers programs that a pass is
// required.
func (p *Proxy) requireSignIn(w http.ResponseWriter, r *http.Request, host string) {
	if p.config.Home == "" || !isNavigation(r) {
		w.Header().Set("WWW-Authenticate", passHeader)
		p.answerPage(w, r, p.pages.gate)
		return
	}
	p.redirectToUI(w, r, host, r.RequestURI)
}

func (p *Proxy) redirectToUI(w http.ResponseWriter, r *http.Request, host, to string) {
	const longest = 2000
	if len(to) > longest {
		to = "/"
	}
	q := url.Values{"host": {host}, "to": {to}}
	w.Header().Set("Location", strings.TrimSuffix(p.config.Home, "/")+"/gate?"+q.Encode())
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Referrer-Policy", "no-referrer")
	p.countAnswer(r, http.StatusSeeOther)
	w.WriteHeader(http.StatusSeeOther)
}

// isNavigation reports whether a person's browser loads a page, as opposed to a request of
// a script or program.
func isNavigation(r *http.Request) bool {
	if r.Method != http.MethodGet && r.Method != http.MethodHead || wantsUpgrade(r) {
		return false
	}
	if mode := r.Header.Get("Sec-Fetch-Mode"); mode != "" {
		return mode == "navigate"
	}
	return strings.Contains(r.Header.Get("Accept"), "text/html")
}

// serveOwnPath answers requests below /.nullops/, in the same way on every host of a zone.
func (p *Proxy) serveOwnPath(w http.ResponseWriter, r *http.Request, at *requestTarget) {
	switch path := strings.TrimPrefix(r.URL.Path, ownPath); {
	case path == "pass" && r.Method == http.MethodPost:
		p.exchangePass(w, r, at.host)
	case path == "guest" && r.Method == http.MethodGet:
		p.config.OnAnswer(at.environment(), http.StatusOK)
		p.pages.writeGuestPage(w)
	case path == "near" && r.Method == http.MethodGet && p.config.Home != "":
		p.redirectToUI(w, r, at.host, "/")
	case (path == "" || path == "build") && isRead(r) && p.config.About != nil:
		p.serveAbout(w, r, at)
	default:
		p.answerPage(w, r, p.pages.unknownHostPage())
	}
}

// exchangePass exchanges a code or guest token for a cookie on this host.
func (p *Proxy) exchangePass(w http.ResponseWriter, r *http.Request, host string) {
	const longest = 8 << 10
	r.Body = http.MaxBytesReader(w, r.Body, longest)
	brought, to := r.PostFormValue("pass"), r.PostFormValue("to")
	if p.config.Gate == nil || brought == "" {
		p.answerPage(w, r, p.pages.gate)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), checkTimeout)
	defer cancel()
	secret, until, ok, err := p.config.Gate.RedeemCode(ctx, host, brought)
	if err != nil {
		p.config.Log.Warn("nobody is let in", "error", err)
		p.answerPage(w, r, p.pages.gateClosedPage())
		return
	}
	if !ok {
		p.answerPage(w, r, p.pages.gate)
		return
	}
	http.SetCookie(w, p.newPassCookie(r, secret, until))
	w.Header().Set("Location", ownTarget(to))
	w.Header().Set("Cache-Control", "no-store")
	p.countAnswer(r, http.StatusSeeOther)
	w.WriteHeader(http.StatusSeeOther)
}

// newPassCookie returns a cookie for this host alone. With TLS browsers also send it with
// requests from other sites, so that an OAuth provider's POST back to the application is
// let in. The pass does not make such a request trustworthy for the application.
func (p *Proxy) newPassCookie(r *http.Request, secret string, until time.Time) *http.Cookie {
	c := &http.Cookie{Name: passCookie, Value: secret, Path: "/", Expires: until, HttpOnly: true,
		SameSite: http.SameSiteLaxMode}
	if r.TLS != nil {
		c.Name, c.Secure, c.SameSite = securePassCookie, true, http.SameSiteNoneMode
	}
	return c
}

// ownTarget keeps a redirect on this host.
func ownTarget(to string) string {
	if !strings.HasPrefix(to, "/") || strings.HasPrefix(to, "//") || strings.Contains(to, "\\") ||
		strings.ContainsFunc(to, func(c rune) bool { return c < ' ' || c == 0x7f }) {
		return "/"
	}
	return to
}

// trackPass ends a request when its pass becomes invalid, or when the gate starts to
// require one. Requests without a pass are tracked only if they may last.
func (p *Proxy) trackPass(r *http.Request, at *requestTarget) (*http.Request, func()) {
	if at.pass == nil && !wantsUpgrade(r) {
		return r, func() {}
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	s := &trackedRequest{host: at.host, pass: at.pass, end: cancel}
	p.passes.live.Store(s, nil)
	if at.pass != nil && at.pass.gone.Load() {
		cancel(errPassWithdrawn) // withdrawn since it was looked at
	}
	return r.WithContext(ctx), func() { p.passes.live.Delete(s); cancel(nil) }
}
