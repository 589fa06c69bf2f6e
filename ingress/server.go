package ingress

import (
	"log/slog"
	"net/http"
	"time"
)

const (
	// headerTimeout ends connections that send their headers drop by drop.
	// net/http's zero value would wait for ever.
	headerTimeout = 10 * time.Second
	// idleTimeout is longer than the 60 s that proxies in front usually
	// keep a connection, so that they close first and lose no request.
	idleTimeout = 75 * time.Second
	// maxHeader is what a request's headers may add up to.
	maxHeader = 64 << 10
	// readHeader is what the server reads before it gives up by itself. It
	// is wider than maxHeader so that our page, which frees a browser from
	// too many cookies, still gets to answer.
	readHeader = 256 << 10
)

// NewServer gives the http.Server that the proxy is to be served with: without
// its limits a slow or a boundless client holds memory for ever. There is no
// limit on the time of a body: uploads and event streams last as long as they
// last. How long a client may send nothing is the Proxy's.
//
// With a TLS listener it speaks HTTP/2 too; give it Certificates.TLS as
// TLSConfig then.
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
