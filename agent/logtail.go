package agent

import (
	"context"
	"io"
	"time"
)

const (
	// tailLines is how many lines a service that ended leaves to its step's log:
	// enough for a stack trace.
	tailLines = 50
	tailBytes = 256 << 10
	// tailTimeout is what an engine in trouble may take: a rollback waits for this.
	tailTimeout = 15 * time.Second
)

// captureLogTail copies the end of a service's log into the log of its step, after the
// given reason: the rollback removes the container, and its log usually says why the
// service exited or did not become ready. Without the run's secrets nothing is copied,
// since nothing could be masked.
func (o operation) captureLogTail(ctx context.Context, reason string) {
	v, ok := o.agent.viewOf(o.goal.Deployment)
	if !ok || v.bundle == nil {
		return
	}
	o.bundle = v.bundle
	o.agent.logs.claimLogTail(o.goal.Run, o.do.Step)
	ctx, cancel := context.WithTimeout(ctx, tailTimeout)
	defer cancel()
	lines := o.agent.newLineWriter(o)
	defer lines.flushPartial()
	lines.writeText(reason)
	r, err := o.agent.runtime.Logs(ctx, o.goal.Deployment, o.do.Step,
		LogOptions{Tail: tailLines, Mask: v.bundle.masker})
	if err != nil {
		lines.writeText("its last lines cannot be read: " + err.Error())
		return
	}
	defer func() { _ = r.Close() }()
	said := false
	readLines(io.LimitReader(r, tailBytes), func(_ time.Time, text string, more bool) {
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
