package agent

import (
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/internal/logcause"
	"github.com/nullops/nullops/internal/mask"
	"github.com/nullops/nullops/pipeline"
)

// Step logs wait in memory for the log connection. A full ring drops its
// oldest lines, and the next one says how many.
const (
	ringLines = 4096
	ringBytes = 2 << 20
	// lineCut is the longest piece of a line.
	lineCut = 16 << 10
	// batchLines and batchBytes bound one LogBatch.
	batchLines = 256
	batchBytes = 256 << 10
)

// logbook holds the lines of all runs: a ring for each, so that a flood in one
// drops nothing of another.
type logbook struct {
	mu      sync.Mutex
	rings   map[string]*ring
	numbers map[progressKey]int64
	// left are services whose last lines are in here already.
	left map[progressKey]bool
	more broadcast
}

// ring is one run's.
type ring struct {
	lines []wire.LogLine
	bytes int
	// dropped counts lines that are missing before the next of a step.
	dropped map[pipeline.StepKey]int64
}

func newLogbook() *logbook {
	return &logbook{rings: map[string]*ring{}, numbers: map[progressKey]int64{},
		left: map[progressKey]bool{}}
}

// claimLogTail reports true to the first caller only, so that a service's log is copied
// once.
func (l *logbook) claimLogTail(run string, step pipeline.StepKey) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := progressKey{run, step}
	if l.left[key] {
		return false
	}
	l.left[key] = true
	return true
}

// startNumbersAt makes an attempt's line numbers start where no other attempt's are.
func (l *logbook) startNumbersAt(run string, step pipeline.StepKey, at int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := progressKey{run, step}
	l.numbers[key] = max(l.numbers[key], at)
}

// skipNumbers skips the numbers of lines that are lost.
func (l *logbook) skipNumbers(run string, step pipeline.StepKey, n int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.numbers[progressKey{run, step}] += n
}

func (l *logbook) addLine(line wire.LogLine) {
	l.mu.Lock()
	key := progressKey{line.Run, line.Step}
	l.numbers[key]++
	line.Number = l.numbers[key]
	r := l.rings[line.Run]
	if r == nil {
		r = &ring{dropped: map[pipeline.StepKey]int64{}}
		l.rings[line.Run] = r
	}
	r.addLine(line)
	l.mu.Unlock()
	l.more.notifyAll()
}

func (r *ring) addLine(line wire.LogLine) {
	for len(r.lines) > 0 && (len(r.lines) >= ringLines || r.bytes+len(line.Text) > ringBytes) {
		old := r.lines[0]
		r.lines = r.lines[1:]
		r.bytes -= len(old.Text)
		r.addDropped(old.Step, old.Dropped+1)
	}
	line.Dropped += r.dropped[line.Step]
	delete(r.dropped, line.Step)
	r.lines = append(r.lines, line)
	r.bytes += len(line.Text)
}

// addDropped adds dropped lines to the count on the step's next line.
func (r *ring) addDropped(step pipeline.StepKey, n int64) {
	for i := range r.lines {
		if r.lines[i].Step == step {
			r.lines[i].Dropped += n
			return
		}
	}
	r.dropped[step] += n
}

// nextBatch returns the oldest lines of some run, without removing them.
func (l *logbook) nextBatch() []wire.LogLine {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, run := range sortedKeys(l.rings) {
		r := l.rings[run]
		var lines []wire.LogLine
		bytes := 0
		for _, line := range r.lines {
			// JSON may escape each byte into six.
			bytes += 6*len(line.Text) + 256
			if len(lines) > 0 && (bytes > 3*batchBytes || len(lines) >= batchLines) {
				break
			}
			lines = append(lines, line)
		}
		if len(lines) > 0 {
			return lines
		}
		delete(l.rings, run)
	}
	return nil
}

// subtractDropped reduces the count of lines dropped before the step's next line: the ring
// had dropped these lines while they were being sent, and they arrived after all.
func (r *ring) subtractDropped(step pipeline.StepKey, n int64) {
	for i := range r.lines {
		if r.lines[i].Step == step {
			r.lines[i].Dropped = max(r.lines[i].Dropped-n, 0)
			return
		}
	}
	if r.dropped[step] -= n; r.dropped[step] <= 0 {
		delete(r.dropped, step)
	}
}

