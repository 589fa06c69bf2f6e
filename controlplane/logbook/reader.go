package logbook

import (
	"context"
	"slices"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/pipeline"
)

const (
	// logPage is how many stored lines are read at once.
	logPage = 1000
	// pollAgain is how long to wait before a service's log is requested again after it
	// ended or failed.
	pollAgain = 2 * time.Second
	// mergedLine is the longest line of a log with several sources, of which more
	// lines wait at once, and newestBytes what is kept to find the last lines.
	mergedLine  = 256 << 10
	newestBytes = 16 << 20
)

// Reader reads the logs of a deployment's services and steps: those of services from their node
// while it has them, all others from the logbook.
type Reader struct {
	Logbook *Logbook
	// Nodes is nil if no node can be asked.
	Nodes NodeLogs
	// Deployment returns a deployment that the actor may read, and RunSteps the steps of one of
	// its runs.
	Deployment func(context.Context, access.Actor, controlplane.DeploymentID) (
		controlplane.Deployment, error)
	RunSteps func(_ context.Context, _ access.Actor, _ controlplane.DeploymentID, run int) (
		[]pipeline.StepKey, error)
	// Subscribe returns a channel that receives after a change of the topics.
	Subscribe func(key string, topics ...controlplane.Topic) (wake <-chan struct{}, stop func())
}

// Query says which lines of a deployment are wanted.
type Query struct {
	// Sources are services and steps; none means all of the run.
	Sources []string
	// Run is the run's number; 0 means the latest.
	Run    int
	Follow bool
	// Tail is for each source; 0 means all lines.
	Tail int
	LineFilter
}

// Reading reads the wanted lines of one deployment, source by source.
type Reading struct {
	Sources []pipeline.StepKey

	reader *Reader
	actor  access.Actor
	query  Query
	id     controlplane.DeploymentID
	run    int
	// services are the steps that have a log on a node.
	services map[pipeline.StepKey]bool
	trouble  chan Trouble
}

// Trouble is why lines of a source may be missing.
type Trouble struct {
	Source pipeline.StepKey
	Err    *controlplane.Error
}

// Open finds the sources of a deployment's lines.
func (r *Reader) Open(ctx context.Context, actor access.Actor, id controlplane.DeploymentID,
	q Query) (*Reading, controlplane.Deployment, error) {
	d, err := r.Deployment(ctx, actor, id)
	if err != nil {
		return nil, d, err
	}
	g := &Reading{reader: r, actor: actor, query: q, id: id, run: q.Run,
		services: map[pipeline.StepKey]bool{}, trouble: make(chan Trouble)}
	if g.run == 0 {
		g.run = d.Run
	}
	for _, v := range d.Versions {
		g.services[v.Step] = g.run == d.Run
	}
	return g, d, g.chooseSources(ctx)
}

// chooseSources finds the sources: those that were named, or all steps of the run.
func (g *Reading) chooseSources(ctx context.Context) error {
	known, err := g.reader.RunSteps(ctx, g.actor, g.id, g.run)
	if err != nil {
		return err
	}
	if len(g.query.Sources) == 0 {
		g.Sources = known
		return nil
	}
	for _, name := range g.query.Sources {
		key := pipeline.StepKey(name)
		if !slices.Contains(known, key) {
			return controlplane.NewNotFoundError("service or step", name)
		}
		if !slices.Contains(g.Sources, key) {
			g.Sources = append(g.Sources, key)
		}
	}
	return nil
}

// Trouble receives a message when a source's log cannot be read.
func (g *Reading) Trouble() <-chan Trouble { return g.trouble }

// MergeSources merges all sources. The channel is closed after the last line, or when
// ctx ends.
func (g *Reading) MergeSources(ctx context.Context) <-chan Line {
	var all []<-chan Line
	for _, source := range g.Sources {
		c := make(chan Line, 16)
		all = append(all, c)
		go func() { defer close(c); g.readSource(ctx, source, c) }()
	}
	merged := make(chan Line, 64)
	go func() {
		defer close(merged)
		MergeLines(ctx, all, g.query.Follow, merged)
	}()
	return merged
}

