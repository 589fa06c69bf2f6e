package wire

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"github.com/nullops/nullops/lull"
)

// socket carries whole messages. *websocket.Conn is one.
type socket interface {
	Read(ctx context.Context) (websocket.MessageType, []byte, error)
	Write(ctx context.Context, kind websocket.MessageType, data []byte) error
	// Ping returns when the far end has answered.
	Ping(ctx context.Context) error
	// Close says goodbye and waits for the far end's, CloseNow does not.
	Close(code websocket.StatusCode, reason string) error
	CloseNow() error
}

const (
	// answerWithin bounds an answer to a ping or a goodbye, and the wait for one.
	answerWithin = 5 * time.Second
	// readAtOnce is what a frame gets before it has arrived, in bytes, whatever
	// length it announces.
	readAtOnce = 16 << 10
)

// idleWebSocket is the control plane's end of a WebSocket (RFC 6455). It holds neither
// buffers nor a deep stack between messages, since there are thousands of idle sessions;
// the library keeps two buffers of 4 KiB for each, in addition to those of TLS.
type slim struct {
	conn net.Conn
	// lull waits for data without a pending read; nil if the connection does not support that.
	lull *lull.Conn
	// reading is a lock for the one reader, which also owns head; over is set once the peer has
	// sent a close frame.
	reading chan struct{}
	head    [8]byte
	over    bool
	// writing is a lock for the one active writer; said is set once we have sent a close frame.
	writing chan struct{}
	said    bool
	pings   atomic.Int64
	awaited atomic.Pointer[pong]
	hangUp  func()
}

// pong is an answer that is waited for.
type pong struct {
	text  string
	heard chan struct{}
}

var (
	_ socket = (*slim)(nil)
	_ socket = (*websocket.Conn)(nil)
)

func newSlim(conn net.Conn, under *lull.Conn) *slim {
	return &slim{conn: conn, lull: under, reading: make(chan struct{}, 1),
		writing: make(chan struct{}, 1), hangUp: sync.OnceFunc(func() { _ = conn.Close() })}
}

// Read returns the next message. It blocks on a small stack: decoding, which needs a large
// one, runs on another goroutine. CloseNow unblocks it.
func (s *slim) Read(ctx context.Context) (websocket.MessageType, []byte, error) {
	select {
	case s.reading <- struct{}{}:
	case <-ctx.Done():
		return 0, nil, context.Cause(ctx)
	}
	defer func() { <-s.reading }()
	for {
		m := s.aside()
		if !errors.Is(m.err, lull.ErrNotYet) {
			return m.kind, m.data, m.err
		}
		if err := s.lull.Wait(); err != nil {
			return 0, nil, err
		}
	}
}

// message is what a reader gets.
type message struct {
	kind websocket.MessageType
	data []byte
	err  error
}

func (s *slim) aside() message {
	done := make(chan message, 1)
	go func() { done <- s.message() }()
	return <-done
}

// readMessage joins frames to a message. It returns lull.ErrNotYet only between messages.
func (s *slim) message() (m message) {
	for {
		f, err := s.header(m.kind == 0)
		if err == nil && f.control() {
			if err = s.obey(f); err == nil {
				continue
			}
		}
		if err == nil {
			err = s.add(&m, f)
		}
		if err != nil {
			return message{err: err}
		}
		if f.fin {
			return m
		}
	}
}

func (s *slim) add(m *message, f frame) error {
	if (f.op == opContinuation) != (m.kind != 0) {
		return s.refuse(websocket.StatusProtocolError, errors.New("a frame is out of order"))
	}
	if f.length > uint64(MaxMessage-len(m.data)) {
		return s.refuse(websocket.StatusMessageTooBig, websocket.ErrMessageTooBig)
	}
	if m.kind == 0 {
		m.kind = websocket.MessageType(f.op)
	}
	for rest := int(f.length); rest > 0; {
		n := min(rest, readAtOnce)
		m.data = slices.Grow(m.data, n)
		got, err := io.ReadFull(s.conn, m.data[len(m.data):len(m.data)+n])
		m.data, rest = m.data[:len(m.data)+got], rest-got
		if err != nil {
			return fmt.Errorf("read a frame: %w", err)
		}
	}
	return nil
}

// handleControl answers a ping, matches a pong with its ping, and answers a close frame.
func (s *slim) obey(f frame) error {
	var room [maxControl]byte
	text := room[:f.length]
	if _, err := io.ReadFull(s.conn, text); err != nil {
		return fmt.Errorf("read a control frame: %w", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), answerWithin)
	defer cancel()
	switch f.op {
	case opPing:
		return s.write(ctx, opPong, text)
	case opPong:
		s.heard(string(text))
		return nil
	}
	s.over = true
	// Whether our answer arrives changes nothing.
	_ = s.write(ctx, opClose, text)
	if len(text) < 2 {
		return websocket.CloseError{Code: websocket.StatusNoStatusRcvd}
	}
	return websocket.CloseError{Code: websocket.StatusCode(binary.BigEndian.Uint16(text)),
		Reason: string(text[2:])}
}

func (s *slim) heard(text string) {
	p := s.awaited.Load()
	if p != nil && p.text == text && s.awaited.CompareAndSwap(p, nil) {
		close(p.heard)
	}
}

// rejectFrame sends a close frame that says what the peer did wrong.
func (s *slim) refuse(code websocket.StatusCode, why error) error {
	ctx, cancel := context.WithTimeout(context.Background(), answerWithin)
	defer cancel()
	_ = s.write(ctx, opClose, farewell(code, why.Error()))
	return why
}

// Write sends a message in one frame. If the context ends in the middle, the connection is
// closed: the peer cannot use half a frame.
func (s *slim) Write(ctx context.Context, kind websocket.MessageType, data []byte) error {
	return s.write(ctx, opcode(kind), data)
}

func (s *slim) write(ctx context.Context, op opcode, payload []byte) error {
	select {
	case s.writing <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-s.writing }()
	if s.said {
		return net.ErrClosed
	}
	s.said = op == opClose
	stop := context.AfterFunc(ctx, s.hangUp)
	defer stop()
	_, err := s.conn.Write(masked(op, payload))
	if err != nil && ctx.Err() != nil {
		err = ctx.Err()
	}
	return err
}

// Ping returns when the far end has answered. One at a time is answered.
func (s *slim) Ping(ctx context.Context) error {
	p := &pong{strconv.FormatInt(s.pings.Add(1), 10), make(chan struct{})}
	s.awaited.Store(p)
	if err := s.write(ctx, opPing, []byte(p.text)); err != nil {
		return err
	}
	select {
	case <-p.heard:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close sends a close frame and waits for the peer's. Messages that arrive meanwhile are
// discarded.
func (s *slim) Close(code websocket.StatusCode, reason string) error {
	ctx, cancel := context.WithTimeout(context.Background(), answerWithin)
	defer cancel()
	if s.write(ctx, opClose, farewell(code, reason)) == nil {
		s.await(ctx)
	}
	return s.CloseNow()
}

// awaitClose reads until the peer has sent its close frame. A reader that is already active
// goes first.
func (s *slim) await(ctx context.Context) {
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
func (s *slim) CloseNow() error {
	s.hangUp()
	return nil
}
