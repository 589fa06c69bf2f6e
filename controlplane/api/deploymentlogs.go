package api

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/logbook"
	"github.com/nullops/nullops/internal/text"
)

// defaultTail is how many lines back a log begins, for each source.
const defaultTail = 500

// logPosition is a line's place in a merged log: its time, and how many lines
// with exactly that time were sent up to it.
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

// StreamLogs follows the log of several services and steps of one deployment,
// merged by time.
func (s *server) StreamLogs(
	ctx context.Context, r StreamLogsRequestObject,
) (StreamLogsResponseObject, error) {
	id, err := deploymentID(r.Id)
	if err != nil {
		return nil, err
	}
	q := logbook.Query{Sources: valueOr(r.Params.Source, nil), Run: valueOr(r.Params.Run, 0),
		Follow: valueOr(r.Params.Follow, false), Tail: valueOr(r.Params.Tail, defaultTail),
		LineFilter: logbook.LineFilter{Since: valueOr(r.Params.Since, time.Time{}),
			Until: valueOr(r.Params.Until, time.Time{}), Search: valueOr(r.Params.Search, "")}}
	var resumed logPosition
	if p, ok := parseLogPosition(valueOr(r.Params.LastEventID, "")); ok {
		// When resuming, read everything after the last line that was seen.
		resumed, q.Since, q.Tail = p, p.at, 0
	}
	reading, d, err := s.logs.Open(ctx, actorOf(ctx), id, q)
	if err != nil {
		return nil, err
	}
	return stream{log: s.Log, ctx: ctx, run: func(ctx context.Context, out *sse) error {
		return s.passMerged(ctx, out, d.ID, reading, resumed)
	}}, nil
}

// passMerged sends lines until they end, or the caller may see them no longer.
func (s *server) passMerged(ctx context.Context, out *sse, id controlplane.DeploymentID,
	reading *logbook.Reading, resumed logPosition) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	lines := reading.MergeSources(ctx)
	touched, stop := s.Subscribe("", controlplane.TopicAccess)
	defer stop()
	check := time.NewTicker(checkEvery)
	defer check.Stop()
	at := logPosition{}
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-touched:
			if err := s.mayStill(ctx, id); err != nil {
				return err
			}
		case now := <-check.C:
			if err := s.mayStill(ctx, id); err != nil {
				return err
			}
			if err := out.sendHeartbeat(now); err != nil {
				return err
			}
		case t := <-reading.Trouble():
			if err := out.addEvent("trouble", "", LogTrouble{Source: string(t.Source),
				Code: t.Err.Code, Detail: t.Err.Message}); err != nil {
				return err
			}
		case l, more := <-lines:
			if !more {
				return sendEnd(out)
			}
			if err := sendMerged(out, l, lines, &at, resumed); err != nil {
				return err
			}
		}
		if err := out.flush(); err != nil {
			return err
		}
	}
}

func sendEnd(out *sse) error {
	if err := out.addEvent("end", "", struct{}{}); err != nil {
		return err
	}
	return out.flush()
}

// sendMerged adds a line, and those that are there already. What a listener saw
// before they lost the connection is left out.
func sendMerged(out *sse, l logbook.Line, lines <-chan logbook.Line, at *logPosition,
	resumed logPosition) error {
	for sent := 0; ; sent++ {
		*at = at.advance(l.At)
		if !at.at.Equal(resumed.at) || at.count > resumed.count {
			if err := out.addEvent("line", at.String(), logLine(l)); err != nil {
				return err
			}
		}
		if sent == cap(lines) {
			return nil
		}
		select {
		case next, more := <-lines:
			if !more {
				// The channel stays closed: the next reader sees the end.
				return nil
			}
			l = next
		default:
			return nil
		}
	}
}

func logLine(l logbook.Line) DeploymentLogLine {
	return DeploymentLogLine{At: l.At, Source: string(l.Source), Text: l.Text,
		Dropped: ptrOrNil(l.Dropped)}
}

// DownloadLogs returns the same lines as one text.
func (s *server) DownloadLogs(
	ctx context.Context, r DownloadLogsRequestObject,
) (DownloadLogsResponseObject, error) {
	id, err := deploymentID(r.Id)
	if err != nil {
		return nil, err
	}
	q := logbook.Query{Sources: valueOr(r.Params.Source, nil), Run: valueOr(r.Params.Run, 0),
		Tail: valueOr(r.Params.Tail, 0),
		LineFilter: logbook.LineFilter{Since: valueOr(r.Params.Since, time.Time{}),
			Until: valueOr(r.Params.Until, time.Time{}), Search: valueOr(r.Params.Search, "")}}
	reading, d, err := s.logs.Open(ctx, actorOf(ctx), id, q)
	if err != nil {
		return nil, err
	}
	return logText{ctx: ctx, reading: reading, name: d.Name,
		stamps: valueOr(r.Params.Timestamps, true)}, nil
}

// logText is the body of a download.
type logText struct {
	ctx     context.Context
	reading *logbook.Reading
	name    string
	stamps  bool
}

// VisitDownloadLogsResponse implements DownloadLogsResponseObject.
func (t logText) VisitDownloadLogsResponse(w http.ResponseWriter) error {
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("Content-Disposition", `attachment; filename="`+t.name+`.log"`)
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusOK)
	ctx, cancel := context.WithCancel(t.ctx)
	defer cancel()
	out := textLines{control: http.NewResponseController(w), w: bufio.NewWriterSize(w, 32<<10),
		stamps: t.stamps, named: len(t.reading.Sources) > 1}
	lines := t.reading.MergeSources(ctx)
	for {
		select {
		case l, more := <-lines:
			if !more {
				return out.w.Flush()
			}
			if out.writeLine(l) != nil {
				// The client disconnected; there is nothing to answer.
				return nil
			}
		case x := <-t.reading.Trouble():
			out.writeTrouble(x)
		}
	}
}

// textLines writes lines for an editor: no escape sequence is left in them.
type textLines struct {
	control *http.ResponseController
	w       *bufio.Writer
	stamps  bool
	named   bool
}

func (o textLines) writeLine(l logbook.Line) error {
	if err := o.control.SetWriteDeadline(time.Now().Add(writeWithin)); err != nil {
		return err
	}
	var prefix strings.Builder
	if o.stamps {
		prefix.WriteString(l.At.UTC().Format("2006-01-02T15:04:05.000Z") + " ")
	}
	if o.named {
		prefix.WriteString(string(l.Source) + " | ")
	}
	if l.Dropped > 0 {
		fmt.Fprintf(o.w, "%s… %d lines left out\n", prefix.String(), l.Dropped)
	}
	_, err := fmt.Fprintf(o.w, "%s%s\n", prefix.String(), text.SanitizeText(l.Text))
	return err
}

func (o textLines) writeTrouble(t logbook.Trouble) {
	_, _ = fmt.Fprintf(o.w, "# %s: %s\n", t.Source, t.Err.Message)
}
