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
	// pollShared is how old a look without a wake-up may be: a thousand streams
	// that look every now and then share it.
	pollShared = pollEvery / 2
	// checkEvery is how long somebody may go on listening after they were
	// signed out without a wake-up reaching us. threats.md (T17) asks for 5 s.
	checkEvery = 4 * time.Second
	// beatEvery keeps proxies from closing a quiet stream, and lets both ends
	// notice a dead one.
	beatEvery = 15 * time.Second
	// writeWithin is how long a listener may leave us waiting.
	writeWithin = 10 * time.Second
)

// sse writes server-sent events. Events collect until flush sends them: one
// write for a batch, with a deadline, so that who stops reading is let go.
type sse struct {
	w       http.ResponseWriter
	control *http.ResponseController
	batch   bytes.Buffer
	// sent is when something last went out.
	sent time.Time
}

// stream is the body of a text/event-stream answer. What the function returns
// is why it ended; the answer has begun by then, so nobody is told.
type stream struct {
	log *slog.Logger
	ctx context.Context
	run func(ctx context.Context, out *sse) error
}

func (s stream) VisitStreamDeploymentResponse(w http.ResponseWriter) error  { return s.visit(w) }
func (s stream) VisitStreamEventsResponse(w http.ResponseWriter) error      { return s.visit(w) }
func (s stream) VisitStreamServiceLogsResponse(w http.ResponseWriter) error { return s.visit(w) }
func (s stream) VisitStreamLogsResponse(w http.ResponseWriter) error        { return s.visit(w) }
func (s stream) VisitStreamNodesResponse(w http.ResponseWriter) error       { return s.visit(w) }
func (s stream) VisitStreamProvisionResponse(w http.ResponseWriter) error   { return s.visit(w) }

func (s stream) visit(w http.ResponseWriter) error {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store, no-transform")
	// Proxies of nginx's kind would keep events back until a buffer is full.
	h.Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	ctx, cancel := context.WithCancel(s.ctx)
	defer cancel()
	out := &sse{w: w, control: http.NewResponseController(w)}
	// The server's own read deadline would end the stream in the middle.
	_ = out.control.SetReadDeadline(time.Time{})
	out.comment("open")
	err := out.flush()
	if err == nil {
		err = s.run(ctx, out)
	}
	s.ended(err)
	return nil
}

// ended logs what is our fault. That a listener left or may listen no longer
// is everyday life.
func (s stream) ended(err error) {
	if err == nil || s.ctx.Err() != nil || controlplane.KindOf(err) != "" {
		return
	}
	s.log.WarnContext(s.ctx, "stream ended", "request", requestID(s.ctx), "err", err.Error())
}

// event adds an event. Without an id, a listener resumes behind the one before.
func (s *sse) event(name, id string, data any) error {
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

// comment adds what listeners ignore.
func (s *sse) comment(text string) { s.batch.WriteString(": " + text + "\n\n") }

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

// beat sends a comment when it has been quiet for long.
func (s *sse) beat(now time.Time) error {
	if now.Sub(s.sent) < beatEvery {
		return nil
	}
	s.comment("still here")
	return s.flush()
}

// looker adds to a stream what is new to the caller, a bounded amount. more
// says that there is more already.
type looker func(context.Context, caller) (more bool, err error)

// watch looks whenever one of the topics was touched, and every pollEvery,
// until looking fails or the context ends. Before each look it makes sure that
// the caller is still who they were; look gets them as they are now.
func (s *server) watch(ctx context.Context, out *sse, key string, topics []controlplane.Topic,
	look looker) error {
	wake, stop := s.Subscribe(key, topics...)
	defer stop()
	touched, stopTouched := s.Subscribe("", controlplane.TopicAccess)
	defer stopTouched()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	who, checked := callerOf(ctx), time.Time{}
	asOf := time.Now()
	for {
		// What took the access away was told before what came after it, and counts first.
		select {
		case <-touched:
			checked = time.Time{}
		default:
		}
		if now := time.Now(); now.Sub(checked) >= checkEvery {
			var err error
			if who, err = s.again(ctx, who); err != nil {
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
			if err := out.beat(now); err != nil {
				return err
			}
		}
	}
}
