package wiretest

import (
	"context"
	"fmt"
	"net"
	"sync"
)

// PipeListener is a net.Listener in memory. Each Dial makes a connection of two
// net.Pipes with a buffer between them, as TCP has: without one, two ends that
// answer each other's ping at the same instant would both wait to be read.
type PipeListener struct {
	arriving chan net.Conn
	closed   chan struct{}
	closing  sync.Once
}

var _ net.Listener = (*PipeListener)(nil)

// NewPipeListener is open until Close.
func NewPipeListener() *PipeListener {
	return &PipeListener{arriving: make(chan net.Conn), closed: make(chan struct{})}
}

// Dial connects; network and address are ignored.
func (p *PipeListener) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	ours, theirs := newBufferedPipe()
	select {
	case p.arriving <- theirs:
		return ours, nil
	case <-p.closed:
		_ = ours.Close()
		return nil, fmt.Errorf("dial pipe: %w", net.ErrClosed)
	case <-ctx.Done():
		_ = ours.Close()
		return nil, context.Cause(ctx)
	}
}

// maxChunks is how many writes a buffer holds before the writer waits.
const maxChunks = 256

// newBufferedPipe is a connection in memory. Its four goroutines end when either end
// is closed.
func newBufferedPipe() (ours, theirs net.Conn) {
	ours, left := net.Pipe()
	right, theirs := net.Pipe()
	for _, way := range [][2]net.Conn{{left, right}, {right, left}} {
		chunks := make(chan []byte, maxChunks)
		go readChunks(chunks, way[0])
		go writeChunks(way[1], chunks)
	}
	return ours, theirs
}

func readChunks(chunks chan<- []byte, from net.Conn) {
	defer close(chunks)
	for {
		chunk := make([]byte, 16<<10)
		n, err := from.Read(chunk)
		if err != nil {
			return
		}
		chunks <- chunk[:n]
	}
}

func writeChunks(to net.Conn, chunks <-chan []byte) {
	for chunk := range chunks {
		_, _ = to.Write(chunk) // fails at once, and always, after the reader is closed
	}
	_ = to.Close()
}

// Accept implements net.Listener.
func (p *PipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-p.arriving:
		return c, nil
	case <-p.closed:
		return nil, fmt.Errorf("accept pipe: %w", net.ErrClosed)
	}
}

// Close implements net.Listener.
func (p *PipeListener) Close() error {
	p.closing.Do(func() { close(p.closed) })
	return nil
}

// Addr implements net.Listener. It looks like an address on purpose: dialing
// code checks for host:port.
func (p *PipeListener) Addr() net.Addr { return pipeAddr{} }

type pipeAddr struct{}

func (pipeAddr) Network() string { return "pipe" }
func (pipeAddr) String() string  { return "agent.invalid:5000" }
