package api

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/logbook"
	"github.com/nullops/nullops/internal/text"
)

// StreamLogs follows the log of several services and steps of one deployment,
// merged by time.
func (s *server) StreamLogs(
	ctx context.Context, r StreamLogsRequestObject,
) (StreamLogsResponseObject, error) {
	id, err := deploymentID(r.Id)
	if err != nil {
		return nil, err
	}
	wish := logWish{sources: valueOr(r.Params.Source, nil), run: valueOr(r.Params.Run, 0),
		follow: valueOr(r.Params.Follow, false), tail: valueOr(r.Params.Tail, defaultTail),
		LineFilter: logbook.LineFilter{Since: valueOr(r.Params.Since, time.Time{}),
			Until: valueOr(r.Params.Until, time.Time{}), Search: valueOr(r.Params.Search, "")}}
	if p, ok := parseLogPosition(valueOr(r.Params.LastEventID, "")); ok {
		wish.resumed = p
	}
	reader, d, err := s.logReader(ctx, id, wish)
	if err != nil {
		return nil, err
	}
	return stream{log: s.Log, ctx: ctx, run: func(ctx context.Context, out *sse) error {
		return s.passMerged(ctx, out, d.ID, reader)
	}}, nil
}

// passMerged sends lines until they end, or the caller may see them no longer.
func (s *server) passMerged(ctx context.Context, out *sse, id controlplane.DeploymentID,
	reader *logReader) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	trouble := make(chan sourceTrouble)
	reader.trouble = trouble
	lines := reader.mergeSources(ctx)
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
		case t := <-trouble:
			if err := out.addEvent("trouble", "", LogTrouble{Source: string(t.source),
				Code: t.err.Code, Detail: t.err.Message}); err != nil {
				return err
			}
		case l, more := <-lines:
			if !more {
				return sendEnd(out)
			}
			if err := sendMerged(out, l, lines, &at, reader.wish.resumed); err != nil {
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
	wish := logWish{sources: valueOr(r.Params.Source, nil), run: valueOr(r.Params.Run, 0),
		tail: valueOr(r.Params.Tail, 0),
		LineFilter: logbook.LineFilter{Since: valueOr(r.Params.Since, time.Time{}),
			Until: valueOr(r.Params.Until, time.Time{}), Search: valueOr(r.Params.Search, "")}}
	reader, d, err := s.logReader(ctx, id, wish)
	if err != nil {
		return nil, err
	}
	return logText{server: s, ctx: ctx, reader: reader, name: d.Name,
		stamps: valueOr(r.Params.Timestamps, true)}, nil
}

// logText is the body of a download.
type logText struct {
	server *server
	ctx    context.Context
	reader *logReader
	name   string
	stamps bool
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
	trouble := make(chan sourceTrouble)
	t.reader.trouble = trouble
	out := textLines{control: http.NewResponseController(w), w: bufio.NewWriterSize(w, 32<<10),
		stamps: t.stamps, named: len(t.reader.sources) > 1}
	lines := t.reader.mergeSources(ctx)
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
		case x := <-trouble:
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

func (o textLines) writeTrouble(t sourceTrouble) {
	_, _ = fmt.Fprintf(o.w, "# %s: %s\n", t.source, t.err.Message)
}
