package wire

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// maxFrame bounds, in bytes, what an unproven peer can make us hold.
const maxFrame = 4096

var errFrame = errors.New("malformed proof frame")

// writeFrame sends a four-byte length and that much JSON, in one write.
func writeFrame(w io.Writer, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode proof frame: %w", err)
	}
	if len(body) > maxFrame {
		return fmt.Errorf("%w: %d bytes are too many", errFrame, len(body))
	}
	frame := binary.BigEndian.AppendUint32(make([]byte, 0, 4+len(body)), uint32(len(body)))
	_, err = w.Write(append(frame, body...))
	return err
}

// readFrame reads exactly one frame from r: the bytes after it belong to another reader, so r must
// not be buffered.
func readFrame(r io.Reader, v any) error {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return err
	}
	n := binary.BigEndian.Uint32(head[:])
	if n > maxFrame {
		return fmt.Errorf("%w: its length is %d", errFrame, n)
	}
	body := make([]byte, n)
	if _, err := io.ReadFull(r, body); err != nil {
		return err
	}
	return decodeFrame(body, v)
}

// decodeFrame accepts only the one spelling writeFrame would produce. JSON and
// base64 have many spellings of one value, and each extra one is a byte that
// could be changed on the way without the proof noticing.
func decodeFrame(body []byte, v any) error {
	if err := json.Unmarshal(body, v); err != nil {
		return fmt.Errorf("%w: not the expected JSON", errFrame)
	}
	again, err := json.Marshal(v)
	if err != nil || !bytes.Equal(again, body) {
		return fmt.Errorf("%w: not in canonical form", errFrame)
	}
	return nil
}
