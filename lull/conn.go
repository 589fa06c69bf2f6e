// Package lull is for connections that are silent most of the time, of which a
// process may hold many thousands: open WebSockets, tunnels, sessions.
//
// Who reads from one in the usual way waits with a buffer in hand and, below TLS,
// on a stack of 8 KiB. Here it waits with neither:
//
//	for {
//		n, err := c.Brief(tls.Read, p)       // what is there already
//		if errors.Is(err, lull.ErrNotYet) {
//			err = c.Wait()               // and only then, without p
//		}
//	}
//
// Copy is that loop. It imports nothing of ours and knows no protocol.
package lull

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
)

// Conn is a TCP connection that can be asked for what has arrived, and waited on
// without a read under way. One goroutine reads at a time, and one writes.
type Conn struct {
	*net.TCPConn
	raw syscall.RawConn
	// brief is set while a Read must not wait. drained is set once it is known
	// that nothing more has arrived. Both are the reader's, as is asked.
	brief, drained, asked bool

	// mu keeps writes in order: TLS writes by itself too, to answer or to part.
	mu sync.Mutex
	// gathered collects what is written; nil while writes go out at once.
	gathered *[]byte
}

// Wrap makes a Conn. The TCP connection must not be used by itself any more.
func Wrap(tcp *net.TCPConn) (*Conn, error) {
	raw, err := tcp.SyscallConn()
	if err != nil {
		return nil, err
	}
	return &Conn{TCPConn: tcp, raw: raw}, nil
}

// Over wraps what is a TCP connection, and gives back as it is what is not.
func Over(conn net.Conn) net.Conn {
	if tcp, ok := conn.(*net.TCPConn); ok {
		if c, err := Wrap(tcp); err == nil {
			return c
		}
	}
	return conn
}

// Under finds the Conn below TLS, or inside a struct that embeds it; nil if there
// is none.
func Under(conn net.Conn) *Conn {
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

// ErrNotYet is what a brief read gives when nothing has arrived.
var ErrNotYet error = notYet{}

// notYet is a net.Error, and Temporary: TLS lets its reader try again.
type notYet struct{}

func (notYet) Error() string   { return "nothing has arrived yet" }
func (notYet) Timeout() bool   { return false }
func (notYet) Temporary() bool { return true }

// Brief calls read, which reads through c, and has it give ErrNotYet where it
// would wait. Of a TLS record that is not whole nothing is lost.
func (c *Conn) Brief(read func([]byte) (int, error), p []byte) (int, error) {
	c.brief = true
	defer func() { c.brief = false }()
	return read(p)
}

// Read implements net.Conn.
func (c *Conn) Read(p []byte) (n int, err error) {
	if !c.brief || len(p) == 0 {
		return c.TCPConn.Read(p)
	}
	if c.drained {
		return 0, ErrNotYet
	}
	failed := c.raw.Read(func(fd uintptr) bool {
		n, err = received(int(fd), p, 0)
		return true
	})
	c.drained = n < len(p) && (err == nil || errors.Is(err, ErrNotYet))
	if failed != nil {
		return 0, failed
	}
	return n, err // as it is: TLS compares it
}

// Wait returns when something has arrived, or the connection ended.
func (c *Conn) Wait() error {
	c.drained, c.asked = false, false
	return c.raw.Read(c.arrived)
}

// arrived is asked once before the wait, and once after it.
func (c *Conn) arrived(fd uintptr) bool {
	if c.asked {
		return true
	}
	c.asked = true
	var one [1]byte
	_, err := received(int(fd), one[:], syscall.MSG_PEEK)
	return !errors.Is(err, ErrNotYet)
}

// received asks the kernel, in the words of a net.Conn.
func received(fd int, p []byte, flags int) (int, error) {
	for {
		n, _, err := syscall.Recvfrom(fd, p, flags|syscall.MSG_DONTWAIT)
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case errors.Is(err, syscall.EAGAIN):
			return 0, ErrNotYet
		case err != nil:
			return 0, os.NewSyscallError("recvfrom", err)
		case n == 0:
			return 0, io.EOF
		}
		return n, nil
	}
}
