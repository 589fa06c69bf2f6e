package dockertest

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// Ports for tests are below those that the kernel assigns to outgoing connections and to
// listeners on port 0.
const (
	firstPort = 20000
	lastPort  = 32000
)

// FreeAddress returns a loopback address for a server that is started later, and may be
// stopped and started again: until the test ends, no other test in any process gets it, and
// the kernel assigns its port to no connection.
func FreeAddress(t testing.TB) string {
	t.Helper()
	held, err := os.OpenFile(filepath.Join(os.TempDir(), "nullops-test-ports"),
		os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		t.Fatalf("find a free port: %v", err)
	}
	t.Cleanup(func() { _ = held.Close() })
	for range 1000 {
		port := firstPort + rand.N(lastPort-firstPort)
		// The byte with the port's number is ours for as long as the file is open.
		err := unix.FcntlFlock(held.Fd(), unix.F_OFD_SETLK,
			&unix.Flock_t{Type: unix.F_WRLCK, Start: int64(port), Len: 1})
		if err != nil {
			continue
		}
		address := fmt.Sprintf("127.0.0.1:%d", port)
		if l, err := net.Listen("tcp", address); err == nil {
			_ = l.Close()
			return address
		}
	}
	t.Fatal("find a free port: all are taken")
	return ""
}
