package agent

import (
	"context"
	"io"
	"strings"
	"time"
)

const (
	// tailLines is how many lines a service that ended leaves to its step's log:
	// enough for a stack trace.
	tailLines = 50
	tailBytes = 256 << 10
	// quotedLines and quotedBytes are what of a failed job's output stands in the error itself:
	// less than maxProbeOutput, which is what people see of it.
	quotedLines = 5
	quotedBytes = 400
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

// quoteLastLines returns the last lines of a failed job as the end of a sentence, masked, or
// "" if there are none. They are masked line by line, before anything is cut off. Without the
// run's secrets nothing is quoted, since nothing could be masked.
func (o operation) quoteLastLines(ctx context.Context) string {
	v, ok := o.base.viewOf(o.goal.Deployment)
	if !ok || v.bundle == nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, tailTimeout)
	defer cancel()
	r, err := o.base.runtime.Logs(ctx, o.goal.Deployment, o.do.Step,
		LogOptions{Tail: quotedLines, Mask: v.bundle.masker})
	if err != nil {
		return ""
	}
	defer func() { _ = r.Close() }()
	stream := v.bundle.masker.NewStream()
	var all []string
	readLines(io.LimitReader(r, tailBytes), func(_ time.Time, text string, more bool) {
		shown := stream.Write(text)
		if !more {
			shown += stream.Flush()
		}
		all = append(all, strings.Fields(shown)...)
		if !more && shown != "" {
			all = append(all, "|")
		}
	})
	said := strings.ToValidUTF8(strings.TrimSuffix(strings.Join(all, " "), " |"), "\uFFFD")
	if len(said) > quotedBytes {
		said = "…" + strings.ToValidUTF8(said[len(said)-quotedBytes:], "")
	}
	if said == "" {
		return "; it has written nothing"
	}
	return "; its last lines: " + said
}
