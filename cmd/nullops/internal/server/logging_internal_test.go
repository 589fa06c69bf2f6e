package server

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/nullops/nullops/internal/logs"
	"github.com/nullops/nullops/internal/tracing"
)

// A line that belongs to a trace names it, and others have no key for it.
func TestLog_NamesTheTrace(t *testing.T) {
	t.Parallel()
	const trace = "4bf92f3577b34da6a3ce929d0e0e4736"
	var out bytes.Buffer
	log := logs.Of(logs.New(&out, slog.LevelInfo, tracing.TraceID, jsonHandler).Logger(), "test")
	log.InfoContext(t.Context(), "alone")
	parent := "00-" + trace + "-00f067aa0ba902b7-"
	log.InfoContext(tracing.WithParent(t.Context(), parent+"01"), "traced")
	log.InfoContext(tracing.WithParent(t.Context(), parent+"00"), "not sampled")
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	// promise: G-10
	if len(lines) != 3 || strings.Contains(lines[0], "trace_id") ||
		!strings.Contains(lines[1], `"trace_id":"`+trace+`"`) ||
		strings.Contains(lines[2], "trace_id") {
		t.Errorf("lines %q", lines)
	}
}
