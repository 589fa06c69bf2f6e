package idleconn

import (
	"errors"
	"io"
	"net"
	"sync"
)

const (
	// copySize is what is read before it is written: four records of TLS.
	copySize = 64 << 10
	// recordRoom is what TLS adds to that, and some.
	recordRoom = 1 << 10
)

// The pools keep pointers to arrays: a slice put into one is an allocation by itself.
var (
	copies   = sync.Pool{New: func() any { return new([copySize]byte) }}
	gathered = sync.Pool{New: func() any {
		room := make([]byte, 0, copySize+recordRoom)
		return &room
	}}
)

// Copy copies from a connection until it ends, which is no error. It holds a buffer only
// while bytes flow, if there is a Conn below from; bytes that arrived together are written
// together, if there is one below to.
func Copy(to, from net.Conn) error {
	under := FindConn(from)
	if under == nil {
		_, err := io.Copy(to, from)
		return err
	}
	// It is impossible to wait for bytes that TLS has already read, so they are fetched first.
	// That needs a stack of its own: most connections that start idle stay idle.
	first := make(chan error, 1)
	go func() { first <- copyAvailable(to, from, under) }()
	for err := <-first; ; err = copyAvailable(to, from, under) {
		if errors.Is(err, ErrNotYet) {
			err = under.Wait()
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// copyAvailable copies what has arrived, and returns ErrNotYet when that is all.
func copyAvailable(to, from net.Conn, under *Conn) error {
	buf := copies.Get().(*[copySize]byte)
	defer copies.Put(buf)
	for {
		n, err := fillBuffer(buf[:], from, under)
		if n > 0 {
			if failed := writeGathered(to, buf[:n]); failed != nil {
				return failed
			}
		}
		if err != nil {
			return err
		}
	}
}

// fillBuffer reads until p is full or nothing more has arrived.
func fillBuffer(p []byte, from net.Conn, under *Conn) (n int, err error) {
	for n < len(p) && err == nil {
		var more int
		more, err = under.ReadWithoutBlocking(from.Read, p[n:])
		n += more
	}
	return n, err
}

// Read waits for bytes and reads all that arrived together, which may be several
// records of TLS.
func Read(from net.Conn, p []byte) (int, error) {
	under := FindConn(from)
	if under == nil {
		return from.Read(p)
	}
	for {
		n, err := fillBuffer(p, from, under)
		if n > 0 {
			return n, nil // an error comes again at the next call
		}
		if errors.Is(err, ErrNotYet) {
			err = under.Wait()
		}
		if err != nil {
			return 0, err
		}
	}
}

// writeGathered makes TLS write its records in one piece.
func writeGathered(to net.Conn, p []byte) error {
	under := FindConn(to)
	if under == nil || len(p) <= copySize/4 {
		_, err := to.Write(p)
		return err
	}
	return under.WriteTogether(func() error {
		_, err := to.Write(p)
		return err
	})
}

// WriteTogether writes in one piece what do writes: each record of TLS is a system call
// otherwise, and wakes the far end.
func (c *Conn) WriteTogether(do func() error) error {
	c.startGather()
	err := do()
	return errors.Join(err, c.flushGathered())
}

func (c *Conn) startGather() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gathered == nil {
		c.gathered = gathered.Get().(*[]byte)
	}
}

// Write implements net.Conn.
func (c *Conn) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.gathered != nil:
		*c.gathered = append(*c.gathered, p...)
		if c.coalesces && len(*c.gathered) >= coalesceUpTo {
			return len(p), c.writeGatheredLocked()
		}
		return len(p), nil
	case c.lost != nil:
		return 0, c.lost
	case c.coalesces && len(p) < coalesceUpTo:
		c.gathered = gathered.Get().(*[]byte)
		*c.gathered = append(*c.gathered, p...)
		go c.writeSoon()
		return len(p), nil
	}
	return c.writeAll(p)
}

func (c *Conn) flushGathered() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.writeGatheredLocked()
}

func (c *Conn) writeGatheredLocked() error {
	room := c.gathered
	c.gathered = nil
	if room == nil {
		return c.lost // it was written meanwhile
	}
	_, err := c.writeAll(*room)
	*room = (*room)[:0]
	gathered.Put(room)
	if c.coalesces {
		c.lost = errors.Join(c.lost, err)
	}
	return err
}
