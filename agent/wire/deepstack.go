package wire

import "time"

const (
	// spareStacks is how many goroutines wait for a read, and spareFor how long each of them does.
	spareStacks = 16
	spareFor    = 10 * time.Second
)

// deepStacks runs reads that need a deep stack, for connections that wait on a small one. A
// goroutine that has finished waits for the next read: growing a stack costs more than a ping.
type deepStacks struct {
	reads chan *idleWebSocket
	spare chan struct{}
}

var readers = deepStacks{make(chan *idleWebSocket), make(chan struct{}, spareStacks)}

// read returns what readMessage returns. It never waits for another connection's read, which may
// have to wait for its peer. A connection that cannot be idle blocks in its read, so it gets a
// goroutine of its own.
func (d *deepStacks) read(s *idleWebSocket) readResult {
	if s.idle == nil {
		go func() { s.result <- s.readMessage() }()
		return <-s.result
	}
	select {
	case d.reads <- s:
	default:
		go d.serveReads(s)
	}
	return <-s.result
}

func (d *deepStacks) serveReads(s *idleWebSocket) {
	var enough *time.Timer
	for {
		s.result <- s.readMessage()
		select {
		case d.spare <- struct{}{}:
		default:
			return
		}
		if enough == nil {
			enough = time.NewTimer(spareFor)
			defer enough.Stop()
		} else {
			enough.Reset(spareFor)
		}
		select {
		case s = <-d.reads:
			<-d.spare
		case <-enough.C:
			<-d.spare
			return
		}
	}
}
