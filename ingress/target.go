package ingress

import (
	"bytes"
	"crypto/rand"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
)

// The transports of net/http re-encode the request target: they decode %2F and similar if
// the path also holds a byte that should have been escaped. They write URL.Opaque
// unchanged, except that they take one beginning with "//" for a host and write "http:" in
// front of it. So such a path gets a host in front. The HTTP/2 transport removes the
// request's host again; for HTTP/1.1, targetConn removes a random, unguessable one.

var targetPrefix = "//" + rand.Text() + ".invalid"

// targetAt bounds how far into a write the target can begin: it follows the method.
const targetAt = 512

// keepTarget has the path sent byte for byte as it came.
func keepTarget(u *url.URL, in *http.Request) {
	path, _, _ := strings.Cut(in.RequestURI, "?")
	switch {
	case u.RequestURI() == in.RequestURI:
	case !strings.HasPrefix(path, "//"):
		u.Opaque = path
	case isGRPCCall(in):
		u.Opaque = "//" + in.Host + path
	default:
		u.Opaque = targetPrefix + path
	}
}

// targetConn removes targetPrefix from the request lines written to it. The
// transport begins each request with a write of its own.
type targetConn struct {
	net.Conn
	writes atomic.Int64 // that may have sent something
}

// Write implements net.Conn.
func (c *targetConn) Write(p []byte) (int, error) {
	mark := []byte(" http:" + targetPrefix)
	at := bytes.Index(p[:min(len(p), targetAt)], mark)
	line := p
	if at >= 0 {
		line = append(append([]byte{}, p[:at+1]...), p[at+len(mark):]...)
	}
	n, err := c.Conn.Write(line)
	if n > 0 || err == nil {
		c.writes.Add(1)
	}
	if err != nil {
		return min(n, len(p)), err
	}
	return len(p), nil
}

// ReadFrom implements io.ReaderFrom, so that bodies are still spliced.
func (c *targetConn) ReadFrom(r io.Reader) (int64, error) {
	c.writes.Add(1)
	return io.Copy(c.Conn, r)
}
