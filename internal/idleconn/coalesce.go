package idleconn

import (
	"runtime"
	"syscall"
	"time"
)

// coalesceUpTo is how many bytes are collected.
const coalesceUpTo = 16 << 10

// Coalesce has short writes collected until goroutines that are about to run have run, and then
// written in one piece. It is for protocols whose writers write one message in several pieces:
// net/http's HTTP/2 server writes the headers of an answer and its body, and each of them is a
// record of TLS and a system call otherwise, and wakes the client. An error comes with a later
// write, as it would if the kernel had taken the bytes. Call it before the connection is used by
// several goroutines.
func (c *Conn) Coalesce() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.coalesces = true
}

// writeSoon lets the others run first: who writes the next piece is among them.
func (c *Conn) writeSoon() {
	runtime.Gosched()
	_ = c.flushGathered() // the next write returns it
}

// SetWriteDeadline implements net.Conn. What was collected before is written before: TLS sets a
// deadline that has passed once it has written its last record.
func (c *Conn) SetWriteDeadline(t time.Time) error {
	c.writeBefore()
	return c.TCPConn.SetWriteDeadline(t)
}

// SetDeadline implements net.Conn.
func (c *Conn) SetDeadline(t time.Time) error {
	c.writeBefore()
	return c.TCPConn.SetDeadline(t)
}

// writeBefore writes what was collected, unless a write is under way, which a deadline may be meant
// to end.
func (c *Conn) writeBefore() {
	if c.mu.TryLock() {
		if c.coalesces && c.gathered != nil {
			_ = c.writeGatheredLocked()
		}
		c.mu.Unlock()
	}
}

// Close writes what was collected, as far as the kernel takes it at once, and closes the
// connection.
func (c *Conn) Close() error {
	if c.mu.TryLock() {
		if c.coalesces && c.gathered != nil {
			_ = c.raw.Control(func(fd uintptr) { _, _ = syscall.Write(int(fd), *c.gathered) })
			c.gathered = nil
		}
		c.mu.Unlock()
	}
	return c.TCPConn.Close()
}
