package wire

import (
	"errors"
	"io"
	"net"
	"sync"
	"syscall"
)

// A socket travels over a Unix connection beside its bytes (SCM_RIGHTS), and over TLS just as
// well: it goes along with the record that is written next. Who reads the record has the socket.

// maxUnclaimed is how many sockets an agent may send ahead of the replies that they belong to.
const maxUnclaimed = 64

// givingConn is the agent's end: it sends sockets and takes none. What the other end sends along
// is closed by the kernel, because Read leaves no room for it.
type givingConn struct {
	*net.UnixConn
	remote net.Addr

	mu   sync.Mutex
	next syscall.RawConn
}

// RemoteAddr names the user at the other end, for logs.
func (c *givingConn) RemoteAddr() net.Addr { return c.remote }

// attachToNextWrite sends a socket along with what is written next.
func (c *givingConn) attachToNextWrite(socket syscall.RawConn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.next = socket
}

// Write implements net.Conn.
func (c *givingConn) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	socket := c.next
	if socket == nil || len(p) == 0 {
		return c.UnixConn.Write(p)
	}
	c.next = nil
	var n int
	var failed error
	err := socket.Control(func(fd uintptr) {
		n, _, failed = c.WriteMsgUnix(p, syscall.UnixRights(int(fd)), nil)
	})
	if err = errors.Join(err, failed); err != nil || n == len(p) {
		return n, err
	}
	rest, err := c.UnixConn.Write(p[n:])
	return n + rest, err
}

// takingConn is the ingress's end: it keeps the sockets that arrive until they are claimed.
type takingConn struct {
	*net.UnixConn
	oob []byte

	mu     sync.Mutex
	closed bool
	// arrived are descriptors in their order; -1 is one for which this process had no room.
	arrived []int
}

func newTakingConn(c *net.UnixConn) *takingConn {
	return &takingConn{UnixConn: c, oob: make([]byte, syscall.CmsgSpace(4))}
}

var errUnclaimed = errors.New("the agent sends sockets that nobody asked for")

// Read implements net.Conn.
func (c *takingConn) Read(p []byte) (int, error) {
	n, oobn, flags, _, err := c.ReadMsgUnix(p, c.oob)
	n = max(n, 0) // -1 comes with an error
	switch {
	case errors.Is(err, io.EOF):
		return n, io.EOF // as it is: TLS compares it
	case err != nil || oobn == 0 && flags&syscall.MSG_CTRUNC == 0:
		return n, err
	}
	if !c.keep(parseDescriptors(c.oob[:oobn])) {
		return 0, errUnclaimed
	}
	return n, nil
}

// keep stores one descriptor, and closes others that came along.
func (c *takingConn) keep(fds []int) bool {
	one := -1
	for i, fd := range fds {
		if i == 0 {
			one = fd
			continue
		}
		_ = syscall.Close(fd)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || len(c.arrived) >= maxUnclaimed {
		if one >= 0 {
			_ = syscall.Close(one)
		}
		return false
	}
	c.arrived = append(c.arrived, one)
	return true
}

// claim returns the descriptor that arrived first; ok is false if there is none.
func (c *takingConn) claim() (fd int, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.arrived) == 0 {
		return -1, false
	}
	fd = c.arrived[0]
	c.arrived = c.arrived[1:]
	return fd, true
}

// Close implements net.Conn, and closes what was not claimed.
func (c *takingConn) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	for _, fd := range c.arrived {
		if fd >= 0 {
			_ = syscall.Close(fd)
		}
	}
	c.arrived = nil
	return c.UnixConn.Close()
}

func parseDescriptors(oob []byte) (fds []int) {
	messages, err := syscall.ParseSocketControlMessage(oob)
	if err != nil {
		return nil
	}
	for i := range messages {
		if some, err := syscall.ParseUnixRights(&messages[i]); err == nil {
			fds = append(fds, some...)
		}
	}
	return fds
}
