package ingress

import (
	"maps"
	"net/http"
)

// passInterim passes a 1xx response on, with what the service says in it and without the
// headers of the response that follows. 103 has the visitor's browser begin to load what the
// page will need; it passes with its links alone. 100 passes to clients that wait for it, and
// nothing to a client of HTTP/1.0, which takes the first head for the response.
func passInterim(w http.ResponseWriter, r *http.Request, status int, said http.Header) {
	switch {
	case !r.ProtoAtLeast(1, 1):
		return
	case status == http.StatusContinue:
		if len(r.Header["Expect"]) == 0 {
			return
		}
		said = nil
	case status == http.StatusEarlyHints:
		said = http.Header{"Link": said["Link"]}
	default:
		dropHops(said)
		narrowExtras(said)
	}
	h := w.Header()
	before := maps.Clone(h)
	clear(h)
	maps.Copy(h, said)
	w.WriteHeader(status)
	clear(h)
	maps.Copy(h, before)
}

// answerWriter writes what ReverseProxy has for the client. ReverseProxy mixes the headers of
// a 1xx response with those that are set already, and then clears them all; here they are
// separate, and what was set before stays.
type answerWriter struct {
	http.ResponseWriter
	request *http.Request
	before  http.Header // that was set for the response itself
	wrote   bool        // the head of the response
}

// Unwrap lets http.ResponseController flush.
func (a *answerWriter) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (a *answerWriter) WriteHeader(status int) {
	h := a.Header()
	if status < http.StatusOK && status != http.StatusSwitchingProtocols {
		said := maps.Clone(h)
		for name, values := range a.before {
			said[name] = said[name][min(len(values), len(said[name])):]
			if len(said[name]) == 0 {
				delete(said, name)
			}
		}
		passInterim(a.ResponseWriter, a.request, status, said)
		return
	}
	for name, values := range a.before {
		if _, set := h[name]; !set {
			h[name] = values
		}
	}
	respellHeaders(h)
	a.wrote = true
	a.ResponseWriter.WriteHeader(status)
}

// serveFlushingCut proxies a request. When the answer is cut short, the client gets what
// came before: otherwise a short beginning would be lost in a buffer, and the
// client would see an empty reply.
func serveFlushingCut(proxy http.Handler, w http.ResponseWriter, r *http.Request) {
	a := &answerWriter{ResponseWriter: w, request: r, before: maps.Clone(w.Header())}
	defer func() {
		if cut := recover(); cut != nil {
			if a.wrote {
				_ = http.NewResponseController(w).Flush()
			}
			panic(cut)
		}
	}()
	proxy.ServeHTTP(a, r)
}
