package api

import (
	"errors"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/nullops/nullops/controlplane"
)

// DefaultBodyIdle is how long a request's body, or a response that is being written, may make no
// progress. People's networks stall for seconds; 30 s without a byte is a client that left, or one
// that wants to hold connections open.
const DefaultBodyIdle = 30 * time.Second

const (
	// bodyRate, in bytes a second, is less than the slowest line carries. A body that arrives more
	// slowly uses up its patience, so that a byte now and then does not hold a connection.
	bodyRate = 64
	// bodyPatience is how many idle times a body may take beyond that rate.
	bodyPatience = 8
)

// limitIdleBodies ends requests whose body stalls. Without a deadline each of them holds a
// connection and a goroutine forever, even after it was refused: net/http reads the rest of a body
// before it closes the connection.
func (s *server) limitIdleBodies(next http.Handler) http.Handler {
	idle := s.BodyIdle
	if idle == 0 {
		idle = DefaultBodyIdle
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength != 0 && r.Body != nil {
			body := &idleLimitedBody{ReadCloser: r.Body, idle: idle,
				left: bodyPatience * idle, control: http.NewResponseController(w)}
			body.setDeadline()
			r.Body = body
		}
		next.ServeHTTP(&idleLimitedWriter{w, http.NewResponseController(w), idle}, r)
	})
}

// idleLimitedWriter ends a response of which the client reads nothing. Between two writes there is
// no deadline: over HTTP/2 it would end a stream that is only silent. Event streams have a shorter
// one of their own (see sse).
type idleLimitedWriter struct {
	http.ResponseWriter
	control *http.ResponseController
	idle    time.Duration
}

// Unwrap lets http.ResponseController reach the connection.
func (w *idleLimitedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *idleLimitedWriter) Write(p []byte) (int, error) {
	if w.Header().Get("Content-Type") == "text/event-stream" {
		return w.ResponseWriter.Write(p)
	}
	_ = w.control.SetWriteDeadline(time.Now().Add(w.idle))
	n, err := w.ResponseWriter.Write(p)
	if err == nil {
		_ = w.control.SetWriteDeadline(time.Time{})
	}
	return n, err
}

// idleLimitedBody moves the connection's read deadline with each read.
type idleLimitedBody struct {
	io.ReadCloser
	control *http.ResponseController
	idle    time.Duration
	left    time.Duration // of the patience, which the body's bytes give back
}

// setDeadline ignores servers without deadlines, which are those of tests.
func (b *idleLimitedBody) setDeadline() {
	_ = b.control.SetReadDeadline(time.Now().Add(min(b.idle, b.left)))
}

func (b *idleLimitedBody) Read(p []byte) (int, error) {
	b.setDeadline()
	began := time.Now()
	n, err := b.ReadCloser.Read(p)
	b.left = min(bodyPatience*b.idle,
		b.left-time.Since(began)+time.Duration(n)*time.Second/bodyRate)
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		err = &controlplane.Error{Kind: kindTimeout, Code: "body_stalled",
			Message: "the request's body made no progress for " + b.idle.String() +
				", or hardly any for longer",
			Remedy: "Check the network and send the request again."}
	case err != nil:
		// After the body net/http reads from the connection to notice when it closes. A
		// deadline left set would cancel a request that takes long.
		_ = b.control.SetReadDeadline(time.Time{})
	}
	return n, err
}
