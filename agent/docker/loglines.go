package docker

import (
	"bytes"
	"time"

	"github.com/nullops/nullops/internal/mask"
)

const (
	// enginePiece is the longest message that the engine makes of a line: a longer
	// line comes in several, each with a time of its own before it.
	enginePiece = 16 << 10
	// longestLine is how much of a line is put together, in bytes. What is longer
	// is passed on as several lines.
	longestLine = 1<<20 + 64<<10
	// keptBuffer is how much memory a stream keeps after a long line.
	keptBuffer = 4 * enginePiece
)

// logFrame is one message of the engine: a time, a space, and a line or a piece
// of one.
type logFrame struct {
	stream int
	text   []byte
}

// The engine's streams.
const (
	streamOut = iota
	streamErr
	streamCount
)

// lineJoiner joins the engine's messages to lines, for each stream separately. A message
// without a line end is continued by the next one of its stream if it is exactly
// enginePiece long; the timestamps of later pieces are dropped. A shorter message ends its
// line: the log driver "local" of engine 20.10 omits the line end of a last piece, and a
// process may exit without writing one.
//
// If a process exits right after a piece of exactly enginePiece, the next message on the stream is
// taken for the rest of the line. Two lines shown as one do less harm than a secret shown in two
// halves. Timestamps do not help: engines may give each piece its own.
type lineJoiner struct {
	mask  *mask.Masker
	first time.Time
	open  [streamCount]openLine
}

// openLine is a line whose end has not come yet.
type openLine struct {
	// stamp is the time of the first piece; nil when no line is open.
	stamp []byte
	text  []byte
	// cut masks a line that was passed on in part already.
	cut *mask.Stream
	// headCut means that the log may begin inside this line.
	headCut bool
	begun   bool
}

// addMessage takes a message in, and appends the lines that are complete by it to out.
func (j *lineJoiner) addMessage(out []byte, f logFrame) []byte {
	l := &j.open[f.stream]
	stamp, body, stamped := cutStamp(f.text)
	if !l.begun {
		l.begun, l.headCut = true, j.mayBeginInside(stamp, stamped)
	}
	ended := bytes.HasSuffix(body, []byte("\n")) || len(body) < enginePiece
	if l.stamp == nil && ended && !l.headCut && bytes.HasSuffix(body, []byte("\n")) {
		return append(out, f.text...)
	}
	if l.stamp == nil {
		l.stamp = bytes.Clone(stamp)
	}
	l.text = append(l.text, body...)
	switch {
	case ended:
		return j.endLine(out, l, false)
	case len(l.text) >= longestLine:
		return j.flushPart(out, l)
	}
	return out
}

// mayBeginInside reports whether a stream's first message may be the rest of a
// line: the first message of all may be, since a tail counts messages and a log
// loses its oldest file whenever the newest is full. Of the other stream it is
// the rest of a line that was begun before what we have: its time is that of the
// line's first piece.
func (j *lineJoiner) mayBeginInside(stamp []byte, stamped bool) bool {
	at, _ := time.Parse(time.RFC3339Nano, string(stamp))
	if j.first.IsZero() {
		j.first = at
		return true
	}
	return stamped && at.Before(j.first)
}

// endLine appends an open line with a line end. unfinished means that its rest is
// missing.
func (j *lineJoiner) endLine(out []byte, l *openLine, unfinished bool) []byte {
	text := string(bytes.TrimSuffix(l.text, []byte("\n")))
	if l.headCut {
		text = j.mask.MaskPart(text, true, false)
	}
	if l.cut != nil {
		text = l.cut.Write(text)
		if unfinished {
			text += l.cut.FlushTruncated()
		} else {
			text += l.cut.Flush()
		}
	} else if unfinished {
		text = j.mask.MaskPart(text, false, true)
	}
	out = append(append(append(out, l.stamp...), text...), '\n')
	if cap(l.text) > keptBuffer {
		l.text = nil
	}
	*l = openLine{text: l.text[:0], begun: true}
	return out
}

// flushPart writes the first part of a line that is too long to be held in memory. It masks
// secrets here, because a reader of lines could not find a secret that is split between two
// of them.
func (j *lineJoiner) flushPart(out []byte, l *openLine) []byte {
	if l.cut == nil {
		l.cut = j.mask.NewStream()
	}
	text := string(l.text)
	if l.headCut {
		text, l.headCut = j.mask.MaskPart(text, true, false), false
	}
	l.text = l.text[:0]
	if text = l.cut.Write(text); text == "" {
		return out
	}
	return append(append(append(out, l.stamp...), text...), '\n')
}

// flushOpen appends the lines that never ended.
func (j *lineJoiner) flushOpen(out []byte) []byte {
	for i := range j.open {
		if l := &j.open[i]; l.stamp != nil {
			out = j.endLine(out, l, true)
		}
	}
	return out
}

// oldestOpen is the time of the oldest line that is open; zero if none is.
func (j *lineJoiner) oldestOpen() (at time.Time) {
	for i := range j.open {
		stamp := string(bytes.TrimSuffix(j.open[i].stamp, []byte(" ")))
		t, err := time.Parse(time.RFC3339Nano, stamp)
		if err == nil && (at.IsZero() || t.Before(at)) {
			at = t
		}
	}
	return at
}

// cutStamp splits the engine's timestamp, and the space after it, from a message.
func cutStamp(message []byte) (stamp, body []byte, found bool) {
	i := bytes.IndexByte(message, ' ')
	if i < 0 {
		return []byte{}, message, false
	}
	if _, err := time.Parse(time.RFC3339Nano, string(message[:i])); err != nil {
		return []byte{}, message, false
	}
	return message[:i+1], message[i+1:], true
}
