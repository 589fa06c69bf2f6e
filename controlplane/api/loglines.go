package api

import (
	"context"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/logbook"
	"github.com/nullops/nullops/pipeline"
)

const (
	// logPage is how many stored lines are read at once.
	logPage = 1000
	// tellAgain is how long to wait before a service's log is requested again after it
	// ended or failed.
	tellAgain = 2 * time.Second
	// defaultTail is how many lines back a log begins, for each source.
	defaultTail = 500
)

// logWish is which lines a client wants to read.
type logWish struct {
	sources []string
	run     int
	follow  bool
	// tail is for each source; 0 means all of them.
	tail int
	logbook.LineFilter
	// resumed is where the listener was before it lost its connection.
	resumed logPosition
}

// logPosition is a line's place in a merged log: its time, and how many lines
// with that very time came up to it.
type logPosition struct {
	at    time.Time
	count int
}

func (p logPosition) advance(at time.Time) logPosition {
	if p.at.Equal(at) {
		return logPosition{at, p.count + 1}
	}
	return logPosition{at, 1}
}

func (p logPosition) String() string {
	return p.at.UTC().Format(time.RFC3339Nano) + "/" + strconv.Itoa(p.count)
}

func parseLogPosition(id string) (p logPosition, ok bool) {
	at, count, ok := strings.Cut(id, "/")
	var errAt, errCount error
	p.at, errAt = time.Parse(time.RFC3339Nano, at)
	p.count, errCount = strconv.Atoi(count)
	return p, ok && errAt == nil && errCount == nil && p.count > 0
}

// logReader reads the wanted lines of one deployment, source by source.
type logReader struct {
	server *server
	actor  access.Actor
	wish   logWish
	id     controlplane.DeploymentID
	run    int
	// services are the steps that have a log on a node.
	services map[pipeline.StepKey]bool
	sources  []pipeline.StepKey
	// trouble receives a message when a source's log cannot be read.
	trouble chan<- sourceTrouble
}

// sourceTrouble is why lines of a source may be missing.
type sourceTrouble struct {
	source pipeline.StepKey
	err    *controlplane.Error
}

func (s *server) logReader(
	ctx context.Context, id controlplane.DeploymentID, wish logWish,
) (*logReader, controlplane.Deployment, error) {
	d, err := s.Lifecycle.Get(ctx, actorOf(ctx), id)
	if err != nil {
		return nil, d, err
	}
	r := &logReader{server: s, actor: actorOf(ctx), wish: wish, id: id, run: wish.run,
		services: map[pipeline.StepKey]bool{}}
	if r.run == 0 {
		r.run = d.Run
	}
	for _, v := range d.Versions {
		r.services[v.Step] = r.run == d.Run
	}
	if r.wish.resumed.count > 0 {
		// When resuming, read everything after the last line that was seen.
		r.wish.Since, r.wish.tail = r.wish.resumed.at, 0
	}
	return r, d, r.chooseSources(ctx)
}

// chooseSources finds the sources: those that were named, or all steps of the run.
func (r *logReader) chooseSources(ctx context.Context) error {
	run, err := r.server.Lifecycle.Run(ctx, r.actor, r.id, r.run)
	if err != nil {
		return err
	}
	var known []pipeline.StepKey
	for _, step := range run.Steps {
		known = append(known, step.Key)
	}
	if len(r.wish.sources) == 0 {
		r.sources = known
		return nil
	}
	for _, name := range r.wish.sources {
		key := pipeline.StepKey(name)
		if !slices.Contains(known, key) {
			return controlplane.NewNotFoundError("service or step", name)
		}
		if !slices.Contains(r.sources, key) {
			r.sources = append(r.sources, key)
		}
	}
	return nil
}

// mergeSources merges all sources. The channel is closed after the last line, or when
// ctx ends.
func (r *logReader) mergeSources(ctx context.Context) <-chan logbook.Line {
	var all []<-chan logbook.Line
	for _, source := range r.sources {
		c := make(chan logbook.Line, 16)
		all = append(all, c)
		go func() { defer close(c); r.readSource(ctx, source, c) }()
	}
	merged := make(chan logbook.Line, 64)
	go func() {
		defer close(merged)
		logbook.MergeLines(ctx, all, r.wish.follow, merged)
	}()
	return merged
}

// readSource passes one source's lines on: a service's from its node while it has a
// container, and what is kept here otherwise.
func (r *logReader) readSource(
	ctx context.Context,
	source pipeline.StepKey,
	out chan<- logbook.Line,
) {
	s := &logSource{logReader: r, key: source, out: out, since: r.wish.Since, tail: r.wish.tail}
	wake, stop := r.server.Subscribe(string(r.id), controlplane.TopicLog,
		controlplane.TopicDeployment)
	defer stop()
	for {
		over := s.readAvailable(ctx)
		if over || !r.wish.follow {
			return
		}
		pause := time.NewTimer(s.pollInterval())
		select {
		case <-ctx.Done():
			pause.Stop()
			return
		case <-wake:
			pause.Stop()
		case <-pause.C:
		}
	}
}

// pollInterval is the time until the next poll without a notification: lines of
// plugins notify, lines of services do not.
func (s *logSource) pollInterval() time.Duration {
	if s.services[s.key] {
		return tellAgain
	}
	return 10 * tellAgain
}

// logSource is the reading position of one source.
type logSource struct {
	*logReader
	key pipeline.StepKey
	out chan<- logbook.Line
	// since and tail are for the next request to the service's node.
	since time.Time
	tail  int
	// number is the last stored line's.
	number int64
	// live is set after the node sent lines: the logbook's lines repeat them.
	live bool
	told string
}

