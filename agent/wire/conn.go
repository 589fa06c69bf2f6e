package wire

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
)

// MaxMessage is the largest encoded message, in bytes. It bounds what a hostile peer can
// make us hold. A sender with more data splits it.
const MaxMessage = 1 << 20

const (
	// writeTimeout lets one message of MaxMessage pass a 512 kbit/s link.
	writeTimeout = 20 * time.Second
	// deliverTimeout is how long a full inbox may stay full before the session is closed: the
	// program does not call Receive.
	deliverTimeout = 10 * time.Second
	// inboxSize times MaxMessage is what a flooding peer can make us hold.
	inboxSize = 16
	// maxReason is what RFC 6455 leaves for a close frame's text.
	maxReason = 123
)

// CloseError says why a session ended. ByPeer says which end decided.
type CloseError struct {
	Code   Code
	Reason string
	ByPeer bool
}

func (e *CloseError) Error() string {
	who := "we"
	if e.ByPeer {
		who = "the far end"
	}
	return fmt.Sprintf("session closed: %s said %q (code %d)", who, e.Reason, e.Code)
}

// Conn is a session: messages of type S go out, messages of type R come in. Only the reader
// has a permanent goroutine; writes and pings start one when needed, because a control
// plane has thousands of idle sessions. Send and Receive are safe for concurrent use. Close
// ends all goroutines.
type Conn[S, R any] struct {
	ws       socket
	encode   func(S) ([]byte, error)
	decode   func([]byte) (R, error)
	received *receipt
	inbox    chan R
	// writing is a lock for the one active writer.
	writing chan struct{}
	// quiet is how long nothing may arrive before we ping.
	quiet time.Duration
	// stalled is set while the inbox is full: then we do not read, and the silence is not the
	// peer's fault.
	stalled atomic.Bool
	ctx     context.Context
	cancel  context.CancelCauseFunc
	tasks   sync.WaitGroup
	// arrival is called when News reports true, see OnArrival.
	arrival atomic.Pointer[func()]
	// mu guards over. Once over is set, startTask starts no more goroutines.
	mu   sync.Mutex
	over bool
	// looks is the timer of the next liveness check. pinged is set if the last one pinged, and before
	// is how many bytes had arrived by then. Both are the checks' own.
	looks  *time.Timer
	pinged bool
	before int64
	// closing is a flag and not a sync.Once: a second caller must not block until the close
	// handshake, which can take seconds, has finished. The reader would deadlock with it.
	closing atomic.Bool
}

// Session is the control plane's end, AgentSession the agent's.
type (
	Session      = Conn[Command, Report]
	AgentSession = Conn[Report, Command]
)

func newConn[S, R any](
	ws socket, received *receipt, quiet time.Duration,
	encode func(S) ([]byte, error), decode func([]byte) (R, error),
) *Conn[S, R] {
	ctx, cancel := context.WithCancelCause(context.Background())
	c := &Conn[S, R]{
		ws: ws, encode: encode, decode: decode, received: received,
		quiet: quiet,
		inbox: make(chan R, inboxSize), writing: make(chan struct{}, 1), ctx: ctx, cancel: cancel,
	}
	received.record(1)
	c.tasks.Go(c.readLoop)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.looks = time.AfterFunc(quiet, c.onLivenessTimer)
	return c
}

// startTask runs a function on a goroutine that Close waits for. It returns false, and does not run
// it, once the session has ended.
func (c *Conn[S, R]) startTask(do func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		return false
	}
	c.tasks.Go(do)
	return true
}

