package agent

import (
	"net"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// unheard is how long a service's machine, which is this one, may leave bytes
// unacknowledged. The kernel acknowledges for a container that is busy or even
// frozen; only one that lost its network, or whose gate did, stays silent, and
// then nobody would ever hear of it: a tester's request would hang for minutes.
const unheard = 5 * time.Second

// impatient makes a connection to a service fail soon once it leads nowhere.
func impatient(conn net.Conn) {
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		return
	}
	_ = tcp.SetKeepAliveConfig(net.KeepAliveConfig{Enable: true, Idle: 3 * unheard,
		Interval: unheard, Count: 2})
	raw, err := tcp.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) {
		_ = unix.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, unix.TCP_USER_TIMEOUT,
			int(unheard.Milliseconds()))
	})
}
