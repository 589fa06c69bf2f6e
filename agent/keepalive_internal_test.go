package agent

import (
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/nullops/nullops/internal/testpart"
)

// keepAliveOf reads back what the kernel will do with a connection.
func keepAliveOf(t *testing.T, conn net.Conn) (idle, interval, limit time.Duration, count int) {
	t.Helper()
	raw, err := conn.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	option := func(name int) (value int) {
		err := raw.Control(func(fd uintptr) {
			value, err = unix.GetsockoptInt(int(fd), syscall.IPPROTO_TCP, name)
		})
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
	return time.Duration(option(unix.TCP_KEEPIDLE)) * time.Second,
		time.Duration(option(unix.TCP_KEEPINTVL)) * time.Second,
		time.Duration(option(unix.TCP_USER_TIMEOUT)) * time.Millisecond,
		option(unix.TCP_KEEPCNT)
}

// connectPair returns both ends of a connection on loopback, the first with our settings.
func connectPair(t *testing.T) (ours, theirs net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if ours, err = net.Dial("tcp", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if theirs, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = ours.Close(), theirs.Close() })
	setKeepAlive(ours)
	return ours, theirs
}

// Linux ends a connection when one probe is unanswered and the user timeout has
// passed since the last byte. Only a timeout that covers all probes lets a silent
// connection outlive a lost one.
func TestSetKeepAlive_TimeoutCoversAllProbes(t *testing.T) {
	ours, _ := connectPair(t)
	idle, interval, limit, count := keepAliveOf(t, ours)
	if count < 2 || limit < idle+time.Duration(count)*interval || limit > 30*time.Second {
		t.Errorf("idle %s, %d probes each %s, user timeout %s", idle, count, interval, limit)
	}
}

// A silent connection whose probes are lost for a while lives on, in a network
// namespace of its own.
func TestSetKeepAlive_SurvivesLostProbe(t *testing.T) {
	testpart.Rotate(t)
	if os.Getuid() != 0 {
		t.Skip("making a network namespace needs root")
	}
	t.Parallel()
	runtime.LockOSThread() // never unlocked: the thread ends with this namespace
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		t.Skip("no network namespaces here:", err)
	}
	run := func(name string, args ...string) {
		t.Helper()
		if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
			t.Skipf("%s: %v %s", name, err, out)
		}
	}
	run("ip", "link", "set", "lo", "up")
	ours, theirs := connectPair(t)
	idle, interval, _, _ := keepAliveOf(t, ours)
	run("iptables", "-A", "INPUT", "-i", "lo", "-j", "DROP")
	time.Sleep(idle + interval/2) // the first probe is lost
	run("iptables", "-F", "INPUT")
	time.Sleep(2 * interval) // the next one is answered
	if err := theirs.SetDeadline(time.Now().Add(5 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(ours, "alive"); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(theirs, make([]byte, 5)); err != nil {
		t.Error("one lost probe ended the connection:", err)
	}
}
