package idleconn

import (
	"net"
	"sync"
	"sync/atomic"
)

// CopyBothWays copies both ways, and does not wait for it. When both ends are done it
// closes both and calls ended. A half-close is passed on, since some protocols
// answer only after it.
func CopyBothWays(a, b net.Conn, ended func()) {
	end := sync.OnceFunc(func() {
		_ = a.Close()
		_ = b.Close()
		ended()
	})
	var over atomic.Int32
	pipe := func(to, from net.Conn) {
		err := Copy(to, from)
		half, ok := to.(interface{ CloseWrite() error })
		whole := err == nil && ok && half.CloseWrite() == nil
		// The connection is broken, or cannot close one direction only: the other direction must
		// end too.
		if over.Add(1) == 2 || !whole {
			end()
		}
	}
	go pipe(a, b)
	go pipe(b, a)
}
