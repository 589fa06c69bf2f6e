package wire

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/nullops/nullops/internal/idleconn"
)

// socket carries whole messages. *websocket.Conn is one.
type socket interface {
	Read(ctx context.Context) (websocket.MessageType, []byte, error)
	Write(ctx context.Context, kind websocket.MessageType, data []byte) error
	// Close says goodbye and waits for the far end's, CloseNow does not.
	Close(code websocket.StatusCode, reason string) error
	CloseNow() error
}

const (
	// controlTimeout bounds an answer to a ping or a goodbye, and the wait for one.
	controlTimeout = 5 * time.Second
	// maxReadChunk is what a frame gets before it has arrived, in bytes, whatever
	// length it announces.
	maxReadChunk = 16 << 10
)

// idleWebSocket is the control plane's end of a WebSocket (RFC 6455). It holds neither
// buffers nor a deep stack between messages, since there are thousands of idle sessions;
// the library keeps two buffers of 4 KiB for each, in addition to those of TLS.
type idleWebSocket struct {
	conn net.Conn
	// idle waits for data without a pending read; nil if the connection does not support that.
	idle *idleconn.Conn
	// reading is a lock for the one reader, which also owns head; over is set once the peer has
	// sent a close frame.
	reading chan struct{}
	head    [8]byte
	over    bool
	// result is where deepStacks puts what was read.
	result chan readResult
	// writing is a lock for the one active writer; said is set after we have sent a close frame.
	writing chan struct{}
	said    bool
	hangUp  func()
}

var (
	_ socket = (*idleWebSocket)(nil)
	_ socket = (*websocket.Conn)(nil)
)

func newIdleWebSocket(conn net.Conn, under *idleconn.Conn) *idleWebSocket {
	return &idleWebSocket{conn: conn, idle: under, reading: make(chan struct{}, 1),
		result: make(chan readResult, 1), writing: make(chan struct{}, 1),
		hangUp: sync.OnceFunc(func() { _ = conn.Close() })}
}

// Read returns the next message. It blocks on a small stack: decoding, which needs a large
// one, runs on another goroutine, see deepStacks. CloseNow unblocks it.
func (s *idleWebSocket) Read(ctx context.Context) (websocket.MessageType, []byte, error) {
	select {
	case s.reading <- struct{}{}:
	case <-ctx.Done():
		return 0, nil, context.Cause(ctx)
	}
	defer func() { <-s.reading }()
	for {
		m := readers.read(s)
		if !errors.Is(m.err, idleconn.ErrNotYet) {
			return m.kind, m.data, m.err
		}
		if err := s.idle.Wait(); err != nil {
			return 0, nil, err
		}
	}
}

// readResult is what a reader gets.
type readResult struct {
	kind websocket.MessageType
	data []byte
	err  error
}

// readMessage joins frames to a message. It returns idleconn.ErrNotYet only between messages.
func (s *idleWebSocket) readMessage() (m readResult) {
	for {
		f, err := s.readHeader(m.kind == 0)
		if err == nil && f.isControl() {
			if err = s.handleControl(f); err == nil {
				continue
			}
		}
		if err == nil {
			err = s.appendFrame(&m, f)
		}
		if err != nil {
			return readResult{err: err}
		}
		if f.fin {
			return m
		}
	}
}

func (s *idleWebSocket) appendFrame(m *readResult, f frame) error {
	if (f.op == opContinuation) != (m.kind != 0) {
		return s.rejectFrame(websocket.StatusProtocolError, errors.New("a frame is out of order"))
	}
	if f.length > uint64(MaxMessage-len(m.data)) {
		return s.rejectFrame(websocket.StatusMessageTooBig, websocket.ErrMessageTooBig)
	}
	if m.kind == 0 {
		m.kind = websocket.MessageType(f.op)
	}
	for rest := int(f.length); rest > 0; {
		n := min(rest, maxReadChunk)
		m.data = slices.Grow(m.data, n)
		got, err := io.ReadFull(s.conn, m.data[len(m.data):len(m.data)+n])
		m.data, rest = m.data[:len(m.data)+got], rest-got
		if err != nil {
			return fmt.Errorf("read a frame: %w", err)
		}
	}
	return nil
}

