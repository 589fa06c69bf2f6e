package ingress

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
)

// narrowHeaders takes from an answer what reaches beyond the service's own host.
// Its hosts may be above or beside those of other deployments.
func narrowHeaders(h http.Header) {
	for name := range h {
		if isRefusedHeader(name) {
			delete(h, name)
		}
	}
	narrowSiteData(h)
	narrowTransport(h)
	narrowReports(h, "Nel")
	narrowReports(h, "Report-To")
}

// isRefusedHeader finds headers of an answer of which nothing may pass.
func isRefusedHeader(name string) bool {
	switch name {
	case "Alt-Svc", // would lead the client past the ingress
		"Set-Cookie2",                   // cookies, for programs that read the old form
		"Nullops-Page", "Nullops-State", // tell our pages from a service's
		"Nullops-Build", // says what runs, which a service may not
		// Pins would keep visitors from whatever runs below this name later.
		// A session that a browser binds to its device may cover the whole site.
		"Sec-Session-Registration", "Secure-Session-Registration",
		"Public-Key-Pins", "Public-Key-Pins-Report-Only", "Expect-Ct":
		return true
	}
	return false
}

// mayBeExtra reports whether a header may pass in a 1xx response or as a trailer. Some clients
// merge those into the headers, where what is narrowed there would have its whole effect.
func mayBeExtra(name string) bool {
	switch name {
	case "Set-Cookie", "Clear-Site-Data", "Strict-Transport-Security", "Nel", "Report-To",
		"Content-Length":
		return false
	}
	return !isHop(name) && !isRefusedHeader(name)
}

func narrowExtras(h http.Header) {
	for name := range h {
		if !mayBeExtra(name) {
			delete(h, name)
		}
	}
}

// trailingBody narrows the trailers that are known at its end.
type trailingBody struct {
	io.ReadCloser
	res *http.Response
}

// Close implements io.Closer.
func (b *trailingBody) Close() error {
	err := b.ReadCloser.Close()
	narrowExtras(b.res.Trailer)
	return err
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
		case `"cache"`, `"storage"`, `"executioncontexts"`, `"clienthints"`,
			`"prefetchcache"`, `"prerendercache"`:
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