// Send writes one message and returns once it is passed to the network, not once it has
// arrived. A cancelled ctx ends the wait; the message may still be sent.
func (c *Conn[S, R]) Send(ctx context.Context, message S) error {
	data, err := c.encode(message)
	if err != nil {
		return fmt.Errorf("send: %w", err)
	}
	if len(data) > MaxMessage {
		return fmt.Errorf("send: message of %d bytes is over the limit of %d: split it",
			len(data), MaxMessage)
	}
	select {
	case c.writing <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-c.ctx.Done():
		return c.Err()
	}
	sent := make(chan error, 1)
	began := c.startTask(func() {
		err := c.writeOne(data)
		<-c.writing
		sent <- err
	})
	if !began {
		<-c.writing
		return c.Err()
	}
	select {
	case err := <-sent:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// SendTogether writes in one piece what send sends. It holds a buffer until send returns.
func (c *Conn[S, R]) SendTogether(send func() error) error {
	s, ok := c.ws.(*idleWebSocket)
	if !ok || s.idle == nil {
		return send()
	}
	return s.idle.WriteTogether(send)
}

// Receive returns the next message. After the session has ended it first returns the
// messages that had arrived before, then the reason, usually a *CloseError.
func (c *Conn[S, R]) Receive(ctx context.Context) (R, error) {
	var none R
	select {
	case m := <-c.inbox:
		return m, nil
	default:
	}
	select {
	case m := <-c.inbox:
		return m, nil
	case <-ctx.Done():
		return none, context.Cause(ctx)
	case <-c.ctx.Done():
	}
	select {
	case m := <-c.inbox:
		return m, nil
	default:
		return none, c.Err()
	}
}

// TryReceive returns the next message if one has already arrived. It never blocks.
func (c *Conn[S, R]) TryReceive() (m R, ok bool) {
	select {
	case m = <-c.inbox:
		return m, true
	default:
		return m, false
	}
}

// OnArrival registers news, calls it once, and then calls it whenever a message has arrived
// or the session has ended. It replaces a goroutine per session that blocks in Receive.
// news must not block.
func (c *Conn[S, R]) OnArrival(news func()) {
	c.arrival.Store(&news)
	news()
}

// HasPending reports whether Waiting has a message to return or Err a reason.
func (c *Conn[S, R]) HasPending() bool { return len(c.inbox) > 0 || c.ctx.Err() != nil }

func (c *Conn[S, R]) notifyArrival() {
	if news := c.arrival.Load(); news != nil {
		(*news)()
	}
}

// endSession cancels the session's context with the reason and notifies OnArrival.
func (c *Conn[S, R]) endSession(why error) {
	c.cancel(why)
	c.notifyArrival()
}

// Done is closed when the session has ended; Err then says why.
func (c *Conn[S, R]) Done() <-chan struct{} { return c.ctx.Done() }

// Err is nil while the session lives.
func (c *Conn[S, R]) Err() error { return context.Cause(c.ctx) }

// Close sends the peer a close frame with the reason, waits a few seconds for its reply and
// returns when all goroutines of the session have ended. Later calls only wait.
func (c *Conn[S, R]) Close(code Code, reason string) error {
	c.closeWithReason(&CloseError{Code: code, Reason: reason})
	c.mu.Lock()
	c.over = true
	c.mu.Unlock()
	c.tasks.Wait()
	return nil
}

// closeWithReason closes the session with our reason. It sends the close frame before it
// cancels the context: a cancelled read would close the connection first.
func (c *Conn[S, R]) closeWithReason(why *CloseError) {
	if c.closing.Swap(true) {
		return
	}
	reason := why.Reason[:min(len(why.Reason), maxReason)]
	// The answer, if any, changes nothing: we are leaving.
	_ = c.ws.Close(websocket.StatusCode(why.Code), reason)
	c.endSession(why)
}

// dropConn ends the session without a close frame, because none can be delivered.
func (c *Conn[S, R]) dropConn(why error) {
	if c.closing.Swap(true) {
		return
	}
	c.endSession(why)
	_ = c.ws.CloseNow()
}

func (c *Conn[S, R]) readLoop() {
	for {
		kind, data, err := c.ws.Read(c.ctx)
		if err != nil {
			c.readFailed(err)
			return
		}
		if kind != websocket.MessageText {
			c.closeInBackground(&CloseError{Code: CodeProtocol, Reason: "only text messages are allowed"})
			return
		}
		message, err := c.decodeOnOwnStack(data)
		if err != nil {
			c.closeInBackground(&CloseError{Code: CodeProtocol, Reason: err.Error()})
			return
		}
		if !c.deliverMessage(message) {
			return
		}
	}
}

// decodeOnOwnStack decodes on another goroutine: decoding needs a large stack for a moment,
// and the reader, which is blocked for days, would keep that stack.
func (c *Conn[S, R]) decodeOnOwnStack(data []byte) (message R, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		message, err = c.decode(data)
	}()
	<-done
	return message, err
}

func (c *Conn[S, R]) deliverMessage(message R) bool {
	select {
	case c.inbox <- message:
		c.notifyArrival()
		return true
	default:
	}
	c.stalled.Store(true)
	defer c.stalled.Store(false)
	select {
	case c.inbox <- message:
		c.notifyArrival()
		return true
	case <-time.After(deliverTimeout):
		c.closeInBackground(&CloseError{Code: CodeSlow, Reason: "messages are not taken in time"})
		return false
	case <-c.ctx.Done():
		return false
	}
}

// closeInBackground is closeWithReason for callers that run on a goroutine of the session itself:
// they cannot wait for the close handshake, which needs them to run.
func (c *Conn[S, R]) closeInBackground(why *CloseError) {
	c.startTask(func() { c.closeWithReason(why) })
}

func (c *Conn[S, R]) readFailed(err error) {
	var closed websocket.CloseError
	switch {
	case errors.As(err, &closed):
		c.dropConn(&CloseError{Code: Code(closed.Code), Reason: closed.Reason, ByPeer: true})
	case errors.Is(err, websocket.ErrMessageTooBig):
		c.dropConn(&CloseError{Code: CodeTooBig,
			Reason: fmt.Sprintf("message over the limit of %d bytes", MaxMessage)})
	default:
		c.dropConn(fmt.Errorf("session lost: %w", err))
	}
}

// writeOne has its own deadline: an interrupted write breaks the connection, so a caller
// that cancels its context must not interrupt it.
func (c *Conn[S, R]) writeOne(data []byte) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.ctx), writeTimeout)
	defer cancel()
	err := c.ws.Write(ctx, websocket.MessageText, data)
	if err == nil {
		return nil
	}
	if errors.Is(err, context.DeadlineExceeded) {
		c.dropConn(&CloseError{Code: CodeSlow, Reason: "the far end does not read"})
	} else {
		c.dropConn(fmt.Errorf("session lost: %w", err))
	}
	return fmt.Errorf("send: %w", err)
}

// countingConn counts what is read from a connection we did not make.
type countingConn struct {
	net.Conn
	received receipt
}

func (c *countingConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.received.record(n)
	return n, err
}
