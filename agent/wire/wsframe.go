package wire

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/coder/websocket"
)

// opcode says what a WebSocket frame is.
type opcode byte

const (
	opContinuation opcode = 0
	opClose        opcode = 8
	opPing         opcode = 9
	opPong         opcode = 10
	// maxControl is the longest control frame, in bytes.
	maxControl = 125
)

// frame is the head of one that arrived.
type frame struct {
	op     opcode
	fin    bool
	length uint64
}

func (f frame) isControl() bool { return f.op >= opClose }

func (f frame) validate(first, second byte) error {
	known := f.op <= opcode(websocket.MessageBinary) || f.op >= opClose && f.op <= opPong
	switch {
	case first&0x70 != 0, second&0x80 != 0, !known:
		return errors.New("a frame of a kind that was not agreed on")
	case f.isControl() && (!f.fin || f.length > maxControl):
		return errors.New("a control frame that is too long or in pieces")
	}
	return nil
}

// readHeader reads the header of the next frame. Between messages it may return
// idleconn.ErrNotYet instead of blocking.
func (s *idleWebSocket) readHeader(between bool) (f frame, err error) {
	head := s.head[:2]
	if err = s.readHeadStart(head, between); err != nil {
		return f, err
	}
	first, second := head[0], head[1]
	f = frame{op: opcode(first & 0xf), fin: first&0x80 != 0, length: uint64(second & 0x7f)}
	if err := f.validate(first, second); err != nil {
		return f, s.rejectFrame(websocket.StatusProtocolError, err)
	}
	switch f.length {
	case 126:
		_, err = io.ReadFull(s.conn, s.head[:2])
		f.length = uint64(binary.BigEndian.Uint16(s.head[:]))
	case 127:
		_, err = io.ReadFull(s.conn, s.head[:8])
		f.length = binary.BigEndian.Uint64(s.head[:])
	}
	if err != nil {
		return f, fmt.Errorf("read a frame's head: %w", err)
	}
	return f, nil
}

// readHeadStart reads the first two bytes of a frame.
func (s *idleWebSocket) readHeadStart(head []byte, between bool) (err error) {
	n := 0
	if between && s.idle != nil {
		n, err = s.idle.ReadWithoutBlocking(s.conn.Read, head)
		if n == 0 && err != nil {
			return err
		}
	}
	_, err = io.ReadFull(s.conn, head[n:])
	return err
}

// encodeMaskedFrame returns a complete frame, masked as RFC 6455 requires of clients.
func encodeMaskedFrame(op opcode, payload []byte) []byte {
	f := make([]byte, 0, 14+len(payload))
	f = append(f, 0x80|byte(op))
	switch n := len(payload); {
	case n <= maxControl:
		f = append(f, 0x80|byte(n))
	case n < 1<<16:
		f = binary.BigEndian.AppendUint16(append(f, 0x80|126), uint16(n))
	default:
		f = binary.BigEndian.AppendUint64(append(f, 0x80|127), uint64(n))
	}
	var key [4]byte
	if len(payload) > 0 {
		// It never fails, see its documentation.
		_, _ = rand.Read(key[:])
	}
	f = append(append(f, key[:]...), payload...)
	for i := range payload {
		f[len(f)-len(payload)+i] ^= key[i%4]
	}
	return f
}

// closePayload is the payload of a close frame.
func closePayload(code websocket.StatusCode, reason string) []byte {
	return append(binary.BigEndian.AppendUint16(nil, uint16(code)),
		reason[:min(len(reason), maxReason)]...)
}
