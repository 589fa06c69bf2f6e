package ingress

import (
	"log/slog"
	"net/http"
	"time"
)

const (
	// headerTimeout ends connections that send their headers too slowly. net/http's zero value
	// has no limit.
	headerTimeout = 10 * time.Second
	// idleTimeout is longer than the 60 s that proxies in front usually
	// keep a connection, so that they close first and lose no request.
	idleTimeout = 75 * time.Second
	// maxHeader is what a request's headers may add up to.
	maxHeader = 64 << 10
	// readHeader is how many header bytes the server reads before it rejects a request by
	// itself. It is larger than maxHeader, so that our page, which clears a browser's cookies
	// when there are too many, can still answer.
	readHeader = 256 << 10
)

// NewServer returns the http.Server to serve the proxy with: without its limits a slow or
// endless client holds memory indefinitely. There is no limit on the duration of a body,
// since uploads and event streams may take any time. The Proxy limits how long a client may
// send nothing.
//
// With a TLS listener it also speaks HTTP/2; use Certificates.TLS as the TLSConfig then.
func NewServer(handler http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    readHeader,
		// Streams opened and reset in one go must not be a flood of requests.
		HTTP2: &http.HTTP2Config{MaxConcurrentStreams: 100},
		// "OPTIONS *" would be answered by net/http past our handler.
		DisableGeneralOptionsHandler: true,
		ErrorLog:                     slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
}
