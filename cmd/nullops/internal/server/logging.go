package server

import (
	"io"
	"log/slog"
	"os"

	"github.com/lmittmann/tint"

	"github.com/nullops/nullops/cmd/nullops/internal/cli/output"
)

// newLogger writes JSON for programs, and coloured lines for a terminal.
func newLogger(s LogSettings, out *os.File) *slog.Logger {
	var level slog.Level
	// checkCommon has refused every text that is not a level.
	_ = level.UnmarshalText([]byte(s.Level))
	if s.Format == "text" || s.Format == "auto" && output.IsTerminal(out) {
		return slog.New(tint.NewTextHandler(out, &tint.Options{
			Level: level, NoColor: !output.WantsColors(out)}))
	}
	return slog.New(jsonHandler(out, level))
}

func jsonHandler(out io.Writer, level slog.Level) slog.Handler {
	return slog.NewJSONHandler(out, &slog.HandlerOptions{Level: level})
}
