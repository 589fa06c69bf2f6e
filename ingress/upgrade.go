package ingress

import (
	"bufio"
	"io"
	"net"
	"net/http"
)

// socketBuffer is what each direction of an open WebSocket holds. io.Copy would
// hold 32 KiB for as long as the socket is open, and most of them are silent.
const socketBuffer = 4 << 10

// frugal is a ResponseWriter whose connection, once it is taken over, copies
// through small buffers.
type frugal struct{ http.ResponseWriter }

// Unwrap lets http.ResponseController flush.
func (f frugal) Unwrap() http.ResponseWriter { return f.ResponseWriter }

// Hijack implements http.Hijacker.
func (f frugal) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	c, rw, err := http.NewResponseController(f.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	return socket{c}, rw, nil
}

// socket makes io.Copy, in both directions, use its methods.
type socket struct{ net.Conn }

// ReadFrom implements io.ReaderFrom.
func (s socket) ReadFrom(from io.Reader) (int64, error) {
	return io.CopyBuffer(onlyWriter{s.Conn}, onlyReader{from}, make([]byte, socketBuffer))
}

// WriteTo implements io.WriterTo.
func (s socket) WriteTo(to io.Writer) (int64, error) {
	return io.CopyBuffer(onlyWriter{to}, onlyReader{s.Conn}, make([]byte, socketBuffer))
}

// CloseWrite passes on that one side has said all it had to say.
func (s socket) CloseWrite() error {
	if c, ok := s.Conn.(interface{ CloseWrite() error }); ok {
		return c.CloseWrite()
	}
	return s.Close()
}

// These hide what else a connection can do, so that the buffer is used.
type (
	onlyReader struct{ io.Reader }
	onlyWriter struct{ io.Writer }
)
