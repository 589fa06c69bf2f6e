package ingress

import (
	"encoding/json"
	"net/http"
	"strings"
)

// narrowHeaders takes from an answer what reaches beyond the service's own host.
// Its hosts may be above or beside those of other deployments.
func narrowHeaders(h http.Header) {
	delete(h, "Alt-Svc") // would lead the client past the ingress
	// Pins would keep visitors from whatever runs below this name later.
	delete(h, "Public-Key-Pins")
	delete(h, "Public-Key-Pins-Report-Only")
	narrowSiteData(h)
	narrowTransport(h)
	narrowReports(h, "Nel")
	narrowReports(h, "Report-To")
}

// narrowSiteData keeps what Clear-Site-Data clears to the service's own origin.
// Cookies are cleared for the whole registrable domain, which signs visitors out
// of every other deployment; "*" means them too. A service that wants to sign
// its own visitors out expires its cookies by name.
func narrowSiteData(h http.Header) {
	lines := h["Clear-Site-Data"]
	if len(lines) == 0 {
		return
	}
	var kept []string
	for part := range strings.SplitSeq(strings.Join(lines, ","), ",") {
		switch part = strings.TrimSpace(part); strings.ToLower(part) {
		case `"cache"`, `"storage"`, `"executioncontexts"`, `"clienthints"`:
			kept = append(kept, part)
		case `"*"`:
			kept = append(kept, `"cache"`, `"storage"`, `"executionContexts"`, `"clientHints"`)
		}
	}
	delete(h, "Clear-Site-Data")
	if len(kept) > 0 {
		h.Set("Clear-Site-Data", strings.Join(kept, ", "))
	}
}

// narrowTransport keeps Strict-Transport-Security to the host itself.
func narrowTransport(h http.Header) {
	const name = "Strict-Transport-Security"
	lines := h[name]
	if len(lines) == 0 {
		return
	}
	delete(h, name)
	// Browsers read the first one alone.
	for directive := range strings.SplitSeq(lines[0], ";") {
		directive = strings.TrimSpace(directive)
		key, _, _ := strings.Cut(directive, "=")
		if strings.EqualFold(strings.TrimSpace(key), "max-age") {
			h[name] = []string{directive}
			return
		}
	}
}

// narrowReports removes include_subdomains from the JSON objects of a header. A header that cannot
// be parsed is dropped: a browser may read it in another way.
func narrowReports(h http.Header, name string) {
	lines := h[name]
	if len(lines) == 0 {
		return
	}
	delete(h, name)
	var policies []map[string]json.RawMessage
	if json.Unmarshal([]byte("["+strings.Join(lines, ",")+"]"), &policies) != nil {
		return
	}
	kept := make([]string, 0, len(policies))
	for _, policy := range policies {
		delete(policy, "include_subdomains")
		if text, err := json.Marshal(policy); err == nil && policy != nil {
			kept = append(kept, string(text))
		}
	}
	if len(kept) > 0 {
		h[name] = []string{strings.Join(kept, ", ")}
	}
}
