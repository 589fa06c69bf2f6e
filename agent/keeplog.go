package agent

import (
	"bufio"
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/nullops/nullops/agent/wire"
)

const (
	// keptLines and keptBytes are what a service leaves behind when it is taken
	// away: less than a run's ring holds, so that several services fit.
	keptLines = 1000
	keptBytes = 512 << 10
)

// keepLog copies the end of a service's log into the log of its step, with the
// times at which it was written: the container goes away, and people still want
// to read what it said. A service whose last words are there already said why it
// ended. Without the run's secrets nothing is copied, since nothing could be
// masked; and a removal never fails or waits long for it.
func (o operation) keepLog(ctx context.Context) {
	step, ok := o.goal.Pipeline.Step(o.do.Step)
	v, known := o.agent.view(o.goal.Deployment)
	if !ok || step.Service == nil || !known || v.bundle == nil ||
		!o.agent.logs.once(o.goal.Run, o.do.Step) {
		return
	}
	o.bundle = v.bundle
	ctx, cancel := context.WithTimeout(ctx, lastTime)
	defer cancel()
	r, err := o.agent.runtime.Logs(ctx, o.goal.Deployment, o.do.Step,
		LogOptions{Tail: keptLines, Mask: v.bundle.masker})
	if err != nil {
		return
	}
	defer func() { _ = r.Close() }()
	o.keep(r)
}

func (o operation) keep(r io.Reader) {
	lines := o.agent.lines(o)
	put := func(at time.Time, text string) {
		o.agent.logs.add(wire.LogLine{Deployment: o.goal.Deployment, Run: o.goal.Run,
			Step: o.do.Step, At: at, Text: cutText(text, lineCut)})
	}
	last := time.Now()
	readLines(io.LimitReader(r, keptBytes), func(at time.Time, text string, more bool) {
		last = at
		if shown := lines.stream.Write(text); !more {
			put(at, shown+lines.stream.Flush())
		} else if shown != "" {
			put(at, shown)
		}
	})
	if rest := lines.stream.Cut(); rest != "" {
		put(last, rest)
	}
}

// readLines reads "RFC3339Nano text" until the reader ends, and gives each line with
// its time; one that is longer than lineCut comes in pieces. more means that the
// rest of a line is still to come; it does not when the reader ends too early.
func readLines(r io.Reader, give func(at time.Time, text string, more bool)) {
	in := bufio.NewReaderSize(r, lineCut)
	at, begins := time.Now(), true
	for {
		piece, err := in.ReadSlice('\n')
		ended := err == nil
		text := strings.TrimRight(string(piece), "\r\n")
		if !ended {
			text = string(piece)
		}
		if begins {
			at, text = cutTime(text)
		}
		if ended || text != "" {
			give(at, text, !ended)
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return
		}
		begins = ended
	}
}

// cutTime takes the time off a line. A line without one is as old as now.
func cutTime(line string) (at time.Time, text string) {
	stamp, rest, _ := strings.Cut(line, " ")
	at, err := time.Parse(time.RFC3339Nano, stamp)
	if err != nil {
		return time.Now(), line
	}
	return at, rest
}