// readAvailable reads all there is, and reports whether there will be no more.
func (s *logSource) readAvailable(ctx context.Context) bool {
	d, err := s.server.Lifecycle.Get(ctx, s.actor, s.id)
	if err != nil {
		return ctx.Err() != nil || controlplane.KindOf(err) == controlplane.NotFound
	}
	over := d.Status.IsGone() || d.Status == controlplane.Failed || s.run != d.Run
	if s.services[s.key] && !over && s.fromNode(ctx, d) {
		s.live = true
		return ctx.Err() != nil
	}
	if !s.live {
		s.sendStored(ctx)
	}
	return over || ctx.Err() != nil
}

// fromNode is false when the node has no such log, or cannot be asked.
func (s *logSource) fromNode(ctx context.Context, d controlplane.Deployment) bool {
	o := LogOptions{Follow: s.wish.follow, Tail: s.tail, Since: s.since}
	if s.wish.Search != "" || !s.wish.Until.IsZero() {
		// The last lines that are wanted may be anywhere.
		o.Tail = 0
	}
	log, err := s.server.openServiceLog(ctx, d, s.key, o)
	if err != nil {
		s.reportTrouble(ctx, err)
		return false
	}
	s.told = ""
	defer log.Close()
	stop := context.AfterFunc(ctx, func() { _ = log.Close() })
	defer stop()
	if err := s.forwardLines(ctx, log); err != nil && ctx.Err() == nil {
		s.reportTrouble(ctx, err)
	}
	return true
}

// forwardLines sends what the choice takes, until the log ends or is past it.
func (s *logSource) forwardLines(ctx context.Context, log io.ReadCloser) error {
	within, cancel := context.WithCancel(ctx)
	defer cancel()
	queue := newLineQueue()
	ended := make(chan error, 1)
	go func() { ended <- queue.readLines(within, log, mergedLine); close(queue.lines) }()
	last := &tailBuffer{most: s.wish.tail}
	if s.wish.follow {
		// There is no end to count back from; the node chose where to begin.
		last.most = 0
	}
	for l := range queue.lines {
		queue.room.Release(l.size)
		line := logbook.Line{At: l.At, Source: s.key, Text: l.Text}
		if s.wish.IsPastEnd(line) {
			break
		}
		// If the log is requested again, start after this line. A long line may end after
		// younger ones of the other stream.
		if next := l.At.Add(1); next.After(s.since) {
			s.since = next
		}
		s.tail = 0
		if s.wish.Matches(line) && !last.add(line) && !s.sendLine(ctx, line) {
			break
		}
	}
	last.forEach(func(l logbook.Line) bool { return s.sendLine(ctx, l) })
	cancel()
	_ = log.Close()
	// The reader must not wait for us.
	for more := true; more; {
		_, more = <-queue.lines
	}
	return <-ended
}

func (s *logSource) sendLine(ctx context.Context, l logbook.Line) bool {
	select {
	case s.out <- l:
		return true
	case <-ctx.Done():
		return false
	}
}

// reportTrouble reports once why a source is missing. It ignores a service that has no
// container yet, or had one and was removed.
func (s *logSource) reportTrouble(ctx context.Context, err error) {
	var known *controlplane.Error
	switch {
	case ctx.Err() != nil:
		return
	case !errors.As(err, &known):
		known = &controlplane.Error{Kind: controlplane.Unavailable, Code: "node_unreachable",
			Message: "the node did not give the log to its end",
			Remedy:  "Try again when the node is online."}
	case known.Code == "no_logs", known.Code == "no_logs_yet", known.Code == "no_node":
		return
	}
	if s.told == known.Code || s.trouble == nil {
		return
	}
	s.told = known.Code
	select {
	case s.trouble <- sourceTrouble{s.key, known}:
	case <-ctx.Done():
	}
}

// sendStored sends the logbook's lines after the last one read: those of plugins, and
// the last lines of removed services.
func (s *logSource) sendStored(ctx context.Context) {
	last := &tailBuffer{most: s.wish.tail}
	if s.number > 0 {
		last.most = 0
	}
	for {
		page, more, err := s.server.Logbook.Step(ctx, s.actor, s.id, s.run, s.key, s.number, logPage)
		if err != nil {
			break
		}
		for _, l := range page {
			s.number = l.Number
			line := logbook.Line{At: l.At, Source: s.key, Text: l.Text, Dropped: l.Dropped}
			if s.wish.Matches(line) && !last.add(line) && !s.sendLine(ctx, line) {
				return
			}
		}
		if !more {
			break
		}
	}
	last.forEach(func(l logbook.Line) bool { return s.sendLine(ctx, l) })
}

// tailBuffer keeps the last lines only, where the node cannot select them.
type tailBuffer struct {
	most  int
	lines []logbook.Line
	bytes int
}

// add is false when the line is to be passed on at once.
func (n *tailBuffer) add(l logbook.Line) bool {
	if n.most == 0 {
		return false
	}
	n.lines = append(n.lines, l)
	n.bytes += len(l.Text)
	for len(n.lines) > n.most || n.bytes > newestBytes {
		n.bytes -= len(n.lines[0].Text)
		n.lines[0].Text = ""
		n.lines = n.lines[1:]
	}
	return true
}

func (n *tailBuffer) forEach(send func(logbook.Line) bool) {
	for _, l := range n.lines {
		if !send(l) {
			return
		}
	}
}
