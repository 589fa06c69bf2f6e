// Package idleconn reads from connections that are idle most of the time, of which a process
// may hold many thousands: WebSockets, tunnels, sessions.
//
// A normal blocked read holds a buffer and, under TLS, a stack of 8 KiB. A read through
// this package holds neither while it waits:
//
//	for {
//		n, err := c.Brief(tls.Read, p)       // what has already arrived
//		if errors.Is(err, idleconn.ErrNotYet) {
//			err = c.Wait()               // blocks without p
//		}
//	}
//
// Copy is this loop. The package imports nothing else of this module and knows no protocol.
package idleconn

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// Conn is a TCP connection that can be read without blocking, and waited on without a
// pending read. One goroutine reads at a time, and one writes.
type Conn struct {
	*net.TCPConn
	raw syscall.RawConn
	// brief is set while a Read must not block. drained is set once it is known that nothing
	// more has arrived. Both, and asked, belong to the reader.
	brief, drained, asked bool
	// into is the buffer of a read, got and failed are its result.
	into   []byte
	got    int
	failed error
	// take, notice and put are methods; made once, they cost nothing per call.
	take, notice, put func(fd uintptr) bool
	// unread is what Unread put back. It belongs to the reader.
	unread []byte

	// mu keeps writes in order: TLS writes by itself too, to answer or to part.
	mu sync.Mutex
	// gathered collects what is written; nil while writes go out at once.
	gathered *[]byte
	// coalesces is set by Coalesce. lost is why what was collected could not be written.
	coalesces bool
	lost      error
	// from is what a write has to write, wrote and stuck are its result.
	from  []byte
	wrote int
	stuck error
}

// Wrap makes a Conn. The TCP connection must not be used directly afterwards.
func Wrap(tcp *net.TCPConn) (*Conn, error) {
	raw, err := tcp.SyscallConn()
	if err != nil {
		return nil, err
	}
	c := &Conn{TCPConn: tcp, raw: raw}
	c.take, c.notice, c.put = c.readNonblock, c.pollReadable, c.writeNonblock
	return c, nil
}

// WrapConn wraps a TCP connection, and returns any other connection unchanged.
func WrapConn(conn net.Conn) net.Conn {
	if tcp, ok := conn.(*net.TCPConn); ok {
		if c, err := Wrap(tcp); err == nil {
			return c
		}
	}
	return conn
}

// FindConn finds the Conn below TLS, or inside a struct that embeds it; nil if there
// is none.
func FindConn(conn net.Conn) *Conn {
	for {
		switch c := conn.(type) {
		case interface{ self() *Conn }:
			return c.self()
		case interface{ NetConn() net.Conn }:
			conn = c.NetConn()
		default:
			return nil
		}
	}
}

func (c *Conn) self() *Conn { return c }

// FindPlain finds the TCP connection of a Conn, or inside a struct that embeds one; nil if there is
// none, or if what is written to conn is not what the TCP connection carries, as under TLS.
func FindPlain(conn net.Conn) *net.TCPConn {
	if c, ok := conn.(interface{ self() *Conn }); ok {
		return c.self().TCPConn
	}
	return nil
}

// mostAtOnce is what the kernel copies in one call. Nothing else runs on the processor meanwhile,
// and a collection of garbage waits for it.
const mostAtOnce = 256 << 10

// ErrNotYet is returned by a brief read when nothing has arrived.
var ErrNotYet error = notYetError{}

// notYetError is a net.Error, and Temporary: TLS lets its reader try again.
type notYetError struct{}

func (notYetError) Error() string   { return "nothing has arrived yet" }
func (notYetError) Timeout() bool   { return false }
func (notYetError) Temporary() bool { return true }

// ReadWithoutBlocking calls read, which must read through c, and makes it return ErrNotYet
// instead of blocking. An incomplete TLS record is kept for the next read.
func (c *Conn) ReadWithoutBlocking(read func([]byte) (int, error), p []byte) (int, error) {
	c.brief = true
	defer func() { c.brief = false }()
	return read(p)
}

// Unread puts bytes back that the reader took: they are read again before what arrives next. It
// owns p from then on.
func (c *Conn) Unread(p []byte) { c.unread = append(p, c.unread...) }