// readSource passes one source's lines on: a service's from its node while it has a
// container, and what is kept here otherwise.
func (g *Reading) readSource(
	ctx context.Context,
	source pipeline.StepKey,
	out chan<- Line,
) {
	s := &logSource{Reading: g, key: source, out: out, since: g.query.Since, tail: g.query.Tail}
	wake, stop := g.reader.Subscribe(string(g.id), controlplane.TopicLog,
		controlplane.TopicDeployment)
	defer stop()
	for {
		over := s.readAvailable(ctx)
		if over || !g.query.Follow {
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
		return pollAgain
	}
	return 10 * pollAgain
}

// logSource is the reading position of one source.
type logSource struct {
	*Reading
	key pipeline.StepKey
	out chan<- Line
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
	d, err := s.reader.Deployment(ctx, s.actor, s.id)
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
	o := NodeLogOptions{Follow: s.query.Follow, Tail: s.tail, Since: s.since}
	if s.query.Search != "" || !s.query.Until.IsZero() {
		// The last lines that are wanted may be anywhere.
		o.Tail = 0
	}
	log, err := s.reader.OpenNodeStream(ctx, d, s.key, o, mergedLine)
	if err != nil {
		s.reportTrouble(ctx, err)
		return false
	}
	s.told = ""
	if err := s.forwardLines(ctx, log); err != nil && ctx.Err() == nil {
		s.reportTrouble(ctx, err)
	}
	return true
}

// forwardLines sends what the query takes, until the log ends or is past it.
func (s *logSource) forwardLines(ctx context.Context, log *NodeStream) error {
	last := &tailBuffer{most: s.query.Tail}
	if s.query.Follow {
		// There is no end to count back from; the node chose where to begin.
		last.most = 0
	}
	for l := range log.Lines() {
		log.Release(l)
		line := Line{At: l.At, Source: s.key, Text: l.Text}
		if s.query.IsPastEnd(line) {
			break
		}
		// If the log is requested again, start after this line. A long line may end after
		// younger ones of the other stream.
		if next := l.At.Add(1); next.After(s.since) {
			s.since = next
		}
		s.tail = 0
		if s.query.Matches(line) && !last.add(line) && !s.sendLine(ctx, line) {
			break
		}
	}
	last.forEach(func(l Line) bool { return s.sendLine(ctx, l) })
	return log.Close()
}

func (s *logSource) sendLine(ctx context.Context, l Line) bool {
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
	problem, known := NodeLogError(err)
	if ctx.Err() != nil || known && hasNoLog(problem) || s.told == problem.Code {
		return
	}
	s.told = problem.Code
	select {
	case s.trouble <- Trouble{s.key, problem}:
	case <-ctx.Done():
	}
}

func hasNoLog(problem *controlplane.Error) bool {
	return slices.Contains([]string{"no_logs", "no_logs_yet", "no_node"}, problem.Code)
}

// sendStored sends the logbook's lines after the last one read: those of plugins, and
// the last lines of removed services.
func (s *logSource) sendStored(ctx context.Context) {
	last := &tailBuffer{most: s.query.Tail}
	if s.number > 0 {
		last.most = 0
	}
	for {
		page, more, err := s.reader.Logbook.Step(ctx, s.actor, StepLines{Deployment: s.id, Run: s.run,
			Step: s.key, After: s.number, Most: logPage})
		if err != nil {
			break
		}
		for _, l := range page {
			s.number = l.Number
			line := Line{At: l.At, Source: s.key, Text: l.Text, Dropped: l.Dropped}
			if s.query.Matches(line) && !last.add(line) && !s.sendLine(ctx, line) {
				return
			}
		}
		if !more {
			break
		}
	}
	last.forEach(func(l Line) bool { return s.sendLine(ctx, l) })
}

// tailBuffer keeps the last lines only, where the node cannot select them.
type tailBuffer struct {
	most  int
	lines []Line
	bytes int
}

// add is false when the line is to be passed on at once.
func (n *tailBuffer) add(l Line) bool {
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

func (n *tailBuffer) forEach(send func(Line) bool) {
	for _, l := range n.lines {
		if !send(l) {
			return
		}
	}
}
