package wire

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/coder/websocket"

	"github.com/nullops/nullops/internal/idleconn"
)

// ErrNoSession is wrapped when an agent answers a session's request with
// anything but the switch to WebSocket. Redirects are never followed.
var ErrNoSession = errors.New("the agent did not open the session")

const (
	// openTimeout bounds the HTTP upgrade: the far end is proven, yet may hang.
	openTimeout = 5 * time.Second
	// maxHeader bounds an answer's header, in bytes.
	maxHeader = 16 << 10
)

// OpenSession turns a dialed connection into the one persistent link. It owns
// conn from now on, also on error.
func OpenSession(ctx context.Context, conn net.Conn) (*Session, error) {
	return openSessionAt(ctx, conn, PathSession)
}

// OpenRunLogs turns a dialed connection into the one on which step logs come
// up as LogBatch and Ack goes down. It owns conn from now on, also on error.
func OpenRunLogs(ctx context.Context, conn net.Conn) (*Session, error) {
	return openSessionAt(ctx, conn, PathRunLogs)
}

func openSessionAt(ctx context.Context, conn net.Conn, path string) (*Session, error) {
	counted, received := countReceived(conn)
	ws, err := upgradeToWebSocket(ctx, counted, path)
	if err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	return newConn(ws, received, planeQuiet, EncodeCommand, DecodeReport), nil
}

func countReceived(conn net.Conn) (net.Conn, *receipt) {
	if proven, ok := conn.(*ProvenConn); ok {
		return proven, &proven.received
	}
	c := &countingConn{Conn: conn}
	return c, &c.received
}

// upgradeToWebSocket sends exactly one request on conn and accepts nothing but a 101
// response. The library only validates the response: its own connection type needs too much
// memory for thousands of idle sessions.
func upgradeToWebSocket(ctx context.Context, conn net.Conn, path string) (*idleWebSocket, error) {
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	asked := &singleRequestTransport{conn: conn}
	client := &http.Client{Transport: asked, CheckRedirect: noRedirect}
	ws, answer, err := websocket.Dial(ctx, "ws://agent"+path,
		&websocket.DialOptions{HTTPClient: client})
	switch {
	case err != nil && answer != nil && answer.StatusCode != http.StatusSwitchingProtocols:
		err = fmt.Errorf("%w: it answered %q", ErrNoSession, answer.Status)
	case err != nil:
		err = fmt.Errorf("%w: %w", ErrNoSession, err)
	}
	if err != nil {
		return nil, err
	}
	_ = ws.CloseNow()
	return newIdleWebSocket(
		&prefixedConn{Conn: conn, early: asked.early},
		idleconn.FindConn(conn),
	), nil
}

func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// NewTransport makes an HTTP transport whose every connection comes from dial,
// usually a closure over Dial. Any host name in a request's URL will do; the
// scheme is http, since dial's connections are already TLS. Redirects are the
// http.Client's business: set its CheckRedirect to refuse them.
func NewTransport(dial func(context.Context) (net.Conn, error)) *http.Transport {
	return &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return dial(ctx)
		},
		DisableCompression:     true,
		MaxResponseHeaderBytes: maxHeader,
		MaxIdleConnsPerHost:    maxWaitingPerSource,
		IdleConnTimeout:        time.Minute,
	}
}

// LimitHandshakes lets eight calls of dial run at once and queues the others. All callers
// that dial one agent must share one limiter: an agent limits the unproven connections per
// source. A handshake is completed even if its caller has cancelled: an agent counts an
// aborted handshake as a failed one, and suspects a source with many of them. So dial must
// have a timeout of its own, as Dial has.
func LimitHandshakes(
	dial func(context.Context) (net.Conn, error),
) func(context.Context) (net.Conn, error) {
	slots := make(chan struct{}, maxWaitingPerSource/4)
	return func(ctx context.Context) (net.Conn, error) {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		made := make(chan dialResult, 1)
		go func() {
			defer func() { <-slots }()
			conn, err := dial(context.WithoutCancel(ctx))
			made <- dialResult{conn, err}
		}()
		select {
		case d := <-made:
			return d.conn, d.err
		case <-ctx.Done():
			go closeIfDialed(made)
			return nil, context.Cause(ctx)
		}
	}
}

// dialResult is the result of one handshake.
type dialResult struct {
	conn net.Conn
	err  error
}

func closeIfDialed(made <-chan dialResult) {
	if d := <-made; d.err == nil {
		_ = d.conn.Close()
	}
}

// ServeSession accepts a session, or a log connection, inside an HTTP handler.
// It refuses requests that did not come through a Listener: the http.Server
// needs ConnContext. On error the answer is already written.
func ServeSession(w http.ResponseWriter, r *http.Request) (*AgentSession, error) {
	proven, ok := r.Context().Value(connKey{}).(*ProvenConn)
	if !ok {
		http.Error(w, "this connection has proven nothing", http.StatusForbidden)
		return nil, errors.New("serve session: the connection is not a proven one")
	}
	if proven.limited {
		http.Error(w, ErrIncompatible.Error(), http.StatusForbidden)
		return nil, fmt.Errorf("serve session: %w", ErrIncompatible)
	}
	if proven.peer.TunnelsOnly {
		http.Error(w, ErrTunnelsOnly.Error(), http.StatusForbidden)
		return nil, fmt.Errorf("serve session: %w", ErrTunnelsOnly)
	}
	ws, err := websocket.Accept(w, r, nil)
	if err != nil {
		return nil, fmt.Errorf("serve session: %w", err)
	}
	ws.SetReadLimit(MaxMessage)
	return newConn(ws, &proven.received, agentQuiet, EncodeReport, DecodeCommand), nil
}