// removeAcknowledged drops lines that were acknowledged: those up to the last one of each
// step. Some may have been dropped by the ring since.
func (l *logbook) removeAcknowledged(sent []wire.LogLine) {
	if len(sent) == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.rings[sent[0].Run]
	if r == nil {
		return
	}
	upTo, counted := map[pipeline.StepKey]int64{}, map[pipeline.StepKey]int64{}
	for _, line := range sent {
		upTo[line.Step] = line.Number
		counted[line.Step] += 1 + line.Dropped
	}
	for len(r.lines) > 0 && r.lines[0].Number <= upTo[r.lines[0].Step] {
		// What the ring counted of those before it goes with this line.
		delete(counted, r.lines[0].Step)
		r.bytes -= len(r.lines[0].Text)
		r.lines = r.lines[1:]
	}
	for step, n := range counted {
		r.subtractDropped(step, n)
	}
}

// lineWriter masks and logs the stderr of one plugin.
type lineWriter struct {
	base   *base
	o      operation
	stream *mask.Stream
	// last are the last lines, masked: one of them may say why the plugin failed.
	last []string
	// lastBytes is how much they are.
	lastBytes int
}

func (ba *base) newLineWriter(o operation) *lineWriter {
	place := pipeline.LinePlace{Undo: o.do.Action == "delete", Attempt: o.do.Attempt}
	ba.logs.startNumbersAt(o.goal.Run, o.do.Step, place.Number())
	return &lineWriter{base: ba, o: o, stream: o.bundle.masker.NewStream()}
}

// writeText takes a line, or the end of one.
func (l *lineWriter) writeText(text string) {
	l.countOutput(len(text) + 1)
	l.appendLines(l.stream.Write(text) + l.stream.Flush())
}

// TakePiece implements PieceTaker. A secret may lie across the end of a piece, so
// that nothing is flushed here.
func (l *lineWriter) TakePiece(text string) {
	l.countOutput(len(text))
	if shown := l.stream.Write(text); shown != "" {
		l.appendLines(shown)
	}
}

func (l *lineWriter) countOutput(bytes int) {
	l.base.updateProgress(l.o.goal, l.o.do.Step, func(p *wire.Progress) {
		p.Lines++
		p.Bytes += int64(bytes)
		p.LastOutput = time.Now()
	})
}

// flushPartial logs the rest of a line that has no line end.
func (l *lineWriter) flushPartial() {
	if rest := l.stream.FlushTruncated(); rest != "" {
		l.appendLines(rest)
	}
}

// reportMissedLines adds a line that says how many lines are missing at the end: when a
// plugin has filled its log, further output is read and discarded.
func (l *lineWriter) reportMissedLines(n int64) {
	if n <= 0 {
		return
	}
	l.base.logs.skipNumbers(l.o.goal.Run, l.o.do.Step, n)
	l.base.logs.addLine(wire.LogLine{Deployment: l.o.goal.Deployment, Run: l.o.goal.Run,
		Step: l.o.do.Step, At: time.Now(), Dropped: n,
		Text: "the log is full: what the plugin wrote after that is left out"})
}

func (l *lineWriter) appendLines(text string) {
	l.keepLast(cutText(text, lineCut))
	for {
		piece := cutText(text, lineCut)
		l.base.logs.addLine(wire.LogLine{Deployment: l.o.goal.Deployment, Run: l.o.goal.Run,
			Step: l.o.do.Step, At: time.Now(), Text: piece})
		text = text[len(piece):]
		if text == "" {
			return
		}
	}
}

// keepLast keeps a line for the reason of a failure, and no more lines than are read for it.
func (l *lineWriter) keepLast(line string) {
	l.last, l.lastBytes = append(l.last, line), l.lastBytes+len(line)
	first := 0
	for len(l.last)-first > logcause.Lines || l.lastBytes > tailBytes && first < len(l.last)-1 {
		l.lastBytes -= len(l.last[first])
		first++
	}
	l.last = slices.Delete(l.last, 0, first)
}

// cutText returns the first bytes of a text, at most limit, without splitting a character.
func cutText(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for n := limit; n > limit-utf8.UTFMax && n > 0; n-- {
		if utf8.RuneStart(text[n]) {
			return text[:n]
		}
	}
	return text[:limit]
}
