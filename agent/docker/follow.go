package docker

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/moby/moby/api/pkg/stdcopy"
	"github.com/moby/moby/client"

	"github.com/nullops/nullops/internal/wait"
)

const (
	// quietTimeout is how long nothing may come before we look whether there is
	// something. Looking costs the engine the end of one file.
	quietTimeout = 3 * time.Second
	// resumeDelay keeps a log that ends at once from being followed without pause.
	resumeDelay = 200 * time.Millisecond
	// maxSeenMessages is how many messages are known again when they come twice.
	maxSeenMessages = 1024
	// queueSize is how many messages wait to be passed on, of 16 KiB at most.
	queueSize = 64
	// maxReordering is how much older a message may be than one stored before it: stdout and
	// stderr are timestamped independently.
	maxReordering = time.Second
)

// errMessagesMissed means that the engine has messages which it did not bring.
var errMessagesMissed = errors.New("the engine kept messages back")

// follower copies a container's log, including messages that the engine does not deliver by
// itself: on a busy machine the engine can miss a write or a rotation of its own log file,
// and then waits for the next one. When no message arrived for quietTimeout, the follower
// asks for the last message. If it has not seen that one, it starts to follow again and
// drops the messages that come a second time.
type follower struct {
	logs      *logs
	container string
	options   client.ContainerLogsOptions
	out       io.Writer
	seen      seenMessages
	lines     lineJoiner
	// batch is what goes out in one write.
	batch []byte
}

// run ends when the log does, or with the reader, or with ctx. A line that never
// ended is shown then.
func (f *follower) run(ctx context.Context, body io.ReadCloser) error {
	err := f.copyAll(ctx, body)
	if f.batch = f.lines.flushOpen(f.batch[:0]); len(f.batch) > 0 {
		_, failed := f.out.Write(f.batch)
		err = errors.Join(err, failed)
	}
	return err
}

// copyAll starts to follow again for as long as the log continues.
func (f *follower) copyAll(ctx context.Context, body io.ReadCloser) error {
	for {
		err := f.copyStream(ctx, body)
		if !errors.Is(err, errMessagesMissed) && (err != nil || !f.shouldResume(ctx)) {
			return err
		}
		f.logs.log.Debug("the engine kept log messages back, or ended them; following anew",
			"container", f.container)
		if body, err = f.logs.following.ContainerLogs(ctx, f.container, f.resumeOptions()); err != nil {
			return wrapQueryErr(err)
		}
	}
}

// shouldResume reports whether a log ended too early: when it rotates its log file, the
// engine sometimes ends a stream although the container runs.
func (f *follower) shouldResume(ctx context.Context) bool {
	if !f.options.Follow {
		return false
	}
	if wait.Sleep(ctx, resumeDelay) != nil {
		return false
	}
	found, err := f.logs.inspectContainer(ctx, f.container)
	return err == nil && found.State != nil && found.State.Running
}

// resumeOptions requests everything that may be missing, which overlaps with what was seen.
func (f *follower) resumeOptions() client.ContainerLogsOptions {
	o := f.options
	since := f.overlapStart()
	if !since.IsZero() {
		o.Since, o.Tail = logTime(since), "all"
	}
	return o
}

// overlapStart is the time from which the engine is asked again. All pieces of a line carry
// the time of the first one, so a piece missing from an open line is as old as that.
func (f *follower) overlapStart() time.Time { return f.seen.overlapStart(f.lines.oldestOpen()) }

// copyStream reads one response of the engine to its end, or until it is found to be
// incomplete. Only its own goroutine reads the body.
func (f *follower) copyStream(ctx context.Context, body io.ReadCloser) error {
	ctx, stop := context.WithCancel(ctx)
	incoming := make(messageQueue, queueSize)
	ended := make(chan error, 1)
	var reading sync.WaitGroup
	reading.Go(func() {
		stdout := handoverWriter{ctx: ctx, messageQueue: incoming, stream: streamOut}
		stderr := handoverWriter{ctx: ctx, messageQueue: incoming, stream: streamErr}
		_, err := stdcopy.StdCopy(stdout, stderr, body)
		ended <- err
	})
	err := f.pumpMessages(ctx, incoming, ended)
	stop()
	err = errors.Join(err, body.Close())
	reading.Wait()
	return err
}

