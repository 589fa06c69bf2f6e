package kubernetes

import (
	"bytes"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/nullops/nullops/agent"
)

// The limits of a plugin's output, as on Docker.
const (
	// defaultStdout applies if the specification has no limit.
	defaultStdout = 1 << 20
	// maxLine is the longest line passed on; a longer one is cut into several.
	maxLine = 16 << 10
	// maxStderr limits one plugin's log, in bytes. The rest is counted and dropped.
	maxStderr = 10 << 20
)

// pluginOutput takes a plugin's two streams, each from a goroutine of its own: stdout whole up to a
// limit, stderr as lines.
type pluginOutput struct {
	limit int64
	// overflow is closed when there is more on stdout than allowed.
	overflow chan struct{}
	once     sync.Once
	mu       sync.Mutex
	stdout   bytes.Buffer

	line, piece func(string)
	pending     []byte
	lines       int64
	bytes       int64
	dropped     int64
}

func newPluginOutput(p agent.PluginSpec, line func(string)) *pluginOutput {
	o := &pluginOutput{limit: p.StdoutLimit, overflow: make(chan struct{}), line: line, piece: line}
	if o.limit <= 0 {
		o.limit = defaultStdout
	}
	if p.Pieces != nil {
		o.piece = p.Pieces.TakePiece
	}
	return o
}

// result is complete after both streams have ended.
func (o *pluginOutput) result() agent.PluginResult {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.pending) > 0 {
		o.passLine(bytes.TrimSuffix(o.pending, []byte("\r")), o.piece)
		o.pending = nil
	}
	return agent.PluginResult{Stdout: bytes.Clone(o.stdout.Bytes()), Lines: o.lines, Bytes: o.bytes,
		Dropped: o.dropped}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// writeStdout swallows what is beyond the limit, until the plugin has been killed for it.
func (o *pluginOutput) writeStdout(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if int64(o.stdout.Len()+len(p)) > o.limit {
		o.once.Do(func() { close(o.overflow) })
		return len(p), nil
	}
	return o.stdout.Write(p)
}

func (o *pluginOutput) writeStderr(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.bytes += int64(len(p))
	for rest := p; len(rest) > 0; {
		chunk, after, ended := bytes.Cut(rest, []byte("\n"))
		if room := maxLine - len(o.pending); len(chunk) > room {
			o.pending = append(o.pending, chunk[:room]...)
			rest = rest[room:]
			o.passPiece()
			continue
		}
		o.pending = append(o.pending, chunk...)
		rest = after
		if ended {
			o.passLine(bytes.TrimSuffix(o.pending, []byte("\r")), o.line)
			o.pending = o.pending[:0]
		}
	}
	return len(p), nil
}

// passPiece passes on a full buffer, but not half of a character.
func (o *pluginOutput) passPiece() {
	border := len(o.pending)
	for i := border - 1; i > border-utf8.UTFMax; i-- {
		if utf8.RuneStart(o.pending[i]) {
			if !utf8.FullRune(o.pending[i:]) {
				border = i
			}
			break
		}
	}
	rest := bytes.Clone(o.pending[border:])
	o.passLine(o.pending[:border], o.piece)
	o.pending = append(o.pending[:0], rest...)
}

// passLine passes on a line, or a piece of one, as valid text. NUL is valid text too, but no
// database takes it.
func (o *pluginOutput) passLine(raw []byte, pass func(string)) {
	o.lines++
	if o.bytes > maxStderr {
		o.dropped++
		return
	}
	text := strings.ToValidUTF8(string(raw), "\uFFFD")
	pass(strings.ReplaceAll(text, "\x00", "\uFFFD"))
}
