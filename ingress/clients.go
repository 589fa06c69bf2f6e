package ingress

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// wantsJSON is true for programs, and where the answer is JSON anyway. Browsers always name HTML
// when they load a page. A client that accepts anything and is no script in a browser is probably
// curl, read by a person.
func wantsJSON(r *http.Request) bool {
	accept := strings.ToLower(strings.Join(r.Header["Accept"], ","))
	if strings.Contains(accept, "text/html") {
		return qualityOf(accept, "json") > qualityOf(accept, "text/html")
	}
	if isScript(r) || isBuildPath(r.URL.Path) {
		return true
	}
	if mode := r.Header.Get("Sec-Fetch-Mode"); mode != "" {
		return mode != "navigate"
	}
	if dest := r.Header.Get("Sec-Fetch-Dest"); dest != "" {
		return dest == "empty"
	}
	return accept != "" && !strings.Contains(accept, "*/*") && !strings.Contains(accept, "text/*") ||
		strings.Contains(accept, "application/json") || strings.Contains(accept, "+json") ||
		strings.Contains(accept, "text/event-stream")
}

// isScript finds what no person's browser and no plain curl sends: a body that no form has, a
// method that no form has, a token, a handshake, and what browsers add to a script's request
// where they send no Sec-Fetch-Mode, as they do over plain HTTP. The caller has ruled out
// requests that ask for HTML.
func isScript(r *http.Request) bool {
	kind, _, _ := strings.Cut(strings.ToLower(r.Header.Get("Content-Type")), ";")
	switch strings.TrimSpace(kind) {
	case "", "application/x-www-form-urlencoded", "multipart/form-data", "text/plain":
	default:
		return true
	}
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodPost:
	default:
		return true // no page and no form sends it
	}
	signed, _, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if strings.EqualFold(signed, "Bearer") {
		return true // browsers never send one by themselves
	}
	for _, name := range []string{"Origin", "Referer", "X-Requested-With", "Upgrade",
		"Hx-Request", "Last-Event-Id", "Connect-Protocol-Version"} {
		if r.Header.Get(name) != "" {
			return r.Header.Get("Sec-Fetch-Mode") != "navigate"
		}
	}
	return false
}

// qualityOf is the preference that an Accept header states for the types whose names contain a
// word, or -1 if there is none.
func qualityOf(accept, word string) float64 {
	best := -1.0
	for part := range strings.SplitSeq(accept, ",") {
		kind, parameters, _ := strings.Cut(part, ";")
		if !strings.Contains(kind, word) {
			continue
		}
		quality := 1.0
		for parameter := range strings.SplitSeq(parameters, ";") {
			text, ok := strings.CutPrefix(strings.TrimSpace(parameter), "q=")
			if q, err := strconv.ParseFloat(text, 64); ok && err == nil {
				quality = q
			}
		}
		best = max(best, quality)
	}
	return best
}

func isGRPCWeb(contentType string) bool {
	return strings.HasPrefix(strings.ToLower(contentType), "application/grpc-web")
}

// writeStatus is the page for gRPC: a status without messages, in the headers.
func (p *page) writeStatus(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", r.Header.Get("Content-Type"))
	h.Set("Grpc-Status", strconv.Itoa(p.grpcStatus()))
	// Percent-encoding is that of URLs; only %20 must not be a plus.
	h.Set("Grpc-Message", url.PathEscape(p.Title+". "+p.Lead))
	h.Set("Cache-Control", "no-store")
	h.Set("Nullops-Page", p.Kind)
	if p.Request != "" {
		h.Set("X-Request-Id", p.Request)
	}
	w.WriteHeader(http.StatusOK)
}

// grpcStatus is the gRPC status of an HTTP status, as gRPC's clients map them.
func (p *page) grpcStatus() int {
	const unknown, permissionDenied, unimplemented, internal, unavailable, unauthenticated = 2, 7,
		12, 13, 14, 16
	switch p.Status {
	case http.StatusBadRequest, http.StatusRequestHeaderFieldsTooLarge:
		return internal
	case http.StatusUnauthorized:
		return unauthenticated
	case http.StatusForbidden:
		return permissionDenied
	case http.StatusNotFound:
		return unimplemented
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return unavailable
	}
	return unknown
}
