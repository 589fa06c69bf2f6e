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
	// archivedLines and archivedBytes limit how much of a service's log is kept when its
	// container is removed: less than a run's ring buffer holds, so that several services fit.
	archivedLines = 1000
	archivedBytes = 512 << 10
)

// archiveLog copies the end of a service's or job's log, with its timestamps, into the log of the
// step, because removing the container deletes it. It does nothing if captureLogTail has
// already copied the log. Without the run's secrets nothing is copied, since nothing could
// be masked.
func (o operation) archiveLog(ctx context.Context) {
	step, ok := o.goal.Pipeline.Step(o.do.Step)
	v, known := o.base.viewOf(o.goal.Deployment)
	if !ok || step.Container() == nil || !known || v.bundle == nil ||
		!o.base.logs.claimLogTail(o.goal.Run, o.do.Step) {
		return
	}
	o.bundle = v.bundle
	ctx, cancel := context.WithTimeout(ctx, tailTimeout)
	defer cancel()
	r, err := o.base.runtime.Logs(ctx, o.goal.Deployment, o.do.Step,
		LogOptions{Tail: archivedLines, Mask: v.bundle.masker})
	if err != nil {
		return
	}
	defer func() { _ = r.Close() }()
	o.archiveLines(r)
}

func (o operation) archiveLines(r io.Reader) {
	lines := o.base.newLineWriter(o)
	put := func(at time.Time, text string) {
		o.base.logs.addLine(wire.LogLine{Deployment: o.goal.Deployment, Run: o.goal.Run,
			Step: o.do.Step, At: at, Text: cutText(text, lineCut)})
	}
	last := time.Now()
	readLines(io.LimitReader(r, archivedBytes), func(at time.Time, text string, more bool) {
		last = at
		if shown := lines.stream.Write(text); !more {
			put(at, shown+lines.stream.Flush())
		} else if shown != "" {
			put(at, shown)
		}
	})
	if rest := lines.stream.FlushTruncated(); rest != "" {
		put(last, rest)
	}
}

// readLines reads lines of "RFC3339Nano text" until the reader ends, and calls give with the time
// and text of each. A line longer than lineCut is passed in pieces, with more set for all but the
// last; if the reader ends in the middle of a line, there is no last piece.
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
