package ingress

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// wantsJSON is true for programs. Browsers always name HTML when they load a page. A client
// that accepts anything and is no script in a browser is probably curl, read by a person.
func wantsJSON(r *http.Request) bool {
	accept := strings.ToLower(strings.Join(r.Header["Accept"], ","))
	if strings.Contains(accept, "text/html") {
		return false
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
