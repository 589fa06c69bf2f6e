//go:build !linux || race

package idleconn

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// With the race detector, the calls are those of package syscall, as in package net: what happened
// before a write at one end is then known to have happened before the read at the other.

// receiveNow reads what has arrived, without waiting: the runtime's sockets do not block.
func receiveNow(fd uintptr, p []byte) (int, error) { return syscall.Read(int(fd), p) }

// sendNow writes what the kernel takes at once.
func sendNow(fd uintptr, p []byte) (int, error) { return syscall.Write(int(fd), p) }

// isReadableNow reports whether a read would return at once.
func isReadableNow(fd uintptr) (bool, error) {
	look := [1]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	n, err := unix.Poll(look[:], 0)
	return n > 0, err
}
