package wire

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

// singleRequestTransport sends one request on the connection and reads its response. A
// transport of net/http would keep two goroutines and their buffers for as long as the
// session lasts, and a control plane has thousands of sessions.
type singleRequestTransport struct {
	conn net.Conn
	used atomic.Bool
	// early holds bytes of the new protocol that arrived with the answer.
	early []byte
}

var errDropped = errors.New("the agent dropped the connection during the upgrade")

// RoundTrip implements http.RoundTripper, once.
func (a *singleRequestTransport) RoundTrip(r *http.Request) (_ *http.Response, err error) {
	if a.used.Swap(true) {
		return nil, errDropped
	}
	ctx := r.Context()
	stop := context.AfterFunc(ctx, func() { _ = a.conn.SetDeadline(time.Unix(1, 0)) })
	defer func() {
		if !stop() {
			err = errors.Join(context.Cause(ctx), err)
		}
	}()
	var question bytes.Buffer
	if err := r.Write(&question); err != nil {
		return nil, fmt.Errorf("write the request: %w", err)
	}
	if _, err := a.conn.Write(question.Bytes()); err != nil {
		return nil, err
	}
	reader := bufio.NewReaderSize(&io.LimitedReader{R: a.conn, N: maxHeader}, 1<<10)
	answer, err := http.ReadResponse(reader, r)
	if err != nil {
		return nil, err
	}
	return a.handleSwitch(answer, reader), nil
}

// handleSwitch keeps the bytes that arrived after a 101 response. The caller then takes
// over the connection itself; closing the body of any other response closes it.
func (a *singleRequestTransport) handleSwitch(
	answer *http.Response,
	reader *bufio.Reader,
) *http.Response {
	if answer.StatusCode != http.StatusSwitchingProtocols {
		answer.Body = struct {
			io.Reader
			io.Closer
		}{answer.Body, a.conn}
		return answer
	}
	early, _ := reader.Peek(reader.Buffered())
	a.early = bytes.Clone(early)
	answer.Body = detachedBody{}
	return answer
}

// detachedBody is the body of a 101 response, whose connection the caller has taken over.
type detachedBody struct{}

func (detachedBody) Read([]byte) (int, error)    { return 0, io.EOF }
func (detachedBody) Write(p []byte) (int, error) { return len(p), nil }
func (detachedBody) Close() error                { return nil }

// prefixedConn is a connection of which some bytes have already been read.
type prefixedConn struct {
	net.Conn
	early []byte
}

// Read implements io.Reader. The WebSocket has one reader.
func (s *prefixedConn) Read(p []byte) (int, error) {
	if len(s.early) == 0 {
		return s.Conn.Read(p)
	}
	n := copy(p, s.early)
	if s.early = s.early[n:]; len(s.early) == 0 {
		s.early = nil
	}
	return n, nil
}
