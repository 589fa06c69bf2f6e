package agent

import (
	"context"
	"io"
	"time"
)

const (
	// lastLines is how many lines a service that ended leaves to its step's log:
	// enough for a stack trace.
	lastLines = 50
	lastBytes = 256 << 10
	// lastTime is what an engine in trouble may take: a rollback waits for this.
	lastTime = 15 * time.Second
)

// captureLogTail copies the end of a service's log into the log of its step, after the
// given reason: the rollback removes the container, and its log usually says why the
// service exited or did not become ready. Without the run's secrets nothing is copied,
// since nothing could be masked.
func (o operation) lastWords(ctx context.Context, reason string) {
	v, ok := o.agent.view(o.goal.Deployment)
	if !ok || v.bundle == nil {
		return
	}
	o.bundle = v.bundle
	o.agent.logs.once(o.goal.Run, o.do.Step)
	ctx, cancel := context.WithTimeout(ctx, lastTime)
	defer cancel()
	lines := o.agent.lines(o)
	defer lines.end()
	lines.add(reason)
	r, err := o.agent.runtime.Logs(ctx, o.goal.Deployment, o.do.Step,
		LogOptions{Tail: lastLines, Mask: v.bundle.masker})
	if err != nil {
		lines.add("its last lines cannot be read: " + err.Error())
		return
	}
	defer func() { _ = r.Close() }()
	said := false
	readLines(io.LimitReader(r, lastBytes), func(_ time.Time, text string, more bool) {
		if !said {
			lines.add("its last lines:")
			said = true
		}
		if more {
			lines.TakePiece(text)
			return
		}
		lines.add(text)
	})
	if !said {
		lines.add("it has written nothing")
	}
}
