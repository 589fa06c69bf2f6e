package ingress

import (
	"net/http"
	"strings"
)

// refusal gives the status of a request that goes nowhere, or 0.
func refusal(r *http.Request) int {
	switch {
	case !strings.HasPrefix(r.RequestURI, "/") || strings.Contains(r.RequestURI, " "):
		// Absolute form names a second host, "*" and CONNECT name none. A
		// space, which HTTP/2 can carry, would end the target in HTTP/1.1.
		return http.StatusBadRequest
	case r.Method == http.MethodTrace || r.Method == http.MethodConnect:
		return http.StatusMethodNotAllowed
	case twinFraming(r.Header) || twinHost(r):
		return http.StatusBadRequest
	case headerSize(r) > maxHeader:
		return http.StatusRequestHeaderFieldsTooLarge
	}
	return 0
}

// twinFraming finds the underscore twins of the headers that say where a
// request ends. A server that reads them as the real ones, before us or behind
// us, sees another request than we do.
func twinFraming(h http.Header) bool {
	return len(h["Transfer_encoding"]) > 0 || len(h["Content_length"]) > 0
}

// twinHost finds a Host beside the :authority of HTTP/2 that says something else.
func twinHost(r *http.Request) bool {
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

// prepare settles, before anything is copied, what kind of request this is.
func prepare(w http.ResponseWriter, r *http.Request) {
	if upgrades(r) && !mayUpgrade(r) {
		// With "h2c" the connection would become a raw pipe to the service,
		// past every rule about hosts and headers (golang/go#80416).
		delete(r.Header, "Upgrade")
	}
	delete(r.Header, "Http2-Settings")
	delete(r.Header, "Host") // what HTTP/2 leaves here; r.Host is the same
	if r.ProtoMajor == 1 && oddLength(r.Header["Content-Length"]) {
		w.Header().Set("Connection", "close") // as below
	}
	if r.ProtoMajor == 1 && len(r.TransferEncoding) > 0 {
		// net/http hides a Content-Length beside Transfer-Encoding, so any
		// chunked request may be one that a proxy before us ended elsewhere.
		// What follows it on this connection is therefore not read (RFC 9112,
		// section 6.1).
		w.Header().Set("Connection", "close")
	}
}

// oddLength finds lengths that some read as octal.
func oddLength(values []string) bool {
	return len(values) > 0 && len(values[0]) > 1 && values[0][0] == '0'
}

// mayUpgrade accepts a websocket handshake and nothing else.
func mayUpgrade(r *http.Request) bool {
	return r.Method == http.MethodGet && r.ProtoMajor == 1 && r.ContentLength == 0 &&
		isWebSocket(r.Header)
}

// upgrades says whether a request wants other than HTTP; behind prepare that is
// a WebSocket and nothing else.
func upgrades(r *http.Request) bool { return len(r.Header["Upgrade"]) > 0 }

func isWebSocket(h http.Header) bool {
	v := h["Upgrade"]
	return len(v) == 1 && strings.EqualFold(v[0], "websocket")
}
