package sidecar

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
)

// Frame is one message between a person's end of a command inside a service and
// the inside role: one byte that says what it is, four bytes of length, content.
type Frame struct {
	Kind FrameKind
	Data []byte
}

// FrameKind says what a frame is.
type FrameKind byte

// Frames that the person's end sends.
const (
	// FrameStart is the first frame, a Start as JSON.
	FrameStart FrameKind = 's'
	// FrameInput is for the command's standard input, FrameEnd its end. The same
	// two carry a file that is written.
	FrameInput FrameKind = 'd'
	FrameEnd   FrameKind = 'e'
	// FrameWindow is a Window as JSON.
	FrameWindow FrameKind = 'w'
	// FramePing shows that the client is still connected.
	FramePing FrameKind = 'p'
	// FrameRenew returns the content of a FrameStamp.
	FrameRenew FrameKind = 'n'
)

// Frames that the inside role sends, and that which runs a plugin.
const (
	// FrameHello is its first frame.
	FrameHello FrameKind = 'h'
	// FrameOutput and FrameErrors are what the command writes. FrameOutput is also a file's
	// content, after a FrameFile with a File as JSON.
	FrameOutput FrameKind = 'o'
	FrameErrors FrameKind = 'r'
	FrameFile   FrameKind = 'i'
	// FrameStamp is a reading of the clock of the helper that runs a plugin.
	FrameStamp FrameKind = 't'
	// FrameExit is the last one, an Exit as JSON.
	FrameExit FrameKind = 'x'
)

// Start says what to do inside the service: run a command, read a file or write
// one. Exactly one of Command, Read and Write is set.
type Start struct {
	Command []string `json:"command,omitempty"`
	// TTY runs the command in a terminal of the size in Window.
	TTY    bool   `json:"tty,omitempty"`
	Window Window `json:"window,omitzero"`
	// Read and Write are absolute paths.
	Read  string `json:"read,omitempty"`
	Write string `json:"write,omitempty"`
	// Name is the file's name when Write is a folder; Mode its permissions.
	Name string `json:"name,omitempty"`
	Mode uint32 `json:"mode,omitempty"`
	// Most bounds a file, in bytes.
	Most int64 `json:"most,omitempty"`
}

// Window is a terminal's size in characters.
type Window struct {
	Cols uint16 `json:"cols"`
	Rows uint16 `json:"rows"`
}

// File is what is known of a file before its content.
type File struct {
	Name string `json:"name"`
	Size int64  `json:"size"`
	Mode uint32 `json:"mode"`
}

// Exit is how it ended. Message is set when it could not be done at all.
type Exit struct {
	Code    int    `json:"code"`
	Message string `json:"message,omitempty"`
}

// MaxFrame bounds a frame's content.
const MaxFrame = 64 << 10

// ErrFrame means that the other end does not speak in frames.
var ErrFrame = errors.New("not a frame")

// ReadFrame reads one frame.
func ReadFrame(r io.Reader) (Frame, error) {
	var head [5]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return Frame{}, err
	}
	n := binary.BigEndian.Uint32(head[1:])
	if n > MaxFrame {
		return Frame{}, fmt.Errorf("%w: %d bytes announced", ErrFrame, n)
	}
	f := Frame{Kind: FrameKind(head[0]), Data: make([]byte, n)}
	_, err := io.ReadFull(r, f.Data)
	return f, err
}

// FrameWriter writes frames, each whole, from several goroutines.
type FrameWriter struct {
	mu sync.Mutex
	to io.Writer
}

// NewFrameWriter writes frames to w.
func NewFrameWriter(w io.Writer) *FrameWriter { return &FrameWriter{to: w} }

// Write writes one frame.
func (w *FrameWriter) Write(kind FrameKind, data []byte) error {
	frame := make([]byte, 5, 5+len(data))
	frame[0] = byte(kind)
	binary.BigEndian.PutUint32(frame[1:], uint32(len(data)))
	w.mu.Lock()
	defer w.mu.Unlock()
	_, err := w.to.Write(append(frame, data...))
	return err
}

// JSON writes a frame that carries a value.
func (w *FrameWriter) JSON(kind FrameKind, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return w.Write(kind, data)
}

// frameStream writes everything as frames of one kind.
type frameStream struct {
	to   *FrameWriter
	kind FrameKind
}

func (s frameStream) Write(p []byte) (int, error) {
	for n := 0; n < len(p); n += MaxFrame {
		if err := s.to.Write(s.kind, p[n:min(n+MaxFrame, len(p))]); err != nil {
			return n, err
		}
	}
	return len(p), nil
}
