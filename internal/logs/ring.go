package logs

import (
	"bytes"
	"io"
	"sync"
)

// longestLine is how much of one line is kept in memory.
const longestLine = 16 << 10

// ring keeps the last lines, each one write.
type ring struct {
	limit int
	mu    sync.Mutex
	lines [][]byte
	size  int
}

// Write implements io.Writer.
func (r *ring) Write(line []byte) (int, error) {
	kept := line
	if len(kept) > longestLine {
		kept = append(bytes.Clone(kept[:longestLine]), "…\n"...)
	} else {
		kept = bytes.Clone(kept)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, kept)
	r.size += len(kept)
	for r.size > r.limit && len(r.lines) > 1 {
		r.size -= len(r.lines[0])
		r.lines[0] = nil // The array lives on below the slice.
		r.lines = r.lines[1:]
	}
	return len(line), nil
}

func (r *ring) read() []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	return bytes.Join(r.lines, nil)
}

// tee writes each line to out, and keeps it whatever becomes of that.
type tee struct {
	out  io.Writer
	kept *ring
}

// Write implements io.Writer.
func (t tee) Write(line []byte) (int, error) {
	_, _ = t.kept.Write(line)
	return t.out.Write(line)
}
