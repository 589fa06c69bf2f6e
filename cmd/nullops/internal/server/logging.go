package server

import (
	"context"
	"io"
	"log/slog"
	"os"

	"github.com/lmittmann/tint"

	"github.com/nullops/nullops/cmd/nullops/internal/cli/output"
	"github.com/nullops/nullops/internal/tracing"
)

// newLogger writes JSON for programs, and coloured lines for a terminal.
func newLogger(s LogSettings, out *os.File) *slog.Logger {
	var level slog.Level
	// checkCommon has refused every text that is not a level.
	_ = level.UnmarshalText([]byte(s.Level))
	if s.Format == "text" || s.Format == "auto" && output.IsTerminal(out) {
		return slog.New(traceIDs{tint.NewTextHandler(out, &tint.Options{
			Level: level, NoColor: !output.WantsColors(out)})})
	}
	return slog.New(traceIDs{jsonHandler(out, level)})
}

// traceIDs adds the trace that a line belongs to, so that people find one by the other.
type traceIDs struct{ slog.Handler }

// Handle implements slog.Handler.
func (h traceIDs) Handle(ctx context.Context, r slog.Record) error {
	if id := tracing.TraceID(ctx); id != "" {
		r = r.Clone()
		r.AddAttrs(slog.String("trace_id", id))
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h traceIDs) WithAttrs(attrs []slog.Attr) slog.Handler {
	return traceIDs{h.Handler.WithAttrs(attrs)}
}

// WithGroup implements slog.Handler.
func (h traceIDs) WithGroup(name string) slog.Handler { return traceIDs{h.Handler.WithGroup(name)} }

func jsonHandler(out io.Writer, level slog.Level) slog.Handler {
	return slog.NewJSONHandler(out, &slog.HandlerOptions{Level: level})
}
