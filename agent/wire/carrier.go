package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
)

const (
	// carrierPiece is the most bytes in one message. Proxies buffer whole messages.
	carrierPiece = 32 << 10
	// carrierPing keeps a connection from the eyes of a NAT that forgets silent ones, and
	// carrierPong is how long an answer may take.
	carrierPing = 20 * time.Second
	carrierPong = 10 * time.Second
)

// Carrier is a byte stream in the binary messages of a WebSocket. It carries the TLS connection
// between control plane and agent where no TCP connection can: out of a NAT, or through a
// reverse proxy. It is a transport only, and nothing that it carries trusts it.
//
// It reads by itself from the start, so that it answers pings and notices its end while nobody
// uses it.
type Carrier struct {
	ws     *websocket.Conn
	remote carrierAddr
	ctx    context.Context
	cancel context.CancelFunc
	// arrived and room wake the reader of the stream and that of the WebSocket.
	arrived, room   chan struct{}
	readBy, writeBy *deadline
	// used is closed when the first byte after the handshake has arrived.
	used chan struct{}
	// writing counts the writes of data that have not returned.
	writing atomic.Int32

	mu   sync.Mutex
	data []byte
	err  error
	// ready: the handshake is over, the next byte is the stream's.
	ready, begun bool
}

var _ net.Conn = (*Carrier)(nil)

// carrierAddr names the far end of a Carrier.
type carrierAddr string

// Network implements net.Addr.
func (carrierAddr) Network() string { return "websocket" }

func (a carrierAddr) String() string { return string(a) }

// acceptCarrier answers a request for a WebSocket.
func acceptCarrier(w http.ResponseWriter, r *http.Request) (*Carrier, error) {
	c := &Carrier{}
	ws, err := websocket.Accept(w, r, &websocket.AcceptOptions{OnPingReceived: c.answersPing})
	if err != nil {
		return nil, err
	}
	c.start(ws, r.RemoteAddr)
	return c, nil
}

// start owns ws from now on.
func (c *Carrier) start(ws *websocket.Conn, remote string) {
	c.ws, c.remote = ws, carrierAddr(remote)
	c.ctx, c.cancel = context.WithCancel(context.Background())
	c.arrived, c.room = make(chan struct{}, 1), make(chan struct{}, 1)
	c.used = make(chan struct{})
	c.readBy, c.writeBy = newDeadline(c.ctx), newDeadline(c.ctx)
	ws.SetReadLimit(carrierPiece)
	go c.receiveAll()
}

// answersPing reports whether a ping is answered. While data is being written it is not: the
// answer would wait behind data for which the far end has no room, such as of a download that a
// person has paused, and the library ends a connection whose answer waits for five seconds.
func (c *Carrier) answersPing(context.Context, []byte) bool { return c.writing.Load() == 0 }

func (c *Carrier) receiveAll() {
	for {
		kind, data, err := c.ws.Read(c.ctx)
		if err == nil && kind != websocket.MessageBinary {
			err = errors.New("only binary messages are allowed")
		}
		if err != nil {
			c.end(explainCarrierErr(err))
			return
		}
		if len(data) > 0 && !c.deliver(data) {
			return
		}
	}
}

// deliver waits until what came before was read: the far end then waits too.
func (c *Carrier) deliver(data []byte) bool {
	for {
		c.mu.Lock()
		if len(c.data) == 0 {
			c.data = data
			c.noteUseLocked()
			c.mu.Unlock()
			signal(c.arrived)
			return true
		}
		c.mu.Unlock()
		select {
		case <-c.room:
		case <-c.ctx.Done():
			return false
		}
	}
}

func (c *Carrier) noteUseLocked() {
	if c.ready && !c.begun && len(c.data) > 0 {
		c.begun = true
		close(c.used)
	}
}

// finishHandshake makes the next byte that arrives, or has arrived, the first of the stream.
func (c *Carrier) finishHandshake() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ready = true
	c.noteUseLocked()
}

func signal(wake chan<- struct{}) {
	select {
	case wake <- struct{}{}:
	default:
	}
}

// explainCarrierErr keeps the reason that the far end closed with.
func explainCarrierErr(err error) error {
	var closed websocket.CloseError
	switch {
	case errors.As(err, &closed) && closed.Code == websocket.StatusNormalClosure,
		errors.Is(err, io.EOF):
		return io.EOF
	case errors.As(err, &closed):
		return &CloseError{Code: Code(closed.Code), Reason: closed.Reason, ByPeer: true}
	}
	return fmt.Errorf("connection lost: %w", err)
}

func (c *Carrier) end(why error) {
	c.noteEnd(why)
	c.cancel()
	_ = c.ws.CloseNow()
}

func (c *Carrier) noteEnd(why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.err = why
	}
}

