package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/moby/moby/api/pkg/stdcopy"
	"github.com/moby/moby/client"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/pipeline"
)

// Logs streams a service's lines of both streams, oldest first. Closing the
// reader, or ending the context, ends it.
func (d *Docker) Logs(
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
		options.Since = fmt.Sprintf("%d.%09d", o.Since.Unix(), o.Since.Nanosecond())
	}
	body, err := d.api.ContainerLogs(ctx, d.names.service(deployment, service), options)
	if err != nil {
		return nil, fmt.Errorf("logs of service %s: %w", service, asked(err))
	}
	return demultiplex(body), nil
}

// logReader is the reading end of a copy that runs beside it.
type logReader struct {
	*io.PipeReader
	body io.Closer
	done chan struct{}
}

func demultiplex(body io.ReadCloser) *logReader {
	r, w := io.Pipe()
	l := &logReader{PipeReader: r, body: body, done: make(chan struct{})}
	go func() {
		defer close(l.done)
		_, err := stdcopy.StdCopy(w, w, body)
		_ = w.CloseWithError(err)
	}()
	return l
}

// Close ends the copy and waits for it.
func (l *logReader) Close() error {
	err := errors.Join(l.PipeReader.Close(), l.body.Close())
	<-l.done
	return err
}

// readOutput reads the beginning of a command's output, whole.
func readOutput(r io.Reader) string {
	var b strings.Builder
	limited := &clipped{to: &b, left: probeOutput}
	_, _ = stdcopy.StdCopy(limited, limited, r)
	return clip(b.String())
}

// clipped keeps the first bytes and swallows the rest.
type clipped struct {
	to   io.Writer
	left int
}

func (c *clipped) Write(p []byte) (int, error) {
	n := min(len(p), c.left)
	c.left -= n
	_, _ = c.to.Write(p[:n])
	return len(p), nil
}

// clip makes one short line of text from a program's output.
func clip(s string) string {
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "\uFFFD")), " ")
	if len(s) > probeOutput {
		s = strings.ToValidUTF8(s[:probeOutput], "") + "…"
	}
	return s
}
