package agent

import (
	"context"
	"io"
	"time"

	"github.com/nullops/nullops/internal/logcause"
	"github.com/nullops/nullops/internal/mask"
	"github.com/nullops/nullops/internal/text"
)

const (
	// tailLines is how many lines a service that ended leaves to its step's log: the one that says
	// why is among them.
	tailLines = logcause.Lines
	tailBytes = 256 << 10
	// tailTimeout is what an engine in trouble may take: a rollback waits for this.
	tailTimeout = 15 * time.Second
)

// captureLogTail copies the end of a service's log into the log of its step, after the
// given reason: the rollback removes the container, and its log usually says why the
// service exited or did not become ready. Without the run's secrets nothing is copied,
// since nothing could be masked.
func (o operation) captureLogTail(ctx context.Context, reason string) {
	v, ok := o.base.viewOf(o.goal.Deployment)
	if !ok || v.bundle == nil {
		return
	}
	o.bundle = v.bundle
	o.base.logs.claimLogTail(o.goal.Run, o.do.Step)
	ctx, cancel := context.WithTimeout(ctx, tailTimeout)
	defer cancel()
	lines := o.base.newLineWriter(o)
	defer lines.flushPartial()
	lines.writeText(reason)
	tail, limit := tailLines, int64(tailBytes)
	if step, _ := o.goal.Pipeline.Step(o.do.Step); step.Job != nil {
		// What a migration or a test suite printed is the result that people look for.
		tail, limit = archivedLines, archivedBytes
	}
	r, err := o.base.runtime.Logs(ctx, o.goal.Deployment, o.do.Step,
		LogOptions{Tail: tail, Mask: v.bundle.masker})
	if err != nil {
		lines.writeText("its last lines cannot be read: " + err.Error())
		return
	}
	defer func() { _ = r.Close() }()
	said := false
	readLines(io.LimitReader(r, limit), func(_ time.Time, text string, more bool) {
		if !said {
			lines.writeText("its last lines:")
			said = true
		}
		if more {
			lines.TakePiece(text)
			return
		}
		lines.writeText(text)
	})
	if !said {
		lines.writeText("it has written nothing")
	}
}

// explainUnready adds what the log says of an error to what a service answered that is not ready.
func (o operation) explainUnready(ctx context.Context, answer string) string {
	v, ok := o.base.viewOf(o.goal.Deployment)
	if !ok || v.bundle == nil {
		return answer
	}
	lines, err := o.readLogTail(ctx, v.bundle.masker)
	if err != nil {
		return answer
	}
	cause := logcause.Find(lines)
	if !cause.IsError {
		return answer
	}
	// Both have room.
	answer = text.Clip(maskProbeOutput(v.bundle.masker, answer), maxProbeOutput/2)
	return answer + quoteCause(lines)
}

// quoteLog returns what the log of a service or job that failed says as the end of a sentence,
// masked. The lines are masked before anything is cut off. Without the run's secrets nothing is
// quoted, since nothing could be masked.
func (o operation) quoteLog(ctx context.Context) string {
	v, ok := o.base.viewOf(o.goal.Deployment)
	if !ok || v.bundle == nil {
		return ""
	}
	lines, err := o.readLogTail(ctx, v.bundle.masker)
	if err != nil {
		return ""
	}
	if said := quoteCause(lines); said != "" {
		return said
	}
	return "; it has written nothing"
}

// readLogTail reads the last lines of a service or job, masked.
func (o operation) readLogTail(ctx context.Context, m *mask.Masker) (all []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, tailTimeout)
	defer cancel()
	r, err := o.base.runtime.Logs(ctx, o.goal.Deployment, o.do.Step,
		LogOptions{Tail: logcause.Lines, Mask: m})
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }()
	stream := m.NewStream()
	line := ""
	readLines(io.LimitReader(r, tailBytes), func(_ time.Time, text string, more bool) {
		line += stream.Write(text)
		if !more {
			all = append(all, line+stream.Flush())
			line = ""
		}
	})
	return all, nil
}

// quoteCause ends a sentence about a program with what its log says, if it says anything.
func quoteCause(lines []string) string {
	if cause := logcause.Find(lines); cause.Text != "" {
		return "; its log says: " + cause.Text
	}
	return ""
}