// Read implements net.Conn.
func (c *Carrier) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for {
		expired := c.readBy.expiry()
		if expired.Err() != nil && c.ctx.Err() == nil {
			return 0, os.ErrDeadlineExceeded
		}
		c.mu.Lock()
		n, err := copy(p, c.data), c.err
		c.data = c.data[n:]
		if len(c.data) == 0 {
			c.data = nil
		}
		c.mu.Unlock()
		if n > 0 {
			signal(c.room)
			return n, nil
		}
		if err != nil {
			return 0, err
		}
		select {
		case <-c.arrived:
		case <-expired.Done():
		}
	}
}

// Write implements net.Conn. Like TLS, it cannot be used any more after its deadline has passed
// in the middle of a write.
func (c *Carrier) Write(p []byte) (n int, err error) {
	c.writing.Add(1)
	defer c.writing.Add(-1)
	for len(p) > 0 {
		piece := p[:min(len(p), carrierPiece)]
		expired := c.writeBy.expiry()
		err := expired.Err() // the library writes what fits even then
		if err == nil {
			err = c.ws.Write(expired, websocket.MessageBinary, piece)
		}
		if err != nil && expired.Err() != nil && c.ctx.Err() == nil {
			return n, os.ErrDeadlineExceeded
		}
		if err != nil {
			return n, fmt.Errorf("write: %w", errors.Join(err, c.Err()))
		}
		n += len(piece)
		p = p[len(piece):]
	}
	return n, nil
}

// Close implements net.Conn. It does not wait for the far end.
func (c *Carrier) Close() error {
	c.end(net.ErrClosed)
	return nil
}

// closeWith tells the far end the reason before it closes.
func (c *Carrier) closeWith(code Code, reason string) {
	why := &CloseError{Code: code, Reason: reason}
	c.noteEnd(why) // before the far end repeats the code
	_ = c.ws.Close(websocket.StatusCode(code), reason[:min(len(reason), maxReason)])
	c.end(why)
}

// Context ends with the connection.
func (c *Carrier) Context() context.Context { return c.ctx }

// Done is closed when the connection has ended; Err then says why.
func (c *Carrier) Done() <-chan struct{} { return c.ctx.Done() }

// Err is nil while the connection lives.
func (c *Carrier) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// LocalAddr implements net.Conn.
func (c *Carrier) LocalAddr() net.Addr { return carrierAddr("local") }

// RemoteAddr implements net.Conn.
func (c *Carrier) RemoteAddr() net.Addr { return c.remote }

// SetDeadline implements net.Conn.
func (c *Carrier) SetDeadline(t time.Time) error {
	c.readBy.set(t)
	c.writeBy.set(t)
	return nil
}

// SetReadDeadline implements net.Conn.
func (c *Carrier) SetReadDeadline(t time.Time) error {
	c.readBy.set(t)
	return nil
}

// SetWriteDeadline implements net.Conn.
func (c *Carrier) SetWriteDeadline(t time.Time) error {
	c.writeBy.set(t)
	return nil
}

// keepAlive pings until the connection ends. A connection that waits to be used ends when an
// answer is missing. One in use has watches of its own, and its pings may wait behind data.
func (c *Carrier) keepAlive() {
	ticker := time.NewTicker(carrierPing)
	defer ticker.Stop()
	for {
		select {
		case <-c.ctx.Done():
			return
		case <-ticker.C:
		}
		if c.writing.Load() > 0 {
			continue // what is written shows as well that the connection is needed
		}
		ctx, cancel := context.WithTimeout(c.ctx, carrierPong)
		err := c.ws.Ping(ctx)
		cancel()
		select {
		case <-c.used:
		default:
			if err != nil {
				c.end(errors.New("no answer to a ping"))
				return
			}
		}
	}
}

// deadline is one of a net.Conn's: a context that ends when it passes, and a new one after it
// was moved.
type deadline struct {
	parent context.Context

	mu     sync.Mutex
	timer  *time.Timer
	ctx    context.Context
	cancel context.CancelFunc
}

func newDeadline(parent context.Context) *deadline {
	d := &deadline{parent: parent}
	d.ctx, d.cancel = context.WithCancel(parent)
	return d
}

func (d *deadline) expiry() context.Context {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.ctx
}

func (d *deadline) set(t time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.timer != nil && !d.timer.Stop() {
		<-d.ctx.Done() // its timer has fired and is about to end it
	}
	d.timer = nil
	if d.ctx.Err() != nil {
		d.ctx, d.cancel = context.WithCancel(d.parent)
	}
	if t.IsZero() {
		return
	}
	if wait := time.Until(t); wait > 0 {
		d.timer = time.AfterFunc(wait, d.cancel)
		return
	}
	d.cancel()
}
