package server

import (
	"io"
	"log/slog"
	"os"

	"github.com/lmittmann/tint"

	"github.com/nullops/nullops/cmd/nullops/internal/cli/output"
	"github.com/nullops/nullops/internal/logs"
	"github.com/nullops/nullops/internal/tracing"
)

// newLog writes JSON for programs, and coloured lines for a terminal.
func newLog(s LogSettings, out *os.File) *logs.Log {
	var level slog.Level
	// checkCommon has refused every text that is not a level.
	_ = level.UnmarshalText([]byte(s.Level))
	encode := jsonHandler
	if s.Format == "text" || s.Format == "auto" && output.IsTerminal(out) {
		encode = func(to io.Writer) slog.Handler {
			return tint.NewTextHandler(to, &tint.Options{Level: slog.LevelDebug,
				NoColor: !output.WantsColors(out)})
		}
	}
	return logs.New(out, level, tracing.TraceID, encode)
}

func jsonHandler(out io.Writer) slog.Handler {
	return slog.NewJSONHandler(out, &slog.HandlerOptions{Level: slog.LevelDebug})
}
