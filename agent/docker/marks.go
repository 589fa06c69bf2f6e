package docker

import (
	"bytes"
	"io"
	"sync"

	"github.com/nullops/nullops/agent/sidecar"
)

// marks finds what the helper in a sandbox writes between and after the plugin's own output, and
// keeps it out of that. It is used by the goroutine that reads both streams; began and ended are
// for others.
type marks struct {
	nonce []byte
	// ended is closed when both streams came to their end mark: nothing of the plugin runs, and all
	// that it wrote has been read.
	ended chan struct{}

	mu    sync.Mutex
	began bool
	end   endMark
	open  int
}

// endMark is how the helper says that a plugin ended.
type endMark struct {
	code int
	// mayBeOOM: the kernel killed something in the container for lack of memory, or may have.
	mayBeOOM bool
}

func newMarks(nonce []byte) *marks {
	return &marks{nonce: nonce, ended: make(chan struct{}), open: 2}
}

// hasBegun reports whether the plugin may have begun.
func (m *marks) hasBegun() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.began
}

// endMark returns false before both streams have ended.
func (m *marks) endMark() (endMark, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.end, m.open == 0
}

func (m *marks) record(kind, code byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if kind == sidecar.MarkStarted {
		m.began = true
		return
	}
	m.end = endMark{code: int(code), mayBeOOM: kind == sidecar.MarkKilled}
	if m.open--; m.open == 0 {
		close(m.ended)
	}
}

// markedStream is one of the two streams.
type markedStream struct {
	marks *marks
	next  io.Writer
	// held is the beginning of what may be a mark.
	held []byte
	over bool
}

// splitMarks passes on what is the plugin's.
func (m *marks) splitMarks(next io.Writer) *markedStream {
	return &markedStream{marks: m, next: next}
}

func (s *markedStream) Write(p []byte) (int, error) {
	data := p
	if len(s.held) > 0 {
		data = append(s.held, p...)
		s.held = nil
	}
	for !s.over {
		at := bytes.Index(data, s.marks.nonce)
		if at < 0 {
			keep := beginningOf(data, s.marks.nonce)
			s.held = bytes.Clone(data[len(data)-keep:])
			return len(p), s.pass(data[:len(data)-keep])
		}
		if err := s.pass(data[:at]); err != nil {
			return 0, err
		}
		if data = data[at:]; len(data) < sidecar.SandboxMark {
			s.held = bytes.Clone(data)
			return len(p), nil
		}
		kind, code := data[sidecar.SandboxNonce], data[sidecar.SandboxNonce+1]
		data = data[sidecar.SandboxMark:]
		s.over = kind != sidecar.MarkStarted
		s.marks.record(kind, code)
	}
	return len(p), nil
}

func (s *markedStream) pass(data []byte) error {
	if len(data) == 0 {
		return nil
	}
	_, err := s.next.Write(data)
	return err
}

// flush passes on what looked like a mark and was none.
func (s *markedStream) flush() { _ = s.pass(s.held) }

// beginningOf returns how many bytes at the end of data are the beginning of mark.
func beginningOf(data, mark []byte) int {
	n := min(len(data), len(mark)-1)
	for ; n > 0; n-- {
		if bytes.HasSuffix(data, mark[:n]) {
			return n
		}
	}
	return 0
}
