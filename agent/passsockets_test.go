package agent_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/agent/dummy"
	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/agent/wire/wiretest"
	"github.com/nullops/nullops/pipeline"
)

// tcpRuntime connects to services over real TCP. ends gets each connection as the service has it.
type tcpRuntime struct {
	*dummy.Runtime
	service net.Listener
	ends    chan net.Conn
}

func newTCPRuntime(t *testing.T) *tcpRuntime {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &tcpRuntime{dummy.New(dummy.Hooks{Plugin: runMaker}), l, make(chan net.Conn, 16)}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			r.ends <- c
		}
	}()
	t.Cleanup(func() { _ = l.Close() })
	return r
}

func (r *tcpRuntime) Dial(ctx context.Context, deployment string, service pipeline.StepKey,
	port int) (net.Conn, error) {
	known, err := r.Runtime.Dial(ctx, deployment, service, port)
	if err != nil {
		return nil, err
	}
	_ = known.Close()
	return net.Dial("tcp4", r.service.Addr().String())
}

// localNode is an agent that listens for an ingress on this machine.
type localNode struct {
	*node
	ingress *wire.Identity
	runtime *tcpRuntime
	dir     string
	sockets string
}

func bootLocal(t *testing.T) *localNode {
	t.Helper()
	sockets, err := os.MkdirTemp("", "nops-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(sockets) })
	l := &localNode{ingress: wiretest.NewIdentity(t), runtime: newTCPRuntime(t), dir: t.TempDir(),
		sockets: sockets}
	p := newPlane(t)
	l.node = l.start(p)
	s := l.connect()
	l.tellAccess(s, wire.NewTunnelAccess(l.ingress, p.token.Kid), "d1")
	return l
}

func (l *localNode) start(p *plane) *node {
	return p.bootWith(agent.Config{Data: l.dir, Sockets: l.sockets, IngressUser: -1}, l.runtime)
}

func (l *localNode) path() string { return wire.LocalSocket(l.sockets, l.token.Kid) }

// openSockets proves the ingress over the socket, like the ingress does.
func (l *localNode) openSockets() *wire.SocketClient {
	l.t.Helper()
	how := l.ingressDial(l.ingress)
	how.Address = "unix://" + l.path()
	how.Connect = func(ctx context.Context, _, _ string) (net.Conn, error) {
		return wire.DialLocal(ctx, l.path())
	}
	c, err := wire.OpenSockets(l.t.Context(), l.dialAs(how))
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { _ = c.Close() })
	return c
}

// dialWeb returns both ends of a passed socket.
func (l *localNode) dialWeb(c *wire.SocketClient) (visitor, service net.Conn) {
	l.t.Helper()
	visitor, err := c.Dial(l.t.Context(), wire.Target{Deployment: "d1", Service: "web", Port: 80})
	if err != nil {
		l.t.Fatal(err)
	}
	return visitor, <-l.runtime.ends
}

// hearsEnd waits for what a connection says last.
func hearsEnd(t *testing.T, c net.Conn) error {
	t.Helper()
	if err := c.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	_, err := c.Read(make([]byte, 1))
	if err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the connection goes on: %v", err)
	}
	return err
}

// What a visitor sends arrives as it is, and each end hears when the other one closes.
func TestAgent_PassesSockets(t *testing.T) {
	t.Parallel()
	l := bootLocal(t)
	c := l.openSockets()
	visitor, service := l.dialWeb(c)
	got := make([]byte, 4)
	if _, err := io.WriteString(visitor, "ping"); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(service, got); err != nil || string(got) != "ping" {
		t.Errorf("the service got %q: %v", got, err)
	}
	inode := inodeOf(t, visitor)
	_ = visitor.Close()
	if err := hearsEnd(t, service); !errors.Is(err, io.EOF) {
		t.Errorf("the service heard %v", err)
	}
	l.until("the agent lets go of the socket", func() bool { return !isOpenHere(t, inode) })
	visitor, service = l.dialWeb(c)
	_ = service.Close()
	if err := hearsEnd(t, visitor); !errors.Is(err, io.EOF) {
		t.Errorf("the visitor heard %v", err)
	}
	// What the pipeline does not declare is refused as over a tunnel.
	for _, target := range []wire.Target{{Deployment: "d1", Service: "web", Port: 81},
		{Deployment: "d2", Service: "web", Port: 80}} {
		_, err := c.Dial(t.Context(), target)
		if refused, ok := errors.AsType[*wire.TunnelError](err); !ok || refused.Status != 404 {
			t.Errorf("%s: %v", target, err)
		}
	}
}

