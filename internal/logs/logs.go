// Package logs is the log of a process of ours: lines in JSON for programs, or for a terminal.
//
// What lines say has one vocabulary: Keys lists every name, and a test of the layout holds the
// code to the list. Each part of the product logs as a component, whose level can be changed while
// the process runs. A flood of one line is cut; what was dropped is counted, and a line says so.
// The last lines stay in memory, for a support archive.
package logs

import (
	"context"
	"io"
	"log/slog"
	"maps"
	"sync/atomic"
)

// keptBytes bounds the lines in memory.
const keptBytes = 1 << 20

// Log is the log of a process. Make it with New.
type Log struct {
	base   slog.Level
	levels atomic.Pointer[map[string]slog.Level]
	kept   *ring
	floods *floods
	// traceID names the trace of a context; nil without tracing.
	traceID func(context.Context) string
	logger  *slog.Logger
}

// New writes lines of a level and more severe ones to out, in the form that encode makes, which
// has to pass all levels on.
func New(out io.Writer, base slog.Level, traceID func(context.Context) string,
	encode func(io.Writer) slog.Handler) *Log {
	l := &Log{base: base, kept: &ring{limit: keptBytes}, traceID: traceID}
	l.levels.Store(&map[string]slog.Level{})
	next := encode(tee{out, l.kept})
	l.floods = newFloods(next)
	l.logger = slog.New(&handler{log: l, next: next})
	return l
}

// Logger is where the process logs, as no component yet.
func (l *Log) Logger() *slog.Logger { return l.logger }

// SetLevels replaces the levels of components that differ from the process's.
func (l *Log) SetLevels(levels map[string]slog.Level) {
	copied := maps.Clone(levels)
	l.levels.Store(&copied)
}

// Recent returns the last lines.
func (l *Log) Recent() []byte { return l.kept.read() }

// Dropped is how many lines floods have lost.
func (l *Log) Dropped() int64 { return l.floods.dropped.Load() }

func (l *Log) levelOf(component string) slog.Level {
	if level, set := (*l.levels.Load())[component]; set {
		return level
	}
	return l.base
}

// handler is the log as one component sees it.
type handler struct {
	log       *Log
	next      slog.Handler
	component string
}

var _ slog.Handler = (*handler)(nil)

// Enabled implements slog.Handler.
func (h *handler) Enabled(_ context.Context, level slog.Level) bool {
	return level >= h.log.levelOf(h.component)
}

// Handle implements slog.Handler.
func (h *handler) Handle(ctx context.Context, r slog.Record) error {
	if !h.log.floods.allow(h.component, r) {
		return nil
	}
	request := requestOf(ctx)
	trace := ""
	if h.log.traceID != nil {
		trace = h.log.traceID(ctx)
	}
	if request != "" || trace != "" {
		r = r.Clone()
		if request != "" && !has(r, RequestID) {
			r.AddAttrs(slog.String(RequestID, request))
		}
		if trace != "" {
			r.AddAttrs(slog.String(TraceID, trace))
		}
	}
	return h.next.Handle(ctx, r)
}

func has(r slog.Record, key string) (found bool) {
	r.Attrs(func(a slog.Attr) bool {
		found = found || a.Key == key
		return !found
	})
	return found
}

// WithAttrs implements slog.Handler.
func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	component := h.component
	for _, a := range attrs {
		if a.Key == Component {
			component = a.Value.String()
		}
	}
	return &handler{log: h.log, next: h.next.WithAttrs(attrs), component: component}
}

// WithGroup implements slog.Handler.
func (h *handler) WithGroup(name string) slog.Handler {
	return &handler{log: h.log, next: h.next.WithGroup(name), component: h.component}
}

type requestKey struct{}

// WithRequest has every line that is logged with the returned context name the request.
func WithRequest(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, requestKey{}, id)
}

func requestOf(ctx context.Context) string {
	id, _ := ctx.Value(requestKey{}).(string)
	return id
}

// Of returns the log of one component.
func Of(log *slog.Logger, component string) *slog.Logger { return log.With(Component, component) }
