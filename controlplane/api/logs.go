package api

import (
	"bufio"
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/pipeline"
)

const (
	// maxLine is the longest line of a service that is passed on whole. An agent cuts lines a
	// little below that; the time before the text counts too.
	maxLine = 1<<20 + 128<<10
	// readBuffer is what is read of a log at once.
	readBuffer = 64 << 10
	// queueLines and queueBytes bound what waits for one listener.
	queueLines = 256
	queueBytes = 8 << 20
	// mergedLine is the longest line of a log with several sources, of which more
	// lines wait at once, and newestBytes what is kept to find the last lines.
	mergedLine  = 256 << 10
	newestBytes = 16 << 20
)

// lineQueue holds the lines of a log that are on their way to a listener.
type lineQueue struct {
	lines chan queuedLine
	room  *semaphore.Weighted
}

// queuedLine is a line with the room that it takes.
type queuedLine struct {
	ServiceLogLine
	size int64
}

func newLineQueue() *lineQueue {
	return &lineQueue{lines: make(chan queuedLine, queueLines),
		room: semaphore.NewWeighted(queueBytes)}
}

// StreamServiceLogs requests the log from the service's node. The control plane stores none of it,
// so there are no lines while the node cannot be reached.
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
		return nil, controlplane.NewNotFoundError("service", r.Step)
	}
	o := LogOptions{
		Follow: valueOr(r.Params.Follow, false), Tail: valueOr(r.Params.Tail, 500),
		Since: valueOr(r.Params.Since, time.Time{}),
	}
	return stream{log: s.Log, ctx: ctx, run: func(ctx context.Context, out *sse) error {
		return s.streamServiceLog(ctx, out, d, step, o)
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

// streamServiceLog passes the log on until it ends, or the caller may see it no longer.
func (s *server) streamServiceLog(ctx context.Context, out *sse, d controlplane.Deployment,
	step pipeline.StepKey, o LogOptions) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	log, err := s.openServiceLog(ctx, d, step, o)
	if err != nil {
		return s.sendLogError(ctx, out, err)
	}
	defer log.Close()
	queue := newLineQueue()
	ended := make(chan error, 1)
	go func() { ended <- queue.readLines(ctx, log, maxLine); close(queue.lines) }()
	err = s.streamLines(ctx, out, d.ID, queue)
	cancel()
	// Closing the log ends the reader, whatever it waits for.
	_ = log.Close()
	if read := <-ended; err == nil && read != nil {
		return s.sendLogError(ctx, out, read)
	}
	if err != nil {
		return err
	}
	if err := out.addEvent("end", "", struct{}{}); err != nil {
		return err
	}
	return out.flush()
}

func (s *server) openServiceLog(
	ctx context.Context,
	d controlplane.Deployment,
	step pipeline.StepKey,
	o LogOptions,
) (io.ReadCloser, error) {
	if s.Logs == nil || d.NodeID == "" {
		return nil, &controlplane.Error{Kind: controlplane.Unavailable, Code: "no_node",
			Message: "the deployment is on no node that could be asked"}
	}
	return s.Logs.Follow(ctx, d.NodeID, d.ID, step, o)
}

// sendLogError sends the listener the reason why the log ended.
func (s *server) sendLogError(ctx context.Context, out *sse, err error) error {
	var known *controlplane.Error
	if !errors.As(err, &known) {
		s.Log.WarnContext(ctx, "service log broke", "request", requestID(ctx), "err", err.Error())
		known = &controlplane.Error{Kind: controlplane.Unavailable, Code: "node_unreachable",
			Message: "the node did not give the log to its end",
			Remedy:  "Try again when the node is online."}
	}
	if err := out.addEvent("error", "", toProblem(known, requestID(ctx))); err != nil {
		return err
	}
	return out.flush()
}

// streamLines sends lines as they come, as many as there are in one write.
func (s *server) streamLines(ctx context.Context, out *sse, id controlplane.DeploymentID,
	queue *lineQueue) error {
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
			if err := errors.Join(s.mayStill(ctx, id), out.sendHeartbeat(now)); err != nil {
				return err
			}
		case l, more := <-queue.lines:
			if !more {
				return nil
			}
			if err := queue.sendAll(out, l); err != nil {
				return err
			}
		}
	}
}

// mayStill makes sure that the caller may still see the deployment.
func (s *server) mayStill(ctx context.Context, id controlplane.DeploymentID) error {
	who, err := s.reauthenticateCaller(ctx, callerOf(ctx))
	if err != nil {
		return err
	}
	_, err = s.Lifecycle.Get(ctx, who.actor, id)
	return err
}

// sendAll sends a line and those that are queued after it.
func (q *lineQueue) sendAll(out *sse, first queuedLine) error {
	if err := q.sendLine(out, first); err != nil {
		return err
	}
	for range cap(q.lines) {
		select {
		case l, more := <-q.lines:
			if !more {
				return out.flush()
			}
			if err := q.sendLine(out, l); err != nil {
				return err
			}
		default:
			return out.flush()
		}
	}
	return out.flush()
}

func (q *lineQueue) sendLine(out *sse, l queuedLine) error {
	defer q.room.Release(l.size)
	return out.addEvent("line", "", l.ServiceLogLine)
}

// logPiece is a line of a log, or a piece of one that is longer than maxLine.
type logPiece struct {
	text string
	// rest means that the line began in an earlier piece.
	rest bool
	// size is how much was read for it, in bytes.
	size int64
}

// readPieces reads a log's lines. A line longer than limit comes in pieces: only the
// first piece starts with a time stamp, whatever the others begin with.
func readPieces(log io.Reader, limit int, give func(logPiece) bool) error {
	in := bufio.NewReaderSize(log, readBuffer)
	var line []byte
	rest := false
	for {
		part, err := in.ReadSlice('\n')
		line = append(line, part...)
		if err == nil || len(line) > 0 && (len(line) >= limit || !errors.Is(err, bufio.ErrBufferFull)) {
			size := int64(len(line))
			if !give(logPiece{text: strings.TrimRight(string(line), "\r\n"), rest: rest, size: size}) {
				return nil
			}
			rest, line = err != nil, line[:0]
			if cap(line) > 4*readBuffer {
				line = nil
			}
		}
		switch {
		case err == nil || errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF):
			return nil
		default:
			return err
		}
	}
}

// readLines passes lines on, and waits while too much of them is on its way.
func (q *lineQueue) readLines(ctx context.Context, log io.Reader, limit int) error {
	var at time.Time
	err := readPieces(log, limit, func(p logPiece) bool {
		l := parseLine(p, at)
		at = l.At
		if q.room.Acquire(ctx, p.size) != nil {
			return false
		}
		select {
		case q.lines <- queuedLine{l, p.size}:
			return true
		case <-ctx.Done():
			return false
		}
	})
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// parseLine reads "time text". A line without a time is as old as the one before.
func parseLine(p logPiece, before time.Time) ServiceLogLine {
	stamp, text, _ := strings.Cut(p.text, " ")
	at, err := time.Parse(time.RFC3339Nano, stamp)
	if p.rest || err != nil {
		return ServiceLogLine{At: before, Text: strings.ToValidUTF8(p.text, "�")}
	}
	return ServiceLogLine{At: at, Text: strings.ToValidUTF8(text, "�")}
}