// handleControl answers a ping and a close frame.
func (s *idleWebSocket) handleControl(f frame) error {
	text := make([]byte, f.length)
	if _, err := io.ReadFull(s.conn, text); err != nil {
		return fmt.Errorf("read a control frame: %w", err)
	}
	switch f.op {
	case opPing:
		return s.answerControl(opPong, text)
	case opPong:
		return nil // a byte that arrived, as any other
	}
	s.over = true
	// Whether our answer arrives changes nothing.
	_ = s.answerControl(opClose, text)
	if len(text) < 2 {
		return websocket.CloseError{Code: websocket.StatusNoStatusRcvd}
	}
	return websocket.CloseError{Code: websocket.StatusCode(binary.BigEndian.Uint16(text)),
		Reason: string(text[2:])}
}

// rejectFrame sends a close frame that says what the peer did wrong.
func (s *idleWebSocket) rejectFrame(code websocket.StatusCode, why error) error {
	_ = s.answerControl(opClose, closePayload(code, why.Error()))
	return why
}

// answerControl sends a control frame from the reader. It makes no context, since pings are many: a
// peer that does not take the frame within controlTimeout is hung up on.
func (s *idleWebSocket) answerControl(op opcode, payload []byte) error {
	late := time.AfterFunc(controlTimeout, s.hangUp)
	defer late.Stop()
	s.writing <- struct{}{} // a writer before us ends at the latest when we hang up
	defer func() { <-s.writing }()
	return s.writeFrame(op, payload)
}

// Write sends a message in one frame. If the context ends in the middle, the connection is
// closed: the peer cannot use half a frame.
func (s *idleWebSocket) Write(ctx context.Context, kind websocket.MessageType, data []byte) error {
	return s.sendFrame(ctx, opcode(kind), data)
}

func (s *idleWebSocket) sendFrame(ctx context.Context, op opcode, payload []byte) error {
	select {
	case s.writing <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-s.writing }()
	stop := context.AfterFunc(ctx, s.hangUp)
	defer stop()
	err := s.writeFrame(op, payload)
	if err != nil && ctx.Err() != nil {
		err = ctx.Err()
	}
	return err
}

// writeFrame needs the lock for writing.
func (s *idleWebSocket) writeFrame(op opcode, payload []byte) error {
	if s.said {
		return net.ErrClosed
	}
	s.said = op == opClose
	_, err := s.conn.Write(encodeMaskedFrame(op, payload))
	return err
}

// sendPing sends a ping, and does not wait for its answer.
func (s *idleWebSocket) sendPing() error { return s.answerControl(opPing, nil) }

// Close sends a close frame and waits for the peer's. Messages that arrive meanwhile are
// discarded.
func (s *idleWebSocket) Close(code websocket.StatusCode, reason string) error {
	ctx, cancel := context.WithTimeout(context.Background(), controlTimeout)
	defer cancel()
	if s.sendFrame(ctx, opClose, closePayload(code, reason)) == nil {
		s.awaitClose(ctx)
	}
	return s.CloseNow()
}

// awaitClose reads until the peer has sent its close frame. A reader that is already active
// goes first.
func (s *idleWebSocket) awaitClose(ctx context.Context) {
	stop := context.AfterFunc(ctx, s.hangUp)
	defer stop()
	for {
		select {
		case s.reading <- struct{}{}:
		case <-ctx.Done():
			return
		}
		over := s.over
		<-s.reading
		if over {
			return
		}
		if _, _, err := s.Read(ctx); err != nil {
			return
		}
	}
}

// CloseNow hangs up.
func (s *idleWebSocket) CloseNow() error {
	s.hangUp()
	return nil
}
