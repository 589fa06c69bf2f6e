package ingress

import (
	"net/http"
	"strings"
)

// refusalStatus returns the status for a request that must not be forwarded, or 0.
func refusalStatus(r *http.Request) int {
	switch {
	case !strings.HasPrefix(r.RequestURI, "/") || strings.Contains(r.RequestURI, " "):
		// Absolute form names a second host, "*" and CONNECT name none. A
		// space, which HTTP/2 can carry, would end the target in HTTP/1.1.
		return http.StatusBadRequest
	case r.Method == http.MethodTrace || r.Method == http.MethodConnect:
		return http.StatusMethodNotAllowed
	case hasTwinFraming(r.Header) || hasConflictingHost(r):
		return http.StatusBadRequest
	case headerSize(r) > maxHeader:
		return http.StatusRequestHeaderFieldsTooLarge
	}
	return 0
}

// hasTwinFraming finds the underscore spellings of Transfer-Encoding and Content-Length.
// Another server on the way may read them as the real headers, and would then see a
// different request than we do.
func hasTwinFraming(h http.Header) bool {
	return len(h["Transfer_encoding"]) > 0 || len(h["Content_length"]) > 0
}

// hasConflictingHost finds a Host beside the :authority of HTTP/2 that says something else.
func hasConflictingHost(r *http.Request) bool {
	hosts := r.Header["Host"]
	return len(hosts) > 1 || len(hosts) == 1 && hosts[0] != r.Host
}

func headerSize(r *http.Request) int {
	n := len(r.RequestURI) + len(r.Host)
	for name, values := range r.Header {
		for _, v := range values {
			n += len(name) + len(v) + len(": \r\n")
		}
	}
	return n
}

// prepareRequest normalizes the headers that say what kind of request this is, before
// anything is copied.
func prepareRequest(w http.ResponseWriter, r *http.Request) {
	if wantsUpgrade(r) && !mayUpgrade(r) {
		// With "h2c" the connection would become a raw pipe to the service,
		// past every rule about hosts and headers (golang/go#80416).
		delete(r.Header, "Upgrade")
	}
	delete(r.Header, "Http2-Settings")
	delete(r.Header, "Host") // what HTTP/2 leaves here; r.Host is the same
	if r.ProtoMajor == 1 && hasLeadingZero(r.Header["Content-Length"]) {
		w.Header().Set("Connection", "close") // as below
	}
	if r.ProtoMajor == 1 && len(r.TransferEncoding) > 0 {
		// net/http hides a Content-Length beside Transfer-Encoding, so a proxy before us may have
		// ended any chunked request elsewhere. The bytes after it on this connection are therefore
		// not read (RFC 9112, section 6.1).
		w.Header().Set("Connection", "close")
	}
}

// hasLeadingZero finds lengths with a leading zero, which some servers read as octal.
func hasLeadingZero(values []string) bool {
	return len(values) > 0 && len(values[0]) > 1 && values[0][0] == '0'
}

// mayUpgrade accepts a websocket handshake and nothing else.
func mayUpgrade(r *http.Request) bool {
	return r.Method == http.MethodGet && r.ProtoMajor == 1 && r.ContentLength == 0 &&
		isWebSocket(r.Header)
}

// wantsUpgrade reports whether a request asks for an Upgrade; after prepareRequest that can
// only be a WebSocket.
func wantsUpgrade(r *http.Request) bool { return len(r.Header["Upgrade"]) > 0 }

func isWebSocket(h http.Header) bool {
	v := h["Upgrade"]
	return len(v) == 1 && strings.EqualFold(v[0], "websocket")
}
