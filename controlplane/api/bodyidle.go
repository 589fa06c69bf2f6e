package api

import (
	"errors"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/nullops/nullops/controlplane"
)

// DefaultBodyIdle is how long a request's body may make no progress. People's
// networks stall for seconds; 30 s without a byte is a client that left, or one
// that wants to hold connections open.
const DefaultBodyIdle = 30 * time.Second

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
				control: http.NewResponseController(w)}
			body.extendDeadline()
			r.Body = body
		}
		next.ServeHTTP(w, r)
	})
}

// idleLimitedBody moves the connection's read deadline with each read.
type idleLimitedBody struct {
	io.ReadCloser
	control *http.ResponseController
	idle    time.Duration
}

// extendDeadline ignores servers without deadlines, which are those of tests.
func (b *idleLimitedBody) extendDeadline() {
	_ = b.control.SetReadDeadline(time.Now().Add(b.idle))
}

func (b *idleLimitedBody) Read(p []byte) (int, error) {
	b.extendDeadline()
	n, err := b.ReadCloser.Read(p)
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		err = &controlplane.Error{Kind: kindTimeout, Code: "body_stalled",
			Message: "No byte of the request's body arrived for " + b.idle.String() + ".",
			Remedy:  "Check the network and send the request again."}
	case err != nil:
		// After the body net/http reads from the connection to notice when it closes. A
		// deadline left set would cancel a request that takes long.
		_ = b.control.SetReadDeadline(time.Time{})
	}
	return n, err
}
