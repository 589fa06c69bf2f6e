package api

import (
	"bufio"
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/pipeline"
)

// maxLine is the longest line of a service we pass on; agents cut at 16 KiB,
// and the time stands before it.
const maxLine = 64 << 10

// StreamServiceLogs asks the service's node for its log. Nothing of it is kept
// here, so that a node which cannot be asked means no lines.
func (s *server) StreamServiceLogs(
	ctx context.Context, r StreamServiceLogsRequestObject,
) (StreamServiceLogsResponseObject, error) {
	id, err := deploymentID(r.Id)
	if err != nil {
		return nil, err
	}
	d, err := s.Lifecycle.Get(ctx, actorOf(ctx), id)
	if err != nil {
		return nil, err
	}
	step := pipeline.StepKey(r.Step)
	if !isService(d, step) {
		return nil, controlplane.Missing("service", r.Step)
	}
	o := LogOptions{
		Follow: or(r.Params.Follow, false), Tail: or(r.Params.Tail, 500),
		Since: or(r.Params.Since, time.Time{}),
	}
	return stream{log: s.Log, ctx: ctx, run: func(ctx context.Context, out *sse) error {
		return s.tail(ctx, out, d, step, o)
	}}, nil
}

func isService(d controlplane.Deployment, step pipeline.StepKey) bool {
	for _, v := range d.Versions {
		if v.Step == step {
			return true
		}
	}
	return false
}

// tail passes the log on until it ends, or the caller may see it no longer.
func (s *server) tail(ctx context.Context, out *sse, d controlplane.Deployment,
	step pipeline.StepKey, o LogOptions) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	log, err := s.follow(ctx, d, step, o)
	if err != nil {
		return s.broken(ctx, out, err)
	}
	defer log.Close()
	lines := make(chan ServiceLogLine, 256)
	ended := make(chan error, 1)
	go func() { ended <- readLines(ctx, log, lines); close(lines) }()
	err = s.pass(ctx, out, d.ID, lines)
	cancel()
	// Closing the log ends the reader, whatever it waits for.
	_ = log.Close()
	if read := <-ended; err == nil && read != nil {
		return s.broken(ctx, out, read)
	}
	if err != nil {
		return err
	}
	if err := out.event("end", "", struct{}{}); err != nil {
		return err
	}
	return out.flush()
}

func (s *server) follow(ctx context.Context, d controlplane.Deployment, step pipeline.StepKey,
	o LogOptions) (io.ReadCloser, error) {
	if s.Logs == nil || d.NodeID == "" {
		return nil, &controlplane.Error{Kind: controlplane.Unavailable, Code: "no_node",
			Message: "the deployment is on no node that could be asked"}
	}
	return s.Logs.Follow(ctx, d.NodeID, d.ID, step, o)
}

// broken tells the listener why there is no more.
func (s *server) broken(ctx context.Context, out *sse, err error) error {
	var known *controlplane.Error
	if !errors.As(err, &known) {
		s.Log.WarnContext(ctx, "service log broke", "request", requestID(ctx), "err", err.Error())
		known = &controlplane.Error{Kind: controlplane.Unavailable, Code: "node_unreachable",
			Message: "the node did not give the log to its end",
			Remedy:  "Try again when the node is online."}
	}
	if err := out.event("error", "", problem(known, requestID(ctx))); err != nil {
		return err
	}
	return out.flush()
}

// pass sends lines as they come, as many as there are in one write.
func (s *server) pass(ctx context.Context, out *sse, id controlplane.DeploymentID,
	lines <-chan ServiceLogLine) error {
	check := time.NewTicker(checkEvery)
	defer check.Stop()
	touched, stop := s.Subscribe("", controlplane.TopicAccess)
	defer stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-touched:
			if err := s.mayStill(ctx, id); err != nil {
				return err
			}
		case now := <-check.C:
			if err := errors.Join(s.mayStill(ctx, id), out.beat(now)); err != nil {
				return err
			}
		case l, more := <-lines:
			if !more {
				return nil
			}
			if err := sendAll(out, l, lines); err != nil {
				return err
			}
		}
	}
}

// mayStill makes sure that the caller may still see the deployment.
func (s *server) mayStill(ctx context.Context, id controlplane.DeploymentID) error {
	who, err := s.again(ctx, callerOf(ctx))
	if err != nil {
		return err
	}
	_, err = s.Lifecycle.Get(ctx, who.actor, id)
	return err
}

func sendAll(out *sse, first ServiceLogLine, lines <-chan ServiceLogLine) error {
	if err := out.event("line", "", first); err != nil {
		return err
	}
	for range cap(lines) {
		select {
		case l, more := <-lines:
			if !more {
				return out.flush()
			}
			if err := out.event("line", "", l); err != nil {
				return err
			}
		default:
			return out.flush()
		}
	}
	return out.flush()
}

// readLines cuts the log into lines; a line that is too long goes on as the
// next one.
func readLines(ctx context.Context, log io.Reader, lines chan<- ServiceLogLine) error {
	buffered := bufio.NewReaderSize(log, maxLine)
	var at time.Time
	for {
		text, err := buffered.ReadSlice('\n')
		if len(text) > 0 {
			l := parseLine(strings.TrimRight(string(text), "\r\n"), at)
			at = l.At
			select {
			case lines <- l:
			case <-ctx.Done():
				return nil
			}
		}
		switch {
		case err == nil || errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) || ctx.Err() != nil:
			return nil
		default:
			return err
		}
	}
}

// parseLine reads "time text". What has no time is the rest of the line before.
func parseLine(s string, before time.Time) ServiceLogLine {
	stamp, text, _ := strings.Cut(s, " ")
	at, err := time.Parse(time.RFC3339Nano, stamp)
	if err != nil {
		return ServiceLogLine{At: before, Text: strings.ToValidUTF8(s, "�")}
	}
	return ServiceLogLine{At: at, Text: strings.ToValidUTF8(text, "�")}
}
