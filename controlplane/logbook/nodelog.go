package logbook

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

// NodeLogs reads what a service wrote from the node it runs on. The lines
// are "time text" with the time as RFC 3339 with nanoseconds. The reader ends
// with the log, or, when following, with the context. A node that cannot be
// asked is a *controlplane.Error of kind Unavailable.
type NodeLogs interface {
	Follow(ctx context.Context, node controlplane.NodeID, deployment controlplane.DeploymentID,
		step pipeline.StepKey, o NodeLogOptions) (io.ReadCloser, error)
}

// NodeLogOptions say which part of a service's log is wanted.
type NodeLogOptions struct {
	Follow bool
	// Tail is how many of the last lines; 0 means all of them.
	Tail int
	// Since leaves out what is older; the zero time leaves out nothing.
	Since time.Time
}

const (
	// MaxLine is the longest line of a service that is passed on whole. An agent cuts lines a
	// little below that; the time before the text counts too.
	MaxLine = 1<<20 + 128<<10
	// readBuffer is what is read of a log at once.
	readBuffer = 64 << 10
	// queueLines and queueBytes bound what waits for one listener.
	queueLines = 256
	queueBytes = 8 << 20
)

// NodeLine is a line that a node sent.
type NodeLine struct {
	At   time.Time
	Text string
	// size is how much was read for it, in bytes.
	size int64
}

// NodeStream is a service's log on its way from its node. What waits for the caller is bounded.
type NodeStream struct {
	log    io.ReadCloser
	lines  chan NodeLine
	room   *semaphore.Weighted
	cancel context.CancelFunc
	ended  chan error
}

// OpenNodeStream requests a service's log from the deployment's node. Lines longer than limit, in
// bytes, come in pieces. The caller closes the stream.
func (r *Reader) OpenNodeStream(ctx context.Context, d controlplane.Deployment,
	step pipeline.StepKey, o NodeLogOptions, limit int) (*NodeStream, error) {
	if r.Nodes == nil || d.NodeID == "" {
		return nil, &controlplane.Error{Kind: controlplane.Unavailable, Code: "no_node",
			Message: "the deployment is on no node that could be asked"}
	}
	ctx, cancel := context.WithCancel(ctx)
	log, err := r.Nodes.Follow(ctx, d.NodeID, d.ID, step, o)
	if err != nil {
		cancel()
		return nil, err
	}
	s := &NodeStream{log: log, lines: make(chan NodeLine, queueLines),
		room: semaphore.NewWeighted(queueBytes), cancel: cancel, ended: make(chan error, 1)}
	// Closing the log ends the reader, whatever it waits for.
	context.AfterFunc(ctx, func() { _ = log.Close() })
	go func() { s.ended <- s.readLines(ctx, limit); close(s.lines) }()
	return s, nil
}

// Lines returns the lines; the channel is closed at the log's end. Release each line when it is
// passed on.
func (s *NodeStream) Lines() <-chan NodeLine { return s.lines }

// Release makes room for further lines.
func (s *NodeStream) Release(l NodeLine) { s.room.Release(l.size) }

// Close ends the stream, and returns why the log broke if it did before.
func (s *NodeStream) Close() error {
	s.cancel()
	_ = s.log.Close()
	return <-s.ended
}

// NodeLogError returns err as people read it: why a node did not send a log, or not to its end.
// It is not known if the node gave no reason.
func NodeLogError(err error) (problem *controlplane.Error, known bool) {
	if errors.As(err, &problem) {
		return problem, true
	}
	return &controlplane.Error{Kind: controlplane.Unavailable, Code: "node_unreachable",
		Message: "the node did not give the log to its end",
		Remedy:  "Try again when the node is online."}, false
}

// readLines queues lines, and waits while too much of them is on its way.
func (s *NodeStream) readLines(ctx context.Context, limit int) error {
	var at time.Time
	err := readPieces(s.log, limit, func(p logPiece) bool {
		l := parseLine(p, at)
		at = l.At
		if s.room.Acquire(ctx, p.size) != nil {
			return false
		}
		select {
		case s.lines <- l:
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

// ReadFirstLines reads up to most lines of a log, and of each up to limit bytes. Lines that were
// read before the node disconnected are still worth showing, so that there is no error.
func ReadFirstLines(log io.Reader, most, limit int) (lines []string) {
	_ = readPieces(log, limit, func(p logPiece) bool {
		if p.rest {
			// Only the beginning of a long line is shown.
			return true
		}
		text := parseLine(p, time.Time{}).Text
		if p.size >= int64(limit) {
			text += "…"
		}
		lines = append(lines, text)
		return len(lines) < most
	})
	return lines
}

// logPiece is a line of a log, or a piece of one that is longer than the limit.
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

// parseLine reads "time text". A line without a time is as old as the one before.
func parseLine(p logPiece, before time.Time) NodeLine {
	stamp, text, _ := strings.Cut(p.text, " ")
	at, err := time.Parse(time.RFC3339Nano, stamp)
	if p.rest || err != nil {
		return NodeLine{At: before, Text: strings.ToValidUTF8(p.text, "�"), size: p.size}
	}
	return NodeLine{At: at, Text: strings.ToValidUTF8(text, "�"), size: p.size}
}
