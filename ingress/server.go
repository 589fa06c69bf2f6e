package ingress

import (
	"context"
	"errors"
	"log/slog"
	"net"
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

// Server serves the proxy. It reads plain requests itself (see plainConn), and leaves every other
// connection to net/http's server, which is the one that is embedded.
type Server struct {
	http.Server
	plain plainConns
}

// NewServer returns the server to serve the proxy with: without its limits a slow or
// endless client holds memory indefinitely. There is no limit on the duration of a body,
// since uploads and event streams may take any time. The Proxy limits how long a client may
// send nothing.
//
// With a TLS listener it also speaks HTTP/2; use Certificates.TLS as the TLSConfig then.
func NewServer(handler http.Handler, log *slog.Logger) *Server {
	return &Server{Server: http.Server{
		Handler:           handler,
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    readHeader,
		// Streams opened and reset in one go must not be a flood of requests.
		HTTP2: &http.HTTP2Config{MaxConcurrentStreams: 100},
		// "OPTIONS *" would be answered by net/http past our handler.
		DisableGeneralOptionsHandler: true,
		ErrorLog:                     slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}}
}

// Serve accepts connections until Shutdown or Close.
func (s *Server) Serve(l net.Listener) error {
	h := &handingListener{Listener: l, server: s, handed: make(chan net.Conn),
		failed: make(chan error), closed: make(chan struct{})}
	go h.acceptAll()
	return s.Server.Serve(h)
}

// Shutdown closes the listeners and idle connections, and waits for requests to be answered.
func (s *Server) Shutdown(ctx context.Context) error {
	s.plain.beginShutdown()
	err := s.Server.Shutdown(ctx)
	return errors.Join(err, s.plain.awaitNone(ctx))
}

// Close closes the listeners and every connection.
func (s *Server) Close() error {
	s.plain.closeAll()
	return s.Server.Close()
}

// handingListener is what net/http's server accepts from: connections on which something else came
// than a plain request.
type handingListener struct {
	net.Listener
	server *Server
	handed chan net.Conn
	failed chan error
	closed chan struct{}
}

// acceptAll accepts connections until the listener is closed. net/http's server judges errors, and
// pauses after those that may pass.
func (h *handingListener) acceptAll() {
	for {
		c, err := h.Listener.Accept()
		if err == nil {
			h.start(c)
			continue
		}
		select {
		case h.failed <- err:
		case <-h.closed:
			return
		}
	}
}

func (h *handingListener) start(c net.Conn) {
	if p := newPlainConn(h.server, c, h.handConn); p != nil {
		if h.server.plain.add(p) {
			go p.serve()
		}
		return
	}
	h.handConn(c)
}

// handConn gives a connection to net/http's server.
func (h *handingListener) handConn(c net.Conn) {
	select {
	case h.handed <- c:
	case <-h.closed:
		_ = c.Close()
	}
}

// Accept implements net.Listener.
func (h *handingListener) Accept() (net.Conn, error) {
	select {
	case c := <-h.handed:
		return c, nil
	case err := <-h.failed:
		return nil, err
	case <-h.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener. net/http's server calls it once.
func (h *handingListener) Close() error {
	close(h.closed)
	return h.Listener.Close()
}
