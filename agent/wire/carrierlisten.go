package wire

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/nullops/nullops/internal/wait"
)

// CarrierListener accepts the connections that a reverse proxy passes as WebSockets, at whatever
// path. The HTTP before that is plain: what comes inside has TLS, pin and proof of its own.
type CarrierListener struct {
	inner  net.Listener
	server *http.Server
	passed chan net.Conn
	ctx    context.Context
	cancel context.CancelFunc
	tasks  sync.WaitGroup
}

var _ net.Listener = (*CarrierListener)(nil)

// NewCarrierListener owns inner from now on.
func NewCarrierListener(inner net.Listener, log *slog.Logger) *CarrierListener {
	ctx, cancel := context.WithCancel(context.Background())
	l := &CarrierListener{inner: inner, passed: make(chan net.Conn), ctx: ctx, cancel: cancel}
	l.server = &http.Server{Handler: http.HandlerFunc(l.serve), ReadHeaderTimeout: proofTimeout,
		IdleTimeout: proofTimeout, MaxHeaderBytes: maxHeader,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug)}
	l.tasks.Go(func() { _ = l.server.Serve(inner) }) // it ends by Close
	return l
}

func (l *CarrierListener) serve(w http.ResponseWriter, r *http.Request) {
	c, err := acceptCarrier(w, r)
	if err != nil {
		return // it is answered
	}
	c.finishHandshake()
	go c.keepAlive()
	select {
	case l.passed <- c:
	case <-l.ctx.Done():
		_ = c.Close()
	}
}

// Accept implements net.Listener.
func (l *CarrierListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.passed:
		return c, nil
	case <-l.ctx.Done():
		return nil, fmt.Errorf("accept: %w", net.ErrClosed)
	}
}

// Addr implements net.Listener.
func (l *CarrierListener) Addr() net.Addr { return l.inner.Addr() }

// Close implements net.Listener. Accepted connections stay open.
func (l *CarrierListener) Close() error {
	l.cancel()
	err := l.server.Close()
	l.tasks.Wait()
	return err
}

// DialCarrier opens a WebSocket that carries bytes to an agent behind a reverse proxy.
func DialCarrier(ctx context.Context, url string, client *http.Client) (net.Conn, error) {
	c, err := dialCarrier(ctx, url, client)
	if err != nil {
		return nil, err
	}
	c.finishHandshake()
	go c.keepAlive()
	return c, nil
}

// JoinListeners accepts from several listeners, which it owns. Its address is the first one's.
func JoinListeners(all ...net.Listener) net.Listener {
	ctx, cancel := context.WithCancel(context.Background())
	j := &joinedListener{all: all, accepted: make(chan net.Conn), failed: make(chan error),
		ctx: ctx, cancel: cancel}
	for _, l := range all {
		j.tasks.Go(func() { j.acceptFrom(l) })
	}
	return j
}

type joinedListener struct {
	all      []net.Listener
	accepted chan net.Conn
	failed   chan error
	ctx      context.Context
	cancel   context.CancelFunc
	tasks    sync.WaitGroup
}

func (j *joinedListener) acceptFrom(l net.Listener) {
	for j.ctx.Err() == nil {
		c, err := l.Accept()
		if err != nil {
			select {
			case j.failed <- err:
				_ = wait.Sleep(j.ctx, 5*time.Millisecond) // the loop ends with ctx
			case <-j.ctx.Done():
			}
			continue
		}
		select {
		case j.accepted <- c:
		case <-j.ctx.Done():
			_ = c.Close()
		}
	}
}

func (j *joinedListener) Accept() (net.Conn, error) {
	select {
	case c := <-j.accepted:
		return c, nil
	case err := <-j.failed:
		return nil, err
	case <-j.ctx.Done():
		return nil, fmt.Errorf("accept: %w", net.ErrClosed)
	}
}

func (j *joinedListener) Addr() net.Addr { return j.all[0].Addr() }

func (j *joinedListener) Close() error {
	j.cancel()
	var first error
	for _, l := range j.all {
		if err := l.Close(); err != nil && first == nil {
			first = err
		}
	}
	j.tasks.Wait()
	return first
}
