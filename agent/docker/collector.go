package docker

import (
	"bytes"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/nullops/nullops/agent"
)

const (
	// maxLine is the longest line passed on; a longer one is cut into several.
	maxLine = 16 << 10
	// maxStderr limits one plugin's log, in bytes. The rest is read, counted and dropped, so that
	// the plugin does not block.
	maxStderr = 10 << 20
)

// collector takes a plugin's two streams: stdout whole up to a limit, stderr
// as lines. Both sides are used by one goroutine; only overflow is read by
// another.
type collector struct {
	limit    int64
	out      bytes.Buffer
	overflow chan error

	// line takes whole lines, or the end of one; piece takes what comes before.
	line    func(string)
	piece   func(string)
	pending []byte
	lines   int64
	bytes   int64
	dropped int64
}

func newCollector(limit int64, line func(string)) *collector {
	if limit <= 0 {
		limit = defaultStdout
	}
	return &collector{limit: limit, overflow: make(chan error, 1), line: line, piece: line}
}

// pluginResult is complete after the streams have ended.
func (c *collector) pluginResult() agent.PluginResult {
	return agent.PluginResult{
		Stdout: c.out.Bytes(), Lines: c.lines, Bytes: c.bytes, Dropped: c.dropped,
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// stdoutWriter stops the reading of both streams at the limit: the plugin then blocks until
// it is killed, and our memory use stays bounded.
func (c *collector) stdoutWriter() io.Writer {
	return writerFunc(func(p []byte) (int, error) {
		if int64(c.out.Len()+len(p)) > c.limit {
			c.overflow <- errOverflow
			return 0, errOverflow
		}
		return c.out.Write(p)
	})
}

func (c *collector) stderrWriter() io.Writer {
	return writerFunc(func(p []byte) (int, error) {
		c.bytes += int64(len(p))
		c.splitLines(p)
		return len(p), nil
	})
}

func (c *collector) splitLines(p []byte) {
	for len(p) > 0 {
		end := bytes.IndexByte(p, '\n')
		chunk := p
		if end >= 0 {
			chunk = p[:end]
		}
		if room := maxLine - len(c.pending); len(chunk) > room {
			c.pending = append(c.pending, chunk[:room]...)
			p = p[room:]
			c.emitPiece()
			continue
		}
		c.pending = append(c.pending, chunk...)
		p = p[len(chunk):]
		if end >= 0 {
			p = p[1:]
			c.passLine(bytes.TrimSuffix(c.pending, []byte("\r")), c.line)
			c.pending = c.pending[:0]
		}
	}
}

// emitPiece passes on a full buffer, but not half of a character.
func (c *collector) emitPiece() {
	keep := 0
	for keep < utf8.UTFMax && !utf8.RuneStart(c.pending[len(c.pending)-1-keep]) {
		keep++
	}
	border := len(c.pending) - 1 - keep
	if r, size := utf8.DecodeRune(c.pending[border:]); r != utf8.RuneError || size != 1 {
		border = len(c.pending)
	}
	rest := bytes.Clone(c.pending[border:])
	c.passLine(c.pending[:border], c.piece)
	c.pending = append(c.pending[:0], rest...)
}

// flush passes on a last line without an end. Its rest may be missing, as when the
// plugin was killed.
func (c *collector) flush() {
	if len(c.pending) > 0 {
		c.passLine(bytes.TrimSuffix(c.pending, []byte("\r")), c.piece)
		c.pending = nil
	}
}

// passLine passes on a line, or a piece of one, as valid text. NUL is valid text too,
// but no database takes it.
func (c *collector) passLine(raw []byte, pass func(string)) {
	c.lines++
	if c.bytes > maxStderr {
		c.dropped++
		return
	}
	text := strings.ToValidUTF8(string(raw), "\uFFFD")
	pass(strings.ReplaceAll(text, "\x00", "\uFFFD"))
}