// inodeOf tells a socket from others, whatever descriptors it has.
func inodeOf(t *testing.T, c net.Conn) string {
	t.Helper()
	raw, err := c.(syscall.Conn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	name := ""
	err = raw.Control(func(fd uintptr) { name = fmt.Sprintf("/proc/self/fd/%d", fd) })
	if err == nil {
		name, err = os.Readlink(name)
	}
	if err != nil {
		t.Fatal(err)
	}
	return name
}

// isOpenHere reports whether this process, which is ingress and agent, has the socket.
func isOpenHere(t *testing.T, inode string) bool {
	t.Helper()
	all, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(all, func(name string) bool {
		at, err := os.Readlink(name)
		return err == nil && at == inode
	})
}

// Whoever has a socket can do nothing with it but use its connection: it cannot be connected again,
// to another port or to the same, nor accept connections.
//
// threat: T53
func TestAgent_PassedSocketsReachNothingElse(t *testing.T) {
	t.Parallel()
	l := bootLocal(t)
	visitor, service := l.dialWeb(l.openSockets())
	other, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Close() }()
	raw, err := visitor.(*wire.PassedConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	err = raw.Control(func(fd uintptr) {
		if err := unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_DETACH_FILTER, 0); err == nil {
			t.Error("the filter was taken off")
		}
		for what, at := range map[string]net.Addr{
			"another port": other.Addr(), "its own port": service.LocalAddr()} {
			if connectsAgain(int(fd), at.(*net.TCPAddr).AddrPort()) {
				t.Errorf("the socket was connected to %s", what)
			}
		}
		disconnectSocket(int(fd))
		if err := unix.Listen(int(fd), 1); err != nil {
			t.Fatal(err)
		}
		own, err := unix.Getsockname(int(fd))
		if err != nil {
			t.Fatal(err)
		}
		at := fmt.Sprintf("127.0.0.1:%d", own.(*unix.SockaddrInet4).Port)
		if c, err := net.DialTimeout("tcp4", at, 300*time.Millisecond); err == nil {
			_ = c.Close()
			t.Error("the socket accepted a connection")
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}

// connectsAgain reports whether a socket can be connected anew.
func connectsAgain(fd int, at netip.AddrPort) bool {
	disconnectSocket(fd)
	_ = unix.Connect(fd, &unix.SockaddrInet4{Addr: at.Addr().As4(), Port: int(at.Port())})
	look := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}
	n, _ := unix.Poll(look, 300)
	return n > 0 && look[0].Revents&unix.POLLERR == 0
}

func duplicateSocket(t *testing.T, visitor net.Conn) (kept int) {
	t.Helper()
	raw, err := visitor.(*wire.PassedConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var failed error
	err = raw.Control(func(fd uintptr) {
		kept, failed = unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 0)
	})
	if err = errors.Join(err, failed); err != nil {
		t.Fatal(err)
	}
	return kept
}

func disconnectSocket(fd int) {
	none := unix.RawSockaddr{Family: unix.AF_UNSPEC}
	_, _, _ = unix.Syscall(unix.SYS_CONNECT, uintptr(fd), uintptr(unsafe.Pointer(&none)),
		unsafe.Sizeof(none))
}

// A connection ends at once when its deployment is removed, when the ingress loses its access, and
// when the agent ends; what was cut short never looks complete. After a restart it works again.
func TestAgent_CutsPassedSockets(t *testing.T) {
	t.Parallel()
	l := bootLocal(t)
	cuts := func(what string, cut func()) {
		t.Helper()
		visitor, service := l.dialWeb(l.openSockets())
		kept := duplicateSocket(t, visitor)
		defer func() { _ = unix.Close(kept) }()
		cut()
		if err := hearsEnd(t, visitor); errors.Is(err, io.EOF) {
			t.Errorf("%s looks like the end of a response", what)
		}
		_ = hearsEnd(t, service)
		if connectsAgain(kept, service.LocalAddr().(*net.TCPAddr).AddrPort()) {
			t.Errorf("after %s the ingress connected the socket again", what)
		}
	}
	cuts("an end of the agent", func() { l.node.stop() })
	if _, err := os.Lstat(l.path()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("an agent that has ended left its socket: %v", err)
	}
	// A process that was killed leaves its socket, which is replaced.
	leaveSocket(t, l.path())
	l.node = l.start(l.plane)
	s := l.connect()
	cuts("a withdrawal", func() { l.tellAccess(s, wire.TunnelAccess{}, "d2") })
	l.tellAccess(s, wire.NewTunnelAccess(l.ingress, l.token.Kid), "d3")
	cuts("a removal", func() { l.want(s, goneGoal("d1")) })
}

func leaveSocket(t *testing.T, path string) {
	t.Helper()
	old, err := net.ListenUnix("unix", &net.UnixAddr{Net: "unix", Name: path})
	if err != nil {
		t.Fatal(err)
	}
	old.SetUnlinkOnClose(false)
	_ = old.Close()
}

// A process without a proof gets no socket, whoever it runs as.
//
// threat: T53
func TestAgent_PassesNoSocketWithoutProof(t *testing.T) {
	t.Parallel()
	l := bootLocal(t)
	stranger := l.ingressDial(wiretest.NewIdentity(t))
	stranger.Connect = func(ctx context.Context, _, _ string) (net.Conn, error) {
		return wire.DialLocal(ctx, l.path())
	}
	if _, err := wire.Dial(t.Context(), stranger); err == nil {
		t.Error("an unknown certificate was let in")
	}
	plain, err := wire.DialLocal(t.Context(), l.path())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = plain.Close() }()
	_, err = io.WriteString(plain, "CONNECT agent:1 HTTP/1.1\r\nHost: agent:1\r\n"+
		wire.HeaderSockets+": any/any\r\n\r\n")
	if err != nil {
		t.Fatal(err)
	}
	if err := plain.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	if answer, err := io.ReadAll(plain); len(answer) > 16 ||
		errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("without TLS came %q: %v", answer, err) // at most a TLS alert
	}
	// Over the network nothing is passed, even with the proof.
	if c, err := wire.OpenSockets(t.Context(), l.dialAs(l.ingressDial(l.ingress))); err == nil {
		t.Error("a channel over the network")
		_ = c.Close()
	}
	info, err := os.Stat(l.path())
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the socket is %v: %v", info.Mode(), err)
	}
	if folder, err := os.Stat(filepath.Dir(l.path())); err != nil ||
		folder.Sys().(*syscall.Stat_t).Uid != uint32(os.Geteuid()) {
		t.Error("the folder belongs to somebody else")
	}
}
