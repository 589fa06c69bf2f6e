package wire

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"
)

// lullConn is a TCP connection that can be asked for what has arrived, and waited
// on without a read under way. Reading goes through a WebSocket, TLS and the
// network, which needs a stack of 8 KiB; who waits for days in there keeps it.
type lullConn struct {
	net.Conn
	raw syscall.RawConn
	// brief is set while a Read must not wait. It is the reader's.
	brief bool
}

// lulled wraps a connection if it can be. One in memory cannot.
func lulled(conn net.Conn) net.Conn {
	from, ok := conn.(syscall.Conn)
	if !ok {
		return conn
	}
	raw, err := from.SyscallConn()
	if err != nil {
		return conn
	}
	return &lullConn{Conn: conn, raw: raw}
}

// lullOf finds the lullConn below TLS; nil if there is none.
func lullOf(conn net.Conn) *lullConn {
	proven, ok := conn.(*ProvenConn)
	if !ok {
		return nil
	}
	l, _ := proven.NetConn().(*lullConn)
	return l
}

// errNotYet is what a brief Read gives when nothing has arrived.
var errNotYet error = notYet{}

// notYet is a net.Error, and Temporary: TLS lets its reader try again.
type notYet struct{}

func (notYet) Error() string   { return "nothing has arrived yet" }
func (notYet) Timeout() bool   { return false }
func (notYet) Temporary() bool { return true }

// Read implements net.Conn. A brief one gives errNotYet instead of waiting.
func (c *lullConn) Read(p []byte) (n int, err error) {
	if !c.brief || len(p) == 0 {
		return c.Conn.Read(p)
	}
	failed := c.raw.Read(func(fd uintptr) bool {
		n, err = received(int(fd), p, 0)
		return true
	})
	if failed != nil {
		return 0, failed
	}
	return n, err
}

// wait returns when something has arrived, or the connection ended.
func (c *lullConn) wait() error {
	return c.raw.Read(func(fd uintptr) bool {
		var one [1]byte
		_, err := received(int(fd), one[:], syscall.MSG_PEEK)
		return !errors.Is(err, errNotYet)
	})
}

// received asks the kernel, in the words of a net.Conn.
func received(fd int, p []byte, flags int) (int, error) {
	for {
		n, _, err := syscall.Recvfrom(fd, p, flags|syscall.MSG_DONTWAIT)
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case errors.Is(err, syscall.EAGAIN):
			return 0, errNotYet
		case err != nil:
			return 0, os.NewSyscallError("recvfrom", err)
		case n == 0:
			return 0, io.EOF
		}
		return n, nil
	}
}
