package agent

import (
	"bytes"
	"errors"
	"strings"
	"sync"
	"unicode/utf8"
)

const (
	// MaxLogLine is the longest line of a plugin that is passed on; a longer one is cut into several.
	MaxLogLine = 16 << 10
	// maxPluginLog limits one plugin's log, in bytes. The rest is read, counted and dropped, so that
	// the plugin does not block.
	maxPluginLog = 10 << 20
	// defaultStdout applies if the specification has no limit.
	defaultStdout = 1 << 20
)

// ErrStdoutLimit is the answer to a write beyond the limit of a plugin's stdout.
var ErrStdoutLimit = errors.New("too much on stdout")

// PluginOutput takes a plugin's two streams for a Runtime, each from a goroutine of its own: stdout
// whole up to a limit, stderr as lines.
type PluginOutput struct {
	limit int64
	full  chan struct{}
	once  sync.Once
	mu    sync.Mutex
	out   bytes.Buffer

	// line takes whole lines, or the end of one; piece takes what comes before.
	line, piece func(string)
	pending     []byte
	lines       int64
	bytes       int64
	dropped     int64
}

// NewPluginOutput takes the streams of one plugin and passes lines on.
func NewPluginOutput(p PluginSpec, line func(string)) *PluginOutput {
	o := &PluginOutput{limit: p.StdoutLimit, full: make(chan struct{}), line: line, piece: line}
	if o.limit <= 0 {
		o.limit = defaultStdout
	}
	if p.Pieces != nil {
		o.piece = p.Pieces.TakePiece
	}
	return o
}

// Full is closed once there is more on stdout than allowed.
func (o *PluginOutput) Full() <-chan struct{} { return o.full }

// Result is complete after both streams have ended, and were flushed.
func (o *PluginOutput) Result() PluginResult {
	o.mu.Lock()
	defer o.mu.Unlock()
	return PluginResult{Stdout: bytes.Clone(o.out.Bytes()), Lines: o.lines, Bytes: o.bytes,
		Dropped: o.dropped}
}

// Stdout takes the plugin's stdout. Beyond the limit it refuses, and keeps nothing.
func (o *PluginOutput) Stdout() WriterFunc { return o.writeStdout }

// Stderr takes the plugin's stderr.
func (o *PluginOutput) Stderr() WriterFunc { return o.writeStderr }

// WriterFunc is an io.Writer.
type WriterFunc func([]byte) (int, error)

// Write implements io.Writer.
func (f WriterFunc) Write(p []byte) (int, error) { return f(p) }

func (o *PluginOutput) writeStdout(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if int64(o.out.Len()+len(p)) > o.limit {
		o.once.Do(func() { close(o.full) })
		return 0, ErrStdoutLimit
	}
	return o.out.Write(p)
}

func (o *PluginOutput) writeStderr(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.bytes += int64(len(p))
	for rest := p; len(rest) > 0; {
		chunk, after, ended := bytes.Cut(rest, []byte("\n"))
		if room := MaxLogLine - len(o.pending); len(chunk) > room {
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
func (o *PluginOutput) passPiece() {
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

// Flush passes on a last line without an end. Its rest may be missing, as when the plugin was
// killed.
func (o *PluginOutput) Flush() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.pending) > 0 {
		o.passLine(bytes.TrimSuffix(o.pending, []byte("\r")), o.piece)
		o.pending = nil
	}
}

// passLine passes on a line, or a piece of one, as valid text. NUL is valid text too, but no
// database takes it.
func (o *PluginOutput) passLine(raw []byte, pass func(string)) {
	o.lines++
	if o.bytes > maxPluginLog {
		o.dropped++
		return
	}
	text := strings.ToValidUTF8(string(raw), "\uFFFD")
	pass(strings.ReplaceAll(text, "\x00", "\uFFFD"))
}
