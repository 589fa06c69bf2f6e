//go:build !linux || race

package idleconn

import "golang.org/x/sys/unix"

// With the race detector, the calls are those that it knows: what was written before a write is
// then known to have happened before the read.

// receiveNow reads what has arrived, without waiting: the runtime's sockets do not block.
func receiveNow(fd uintptr, p []byte) (int, error) { return unix.Read(int(fd), p) }

// sendNow writes what the kernel takes at once.
func sendNow(fd uintptr, p []byte) (int, error) { return unix.Write(int(fd), p) }

// isReadableNow reports whether a read would return at once.
func isReadableNow(fd uintptr) (bool, error) {
	look := [1]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	n, err := unix.Poll(look[:], 0)
	return n > 0, err
}
