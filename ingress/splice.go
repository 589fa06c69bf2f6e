package ingress

import (
	"io"
	"net"
	"net/http"

	"github.com/nullops/nullops/internal/idleconn"
)

// spliceFrom is the length from which a body is worth the two pipes' ends that splicing needs.
const spliceFrom = 256 << 10

// canSplice says whether the kernel can move the rest of a body from the service's connection to
// the client's without a copy in this process: both are plain TCP, and it is known where the body
// ends.
func canSplice(w http.ResponseWriter, c *conn, res *http.Response) (*net.TCPConn, io.ReaderFrom) {
	r := res.Request
	from, to := idleconn.FindPlain(c.raw), io.ReaderFrom(nil)
	if from != nil {
		to, _ = w.(io.ReaderFrom)
	}
	if to == nil || r.ProtoMajor != 1 || r.TLS != nil || res.ContentLength < spliceFrom {
		return nil, nil
	}
	return from, to
}

// spliceBody passes on what has been read of the body already, and lets the kernel move the rest.
// The response's own reader is not told, and must not be used afterwards.
func spliceBody(
	w http.ResponseWriter, c *conn, res *http.Response, from *net.TCPConn, to io.ReaderFrom,
) error {
	early := min(int64(c.in.Buffered()), res.ContentLength)
	if _, err := io.CopyN(w, res.Body, early); err != nil {
		return err
	}
	left := res.ContentLength - early
	n, err := to.ReadFrom(&io.LimitedReader{R: from, N: left})
	if err == nil && n < left {
		err = io.ErrUnexpectedEOF
	}
	return err
}
