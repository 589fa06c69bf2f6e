package ingress

import (
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
)

// challengePath is where an authority asks a host whether it is ours (RFC 8555,
// 8.3): over plain HTTP, before there can be a certificate.
const challengePath = "/.well-known/acme-challenge/"

// challengeToken is base64url without padding; the authority chooses its length.
var challengeToken = regexp.MustCompile(`^[A-Za-z0-9_-]{16,200}$`)

// answerChallenge answers an ACME HTTP-01 challenge for a certificate that we ordered. All
// others are passed to the application, which may run its own ACME client.
func (p *Proxy) answerChallenge(w http.ResponseWriter, r *http.Request, at *requestTarget) bool {
	if p.config.Challenge == nil || r.Method != http.MethodGet {
		return false
	}
	token, ok := strings.CutPrefix(r.URL.Path, challengePath)
	// Others' hosts are not looked up: anybody could ask for any number of them.
	if !ok || !challengeToken.MatchString(token) || at.zone == nil && !p.isHome(at.host) {
		return false
	}
	answer, ok, err := p.config.Challenge(r.Context(), at.host, token)
	if err != nil {
		p.config.Log.Warn("challenge of an authority not read", "host", at.host, "error", err)
	}
	if err != nil || !ok {
		return false
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Cache-Control", "no-store")
	p.config.OnAnswer(at.environment(), http.StatusOK)
	_, _ = io.WriteString(w, answer)
	return true
}

// isHome reports whether a host is the control plane's, whose certificate may be ordered too.
func (p *Proxy) isHome(host string) bool {
	home, err := url.Parse(p.config.Home)
	return err == nil && host != "" && home.Hostname() == host
}
