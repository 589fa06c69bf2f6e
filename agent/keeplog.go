package agent

import (
	"bufio"
	"context"
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
		LogOptions{Tail: keptLines})
	if err != nil {
		return
	}
	defer func() { _ = r.Close() }()
	o.keep(r)
}

func (o operation) keep(r io.Reader) {
	lines := o.agent.lines(o)
	in := bufio.NewScanner(io.LimitReader(r, keptBytes))
	in.Buffer(nil, keptBytes)
	for in.Scan() {
		stamp, text, _ := strings.Cut(in.Text(), " ")
		at, err := time.Parse(time.RFC3339Nano, stamp)
		if err != nil {
			at, text = time.Now(), in.Text()
		}
		shown := lines.stream.Write(text) + lines.stream.Flush()
		o.agent.logs.add(wire.LogLine{Deployment: o.goal.Deployment, Run: o.goal.Run,
			Step: o.do.Step, At: at, Text: shown[:min(len(shown), lineCut)]})
	}
}
