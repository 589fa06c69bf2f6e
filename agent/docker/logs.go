package docker

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/moby/moby/api/pkg/stdcopy"
	"github.com/moby/moby/client"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/internal/text"
	"github.com/nullops/nullops/pipeline"
)

// logs reads and follows what services print.
type logs struct{ *containers }

// Logs streams a service's lines of both streams, oldest first. Closing the
// reader, or ending the context, ends it. One that follows does not rely on the
// engine to wake up for each line, see follower.
func (lg *logs) Logs(
	ctx context.Context, deployment string, service pipeline.StepKey, o agent.LogOptions,
) (io.ReadCloser, error) {
	if err := checkNames(deployment, string(service)); err != nil {
		return nil, err
	}
	options := client.ContainerLogsOptions{
		ShowStdout: true, ShowStderr: true, Timestamps: true, Follow: o.Follow, Tail: "all",
	}
	if o.Tail > 0 {
		options.Tail = strconv.Itoa(o.Tail)
	}
	if !o.Since.IsZero() {
		options.Since = logTime(o.Since)
	}
	ctx, stop := context.WithCancel(ctx)
	container := lg.names.serviceName(deployment, service)
	engine := lg.api
	if o.Follow {
		engine = lg.following
	}
	body, err := engine.ContainerLogs(ctx, container, options)
	if isNotFound(err) {
		// A container with a name of an earlier release; findService may be renaming it.
		if c, ok := lg.findOldService(ctx, deployment, service); ok {
			container = c.ID
			body, err = engine.ContainerLogs(ctx, container, options)
		}
	}
	if err != nil {
		stop()
		return nil, fmt.Errorf("logs of service %s: %w", service, wrapQueryErr(err))
	}
	r, w := io.Pipe()
	l := &logReader{PipeReader: r, stop: stop, done: make(chan struct{})}
	f := &follower{logs: lg, container: container, options: options, out: w,
		lines: lineJoiner{mask: o.Mask}}
	go func() {
		defer close(l.done)
		_ = w.CloseWithError(f.run(ctx, body))
	}()
	return l, nil
}

// logTime is how the engine reads times.
func logTime(t time.Time) string { return fmt.Sprintf("%d.%09d", t.Unix(), t.Nanosecond()) }

// logReader is the reading end of a copy that runs beside it.
type logReader struct {
	*io.PipeReader
	stop context.CancelFunc
	done chan struct{}
}

// Close ends the copy and waits for it.
func (l *logReader) Close() error {
	l.stop()
	err := l.PipeReader.Close()
	<-l.done
	return err
}

// readOutput reads a command's output to its end and returns the beginning.
func readOutput(r io.Reader) string {
	var b strings.Builder
	limited := &limitedWriter{to: &b, left: agent.ProbeOutput}
	_, _ = stdcopy.StdCopy(limited, limited, r)
	return strings.TrimSpace(b.String())
}

// limitedWriter keeps the first bytes and swallows the rest.
type limitedWriter struct {
	to   io.Writer
	left int
}

func (c *limitedWriter) Write(p []byte) (int, error) {
	n := min(len(p), c.left)
	c.left -= n
	_, _ = c.to.Write(p[:n])
	return len(p), nil
}

// clipOutput makes one short line of a program's output.
func clipOutput(s string) string {
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "\uFFFD")), " ")
	return text.Clip(s, probeOutput)
}
