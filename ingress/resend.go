package ingress

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
)

// retryTransport retries a request that was never sent, because the service closed its idle
// connection just before it was used. net/http retries only idempotent requests without a
// body. Here nothing was written, so the request cannot have been executed.
type retryTransport struct{ transport *http.Transport }

// maxReplay is what may have been read of a body before the first write. The
// transport's buffer is smaller.
const maxReplay = 16 << 10

// RoundTrip implements http.RoundTripper.
func (s retryTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	var before []byte // what earlier tries have read of the body
	for {
		var used *targetConn
		var written int64
		reused := false
		try := r.WithContext(httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{
			GotConn: func(info httptrace.GotConnInfo) {
				if used, _ = info.Conn.(*targetConn); used != nil {
					reused, written = info.Reused, used.writes.Load()
				}
			}}))
		var body *replayedBody
		if r.Body != nil && r.Body != http.NoBody {
			body = &replayedBody{again: bytes.NewReader(before), rest: r.Body}
			try.Body = body
		}
		res, err := s.transport.RoundTrip(try)
		if err == nil || !reused || used.writes.Load() != written || r.Context().Err() != nil ||
			body != nil && body.over {
			return res, err
		}
		if body != nil {
			before = append(before, body.read...)
		}
	}
}

// keepFromReplay hides from net/http the headers with which it sends a request again although
// the service may have it. Names of headers have no case for services.
func keepFromReplay(h http.Header) {
	for _, name := range []string{"Idempotency-Key", "X-Idempotency-Key"} {
		if values, ok := h[name]; ok {
			delete(h, name)
			h[strings.ToLower(name)] = values
		}
	}
}

// replayedBody remembers the first bytes read from a body. Close ends one attempt only;
// ReverseProxy closes the body itself.
type replayedBody struct {
	again *bytes.Reader
	rest  io.Reader
	read  []byte // of rest
	over  bool   // more was read than is remembered, or the body has failed
}

// Read implements io.Reader.
func (b *replayedBody) Read(p []byte) (int, error) {
	if b.again.Len() > 0 {
		return b.again.Read(p)
	}
	n, err := b.rest.Read(p)
	b.over = b.over || len(b.read)+n > maxReplay || err != nil && !errors.Is(err, io.EOF)
	if !b.over {
		b.read = append(b.read, p[:n]...)
	}
	return n, err
}

// Close implements io.Closer.
func (b *replayedBody) Close() error { return nil }