// Read implements net.Conn.
func (c *Conn) Read(p []byte) (n int, err error) {
	if len(c.unread) > 0 {
		n = copy(p, c.unread)
		if c.unread = c.unread[n:]; len(c.unread) == 0 {
			c.unread = nil
		}
		return n, nil
	}
	if len(p) == 0 {
		return 0, nil
	}
	if c.brief && c.drained {
		return 0, ErrNotYet
	}
	p = p[:min(len(p), mostAtOnce)]
	c.into = p
	err = c.raw.Read(c.take)
	c.into = nil
	if err != nil {
		return 0, renameErr(err, "read")
	}
	c.drained = c.got < len(p) && (c.failed == nil || errors.Is(c.failed, ErrNotYet))
	return c.got, c.failed // as it is: TLS compares it
}

// WriteTo implements io.WriterTo: that of the TCP connection knows nothing of what was put back.
func (c *Conn) WriteTo(w io.Writer) (n int64, err error) {
	if len(c.unread) > 0 {
		early, err := w.Write(c.unread)
		c.unread = nil
		if n = int64(early); err != nil {
			return n, err
		}
	}
	rest, err := c.TCPConn.WriteTo(w)
	return n + rest, err
}

// renameErr makes what the runtime says of a raw operation what it says of a plain one.
func renameErr(err error, operation string) error {
	if said, ok := errors.AsType[*net.OpError](err); ok {
		said.Op = operation
	}
	return err
}

// explainErr wraps what the kernel said of an operation as the standard library does.
func (c *Conn) explainErr(operation string, err error) error {
	return &net.OpError{Op: operation, Net: "tcp", Source: c.LocalAddr(), Addr: c.RemoteAddr(),
		Err: os.NewSyscallError(operation, err)}
}

// readNonblock reads from the kernel without blocking and translates the result to a
// net.Conn's. It returns false when the read has to wait.
func (c *Conn) readNonblock(fd uintptr) bool {
	c.got = 0
	n, err := receiveNow(fd, c.into)
	for errors.Is(err, unix.EINTR) {
		n, err = receiveNow(fd, c.into)
	}
	switch {
	case errors.Is(err, unix.EAGAIN):
		c.failed = ErrNotYet
		return c.brief
	case err != nil:
		c.failed = c.explainErr("read", err)
	case n == 0:
		c.failed = io.EOF
	default:
		c.got, c.failed = n, nil
	}
	return true
}

// writeAll writes to the kernel, and waits where it takes no more. It must be called with mu held.
func (c *Conn) writeAll(p []byte) (int, error) {
	c.from, c.wrote, c.stuck = p, 0, nil
	err := c.raw.Write(c.put)
	c.from = nil
	if err != nil {
		return c.wrote, renameErr(err, "write")
	}
	return c.wrote, c.stuck
}

// writeNonblock writes what the kernel takes. It returns false when the write has to wait.
func (c *Conn) writeNonblock(fd uintptr) bool {
	for c.wrote < len(c.from) {
		n, err := sendNow(fd, c.from[c.wrote:min(len(c.from), c.wrote+mostAtOnce)])
		switch {
		case err == nil:
			c.wrote += n
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EAGAIN):
			return false
		default:
			c.stuck = c.explainErr("write", err)
			return true
		}
	}
	return true
}

// Wait returns when something has arrived, or the connection ended.
func (c *Conn) Wait() error {
	c.drained, c.asked = false, false
	if len(c.unread) > 0 {
		return nil
	}
	return c.raw.Read(c.notice)
}

// PeekEnd returns an error if the next read would return one, and reads nothing: io.EOF if the far
// end has closed its side.
func (c *Conn) PeekEnd() error {
	var peeked [1]byte
	n, failed := 0, error(nil)
	err := c.raw.Control(func(fd uintptr) {
		n, _, failed = unix.Recvfrom(int(fd), peeked[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
	})
	switch {
	case err != nil:
		return err
	case errors.Is(failed, unix.EAGAIN) || errors.Is(failed, unix.EINTR):
		return nil
	case failed != nil:
		return os.NewSyscallError("recvfrom", failed)
	case n == 0 && len(c.unread) == 0:
		return io.EOF
	}
	return nil
}

// pollReadable is the runtime poller's callback. It is called once before the wait and once
// after it.
func (c *Conn) pollReadable(fd uintptr) bool {
	if c.asked {
		return true
	}
	c.asked = true
	readable, err := isReadableNow(fd)
	for errors.Is(err, unix.EINTR) {
		readable, err = isReadableNow(fd)
	}
	return readable || err != nil
}
