package agent

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/nullops/nullops/agent/wire"
)

// heldSocket is the agent's own descriptor of a socket that an ingress got. Both are the same
// connection, so the agent can cut it.
type heldSocket struct {
	fd         int
	raw        descriptor
	deployment string
	channel    *wire.SocketServer
}

// heldSockets are closed when their connection has ended: the service would not hear of a close by
// the ingress alone. The runtime's poller would wake the agent for every packet, so they are in an
// epoll of their own that reports ends only.
type heldSockets struct {
	log   *slog.Logger
	epoll *os.File
	fd    int

	mu     sync.Mutex
	last   int32
	closed bool
	// held has numbers of its own: descriptors are used again at once.
	held map[int32]*heldSocket
	// count is how many are of each deployment.
	count map[string]int
}

func newHeldSockets(log *slog.Logger) (*heldSockets, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err == nil {
		err = unix.SetNonblock(fd, true) // so that the runtime's poller waits on it
	}
	if err != nil {
		return nil, fmt.Errorf("watch the sockets of the ingress: %w", err)
	}
	hs := &heldSockets{log: log, fd: fd, epoll: os.NewFile(uintptr(fd), "epoll"),
		held: map[int32]*heldSocket{}, count: map[string]int{}}
	go hs.releaseEnded()
	return hs, nil
}

// add watches a socket from now on; on error it is closed.
func (hs *heldSockets) add(h *heldSocket) error {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	if hs.closed {
		return errors.Join(errors.New("the agent ends"), unix.Close(h.fd))
	}
	for hs.last++; hs.held[hs.last] != nil; hs.last++ {
	}
	// Without events of its own it still reports EPOLLHUP and EPOLLERR.
	err := unix.EpollCtl(hs.fd, unix.EPOLL_CTL_ADD, h.fd, &unix.EpollEvent{Fd: hs.last})
	if err != nil {
		return errors.Join(fmt.Errorf("watch a socket: %w", err), unix.Close(h.fd))
	}
	hs.held[hs.last] = h
	hs.count[h.deployment]++
	return nil
}

// releaseEnded closes what has ended, until close.
func (hs *heldSockets) releaseEnded() {
	raw, err := hs.epoll.SyscallConn()
	if err != nil {
		hs.log.Error("sockets of the ingress are not watched", "error", err)
		return
	}
	events := make([]unix.EpollEvent, 64)
	for {
		n := 0
		var failed error
		err := raw.Read(func(fd uintptr) bool {
			n, failed = unix.EpollWait(int(fd), events, 0)
			return n > 0 || failed != nil && !errors.Is(failed, unix.EINTR)
		})
		if err != nil {
			return
		}
		hs.mu.Lock()
		for _, e := range events[:max(n, 0)] {
			if h := hs.held[e.Fd]; h != nil {
				hs.releaseLocked(e.Fd, h)
			}
		}
		hs.mu.Unlock()
	}
}

// releaseLocked closes the agent's descriptor. It leaves the epoll by hand: the ingress may still
// have the socket open, and the kernel would go on reporting it.
func (hs *heldSockets) releaseLocked(number int32, h *heldSocket) {
	delete(hs.held, number)
	if hs.count[h.deployment]--; hs.count[h.deployment] == 0 {
		delete(hs.count, h.deployment)
	}
	_ = unix.EpollCtl(hs.fd, unix.EPOLL_CTL_DEL, h.fd, nil)
	_ = unix.Close(h.fd)
}

// cut ends at once every connection that doomed names, whoever holds it.
func (hs *heldSockets) cut(doomed func(*heldSocket) bool) {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	for number, h := range hs.held {
		if doomed(h) {
			if err := disconnect(h.fd); err != nil {
				hs.log.Error("a connection of the ingress was not cut", "error", err)
			}
			hs.releaseLocked(number, h)
		}
	}
}

// deployments are those that somebody is connected with.
func (hs *heldSockets) deployments() []string {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	return slices.Collect(maps.Keys(hs.count))
}

func (hs *heldSockets) close() {
	hs.cut(func(*heldSocket) bool { return true })
	hs.mu.Lock()
	defer hs.mu.Unlock()
	if !hs.closed {
		hs.closed = true
		_ = hs.epoll.Close()
	}
}

// disconnect resets a connection for both ends, and for all who have its socket. A shutdown would
// look like the end of a response to the ingress. Nobody can connect it again: see forbidReconnect.
func disconnect(fd int) error {
	none := unix.RawSockaddr{Family: unix.AF_UNSPEC}
	_, _, failed := unix.Syscall(unix.SYS_CONNECT, uintptr(fd),
		uintptr(unsafe.Pointer(&none)), unsafe.Sizeof(none))
	if failed != 0 && !errors.Is(failed, unix.ENOTCONN) {
		return errors.Join(failed, unix.Shutdown(fd, unix.SHUT_RDWR))
	}
	return nil
}

// forbidReconnect makes a socket good for the connection that it has and for no other. It belongs
// to the deployment's network, so whoever has it could connect it again, to ports that no pipeline
// declares. The filter drops every packet that opens a connection, from either side, and cannot be
// taken off again.
func forbidReconnect(fd int) error {
	const (
		flagsAt = 13 // in the TCP header, which is the first that a filter sees
		syn     = 0x02
	)
	program := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_B | unix.BPF_ABS, K: flagsAt},
		{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, K: syn, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: 0},
		{Code: unix.BPF_RET | unix.BPF_K, K: 0x7fffffff},
	}
	err := unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER,
		&unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]})
	if err != nil {
		return fmt.Errorf("restrict it to its connection: %w", err)
	}
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_LOCK_FILTER, 1); err != nil {
		return fmt.Errorf("keep it restricted to its connection: %w", err)
	}
	return nil
}

func duplicate(fd int) (int, error) {
	return unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
}