// pumpMessages passes messages on until there are no more.
func (f *follower) pumpMessages(
	ctx context.Context,
	incoming messageQueue,
	ended <-chan error,
) error {
	quiet := time.NewTimer(quietTimeout)
	defer quiet.Stop()
	f.seen.expectRepeats(f.overlapStart())
	for {
		select {
		case message := <-incoming:
			if err := f.writeMessages(message, incoming); err != nil {
				return err
			}
		case err := <-ended:
			// Messages queued before the end are still written.
			return errors.Join(f.writeMessages(logFrame{}, incoming), err)
		case <-quiet.C:
			if f.options.Follow && f.hasMissedMessage(ctx) {
				return errMessagesMissed
			}
		case <-ctx.Done():
			return ctx.Err()
		}
		quiet.Reset(quietTimeout)
	}
}

// writeMessages writes the lines of a message and of all messages that are queued, in one
// write: one write per message would cost most of the CPU time for a service that logs a
// lot.
func (f *follower) writeMessages(message logFrame, waiting messageQueue) error {
	f.batch = f.batch[:0]
	for taken, more := 0, true; more; {
		if message.text != nil && f.seen.isNew(message.text) {
			f.batch = f.lines.addMessage(f.batch, message)
		}
		if message, more = (logFrame{}), false; taken == queueSize {
			break
		}
		select {
		case message = <-waiting:
			taken, more = taken+1, true
		default:
		}
	}
	if len(f.batch) == 0 {
		return nil
	}
	_, err := f.out.Write(f.batch)
	return err
}

// hasMissedMessage reports whether the engine has a last message that was not delivered. If
// the engine does not answer, it reports false and is called again after the next quiet
// period.
func (f *follower) hasMissedMessage(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	o := f.options
	o.Follow, o.Tail = false, "1"
	body, err := f.logs.api.ContainerLogs(ctx, f.container, o)
	if err != nil {
		return false
	}
	defer func() { _ = body.Close() }()
	var last lastMessage
	_, err = stdcopy.StdCopy(&last, &last, body)
	return err == nil && len(last.text) > 0 && !bytes.Equal(last.text, f.seen.last)
}

// messageQueue passes messages from one goroutine to another.
type messageQueue chan logFrame

// handoverWriter is where the engine's messages arrive: each in one Write.
type handoverWriter struct {
	messageQueue
	ctx    context.Context
	stream int
}

func (h handoverWriter) Write(p []byte) (int, error) {
	select {
	case h.messageQueue <- logFrame{stream: h.stream, text: bytes.Clone(p)}:
		return len(p), nil
	case <-h.ctx.Done():
		return 0, h.ctx.Err()
	}
}

// lastMessage keeps the newest only.
type lastMessage struct{ text []byte }

func (l *lastMessage) Write(p []byte) (int, error) {
	l.text = append(l.text[:0], p...)
	return len(p), nil
}

// seenMessages remembers the newest ones by the times that the engine gave them.
type seenMessages struct {
	// times is a ring; count is how many were put into it, ever.
	times [maxSeenMessages]int64
	count int
	// newest is the latest time of all, forgotten that of all not in the ring.
	newest, forgotten int64
	// last is the one that came last, whole.
	last []byte
	// twice counts, by time, the messages that are expected a second time.
	twice map[int64]int
}

// overlapStart is the time from which all messages seen are remembered, and not later than
// atLatest if that is set. It is zero before the first message.
func (m *seenMessages) overlapStart(atLatest time.Time) time.Time {
	if m.count == 0 {
		return time.Time{}
	}
	from := m.newest - int64(maxReordering)
	if !atLatest.IsZero() {
		from = min(from, atLatest.UnixNano())
	}
	return time.Unix(0, max(from, m.forgotten+1))
}

// expectRepeats makes isNew report false once for every remembered message since the
// overlap.
func (m *seenMessages) expectRepeats(overlap time.Time) {
	m.twice = map[int64]int{}
	from := overlap.UnixNano()
	for _, at := range m.times[:min(m.count, maxSeenMessages)] {
		if at >= from {
			m.twice[at]++
		}
	}
}

// isNew reports whether a message is seen for the first time.
func (m *seenMessages) isNew(message []byte) bool {
	stamp, _, _ := bytes.Cut(message, []byte(" "))
	t, err := time.Parse(time.RFC3339Nano, string(stamp))
	if err != nil {
		return true
	}
	at := t.UnixNano()
	if m.twice[at] > 0 {
		m.twice[at]--
		return false
	}
	slot := &m.times[m.count%maxSeenMessages]
	if m.count >= maxSeenMessages {
		m.forgotten = max(m.forgotten, *slot)
	}
	*slot = at
	m.count++
	m.newest, m.last = max(m.newest, at), append(m.last[:0], message...)
	return true
}
