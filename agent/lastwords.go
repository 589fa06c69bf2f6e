package agent

import (
	"bufio"
	"context"
	"io"
	"strings"
)

const (
	// lastLines is how many lines a service that ended leaves to its step's log:
	// enough for a stack trace.
	lastLines = 50
	lastBytes = 256 << 10
)

// lastWords copies the end of a service's log into the log of its step: its
// container goes away with the rollback, and why it ended is said there. Without
// the run's secrets nothing is copied, since nothing could be masked.
func (o operation) lastWords(ctx context.Context) {
	v, ok := o.agent.view(o.goal.Deployment)
	if !ok || v.bundle == nil {
		return
	}
	r, err := o.agent.runtime.Logs(ctx, o.goal.Deployment, o.do.Step, LogOptions{Tail: lastLines})
	if err != nil {
		o.agent.log.Debug("last words of a service", "step", o.do.Step, "error", err)
		return
	}
	defer func() { _ = r.Close() }()
	in := bufio.NewScanner(io.LimitReader(r, lastBytes))
	in.Buffer(nil, lastBytes)
	lines := o.agent.lines(o)
	for in.Scan() {
		_, text, _ := strings.Cut(in.Text(), " ")
		lines.add(text)
	}
	lines.end()
}
