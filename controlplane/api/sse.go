package api

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/nullops/nullops/controlplane"
)

// The rhythm of a stream.
const (
	// pollEvery is how soon a change is seen whose wake-up got lost.
	pollEvery = 2 * time.Second
	// pollShared is how old a result may be that a poll without a notification shares with
	// other streams, of which there may be a thousand.
	pollShared = pollEvery / 2
	// checkEvery is how long a person may keep listening after they were signed out, if
	// the notification is lost: docs/threats.md, T17. The tests allow 5 s.
	checkEvery = 4 * time.Second
	// beatEvery keeps proxies from closing a quiet stream, and lets both ends notice a
	// dead one. It is looked at every pollEvery, so a comment comes within ten seconds.
	beatEvery = 8 * time.Second
	// writeWithin is how long a listener may leave us waiting.
	writeWithin = 10 * time.Second
)

// sse writes server-sent events. Events are collected until flush sends them in one
// write, with a deadline, so that a client that stops reading is disconnected.
type sse struct {
	w       http.ResponseWriter
	control *http.ResponseController
	batch   bytes.Buffer
	// sent is when something was sent last.
	sent time.Time
}

// stream is the body of a text/event-stream answer. The function returns why it ended;
// by then the answer has begun, so the error is only logged.
type stream struct {
	log *slog.Logger
	ctx context.Context
	run func(ctx context.Context, out *sse) error
}

func (s stream) VisitStreamDeploymentResponse(w http.ResponseWriter) error  { return s.serve(w) }
func (s stream) VisitStreamEventsResponse(w http.ResponseWriter) error      { return s.serve(w) }
func (s stream) VisitStreamServiceLogsResponse(w http.ResponseWriter) error { return s.serve(w) }
func (s stream) VisitStreamLogsResponse(w http.ResponseWriter) error        { return s.serve(w) }
func (s stream) VisitStreamMailsResponse(w http.ResponseWriter) error       { return s.serve(w) }
func (s stream) VisitStreamNodesResponse(w http.ResponseWriter) error       { return s.serve(w) }
func (s stream) VisitStreamProvisionResponse(w http.ResponseWriter) error   { return s.serve(w) }

func (s stream) serve(w http.ResponseWriter) error {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store, no-transform")
	// Proxies such as nginx would hold events back until a buffer is full.
	h.Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	ctx, cancel := context.WithCancel(s.ctx)
	defer cancel()
	out := &sse{w: w, control: http.NewResponseController(w)}
	// The server's own read deadline would end the stream in the middle.
	_ = out.control.SetReadDeadline(time.Time{})
	out.addComment("open")
	err := out.flush()
	if err == nil {
		err = s.run(ctx, out)
	}
	s.logEnd(err)
	return nil
}

// logEnd logs what is our fault. That a listener left or may listen no longer
// is everyday life.
func (s stream) logEnd(err error) {
	if err == nil || s.ctx.Err() != nil || controlplane.KindOf(err) != "" {
		return
	}
	s.log.WarnContext(s.ctx, "stream ended", "request_id", requestID(s.ctx), "error", err.Error())
}

// addEvent adds an event. After an event without an id, a listener resumes from the
// last one with an id.
func (s *sse) addEvent(name, id string, data any) error {
	body, err := json.Marshal(data)
	if err != nil {
		return fmt.Errorf("encode event %s: %w", name, err)
	}
	// JSON escapes line breaks, so that data is one line.
	if id != "" {
		s.batch.WriteString("id: " + id + "\n")
	}
	s.batch.WriteString("event: " + name + "\ndata: ")
	s.batch.Write(body)
	s.batch.WriteString("\n\n")
	return nil
}

// addComment adds what listeners ignore.
func (s *sse) addComment(text string) { s.batch.WriteString(": " + text + "\n\n") }

// flush sends what was collected.
func (s *sse) flush() error {
	if s.batch.Len() == 0 {
		return nil
	}
	if err := s.control.SetWriteDeadline(time.Now().Add(writeWithin)); err != nil {
		return fmt.Errorf("set write deadline: %w", err)
	}
	if _, err := s.batch.WriteTo(s.w); err != nil {
		return fmt.Errorf("write events: %w", err)
	}
	s.batch.Reset()
	s.sent = time.Now()
	if err := s.control.Flush(); err != nil {
		return fmt.Errorf("flush events: %w", err)
	}
	return nil
}

// sendHeartbeat sends a comment when it has been quiet for long.
func (s *sse) sendHeartbeat(now time.Time) error {
	if now.Sub(s.sent) < beatEvery {
		return nil
	}
	s.addComment("still here")
	return s.flush()
}

// pollFunc adds what is new for the caller to a stream, a bounded amount. more is set
// if there is more.
type pollFunc func(context.Context, caller) (more bool, err error)

// streamChanges polls when one of the topics was notified, and every pollEvery, until
// a poll fails or the context ends. Before each poll it checks the caller's access
// again, and passes the caller as they are now.
func (s *server) streamChanges(
	ctx context.Context,
	out *sse,
	key string,
	topics []controlplane.Topic,
	look pollFunc,
) error {
	wake, stop := s.Subscribe(key, topics...)
	defer stop()
	touched, stopTouched := s.Subscribe("", controlplane.TopicAccess)
	defer stopTouched()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	who, checked := callerOf(ctx), time.Time{}
	asOf := time.Now()
	for {
		// Handle loss of access first: its notification precedes those that came after it.
		select {
		case <-touched:
			checked = time.Time{}
		default:
		}
		if now := time.Now(); now.Sub(checked) >= checkEvery {
			var err error
			if who, err = s.reauthenticateCaller(ctx, who); err != nil {
				return err
			}
			checked = now
		}
		who.asOf = asOf
		more, err := look(ctx, who)
		if err != nil {
			return err
		}
		if err := out.flush(); err != nil {
			return err
		}
		if more {
			continue
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-touched:
			asOf, checked = time.Now(), time.Time{}
		case <-wake:
			asOf = time.Now()
		case now := <-tick.C:
			asOf = now.Add(-pollShared)
			if err := out.sendHeartbeat(now); err != nil {
				return err
			}
		}
	}
}
