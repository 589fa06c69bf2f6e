package agent

import (
	"net"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A connection to a container can be dead without an error, if the container or its relay lost its
// network. The kernel acknowledges packets for a busy or even frozen service, so these limits only
// end connections whose peer machine is silent.
const (
	// keepAliveIdle is the silence after which the first probe is sent.
	keepAliveIdle = 10 * time.Second
	// keepAliveInterval is the time between two probes.
	keepAliveInterval = 3 * time.Second
	// keepAliveCount is how many probes in a row must be lost.
	keepAliveCount = 3
	// unackedTimeout is how long sent bytes may stay unacknowledged. With it, Linux
	// no longer counts probes: it ends a connection when one is unanswered and
	// the last byte arrived longer ago than this (tcp_keepalive_timer), which includes
	// the idle time. A shorter timeout would let one lost probe end a silent
	// WebSocket.
	unackedTimeout = keepAliveIdle + keepAliveCount*keepAliveInterval
)

// setKeepAlive makes a connection to a service fail soon once it leads nowhere.
func setKeepAlive(conn net.Conn) {
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		return
	}
	_ = tcp.SetKeepAliveConfig(net.KeepAliveConfig{Enable: true, Idle: keepAliveIdle,
		Interval: keepAliveInterval, Count: keepAliveCount})
	raw, err := tcp.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) {
		_ = unix.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, unix.TCP_USER_TIMEOUT,
			int(unackedTimeout.Milliseconds()))
	})
}
