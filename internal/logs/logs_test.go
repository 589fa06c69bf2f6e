package logs_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nullops/nullops/internal/logs"
)

func newLog(out io.Writer, traceID func(context.Context) string) *logs.Log {
	return logs.New(out, slog.LevelInfo, traceID, func(w io.Writer) slog.Handler {
		return slog.NewJSONHandler(w, &slog.HandlerOptions{Level: slog.LevelDebug})
	})
}

// The level of one component changes while the process runs, and that of the others does not.
func TestLog_LevelsOfComponents(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log := newLog(&out, nil)
	fleet, jobs := logs.Of(log.Logger(), "fleet"), logs.Of(log.Logger(), "jobs")
	say := func() (said string) {
		out.Reset()
		fleet.Debug("fleet-debug")
		fleet.Info("fleet-info")
		jobs.Debug("jobs-debug")
		jobs.Info("jobs-info")
		for l := range strings.Lines(out.String()) {
			var one struct{ Msg string }
			if err := json.Unmarshal([]byte(l), &one); err != nil {
				t.Fatal(err)
			}
			said += one.Msg + " "
		}
		return said
	}
	for _, c := range []struct {
		levels map[string]slog.Level
		want   string
	}{
		{nil, "fleet-info jobs-info "},
		{map[string]slog.Level{"fleet": slog.LevelDebug}, "fleet-debug fleet-info jobs-info "},
		{map[string]slog.Level{"jobs": slog.LevelError}, "fleet-info "},
		{map[string]slog.Level{}, "fleet-info jobs-info "},
	} {
		log.SetLevels(c.levels)
		if said := say(); said != c.want {
			t.Errorf("with %v it says %q, want %q", c.levels, said, c.want)
		}
	}
}

// A line names its component, the request and the trace that it belongs to, once each.
func TestLog_NamesWhatItBelongsTo(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log := logs.Of(newLog(&out, func(context.Context) string { return "4bf9" }).Logger(), "api")
	ctx := logs.WithRequest(t.Context(), "r-1")
	log.InfoContext(ctx, "one")
	log.InfoContext(ctx, "two", "request_id", "r-2")
	log.InfoContext(t.Context(), "three")
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	for i, want := range []string{
		`"msg":"one","component":"api","request_id":"r-1","trace_id":"4bf9"}`,
		`"msg":"two","component":"api","request_id":"r-2","trace_id":"4bf9"}`,
		`"msg":"three","component":"api","trace_id":"4bf9"}`,
	} {
		if !strings.HasSuffix(lines[i], want) {
			t.Errorf("line %s, want %s", lines[i], want)
		}
	}
}

// A flood of one line is cut, other lines pass, and a line says how many were dropped. Once the
// flood is over, its line passes again.
func TestLog_DropsFloodsAndSaysSo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out lockedBuffer
		log := newLog(&out, nil)
		api := logs.Of(log.Logger(), "api")
		for range 5000 {
			api.Info("flood")
		}
		api.Info("other")
		if n := strings.Count(out.String(), `"flood"`); n != 1000 || log.Dropped() != 4000 {
			t.Errorf("%d lines passed, %d were dropped", n, log.Dropped())
		}
		if !strings.Contains(out.String(), `"other"`) {
			t.Error("another line did not pass")
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if n := strings.Count(out.String(),
			`"component":"api","line":"flood","dropped":4000`); n != 1 {
			t.Errorf("what was dropped is said %d times", n)
		}
		out.Reset()
		api.Info("flood")
		if !strings.Contains(out.String(), `"flood"`) {
			t.Error("after the flood its line does not pass")
		}
		for i := range 5000 {
			api.Info(fmt.Sprintf("message %d", i))
		}
		if n := strings.Count(out.String(), `"message `); n != 5000 {
			t.Errorf("of different lines %d passed", n)
		}
	})
}

// The last lines are in memory, no more than a megabyte of them, also if nobody can read the log.
func TestLog_KeepsTheLastLines(t *testing.T) {
	t.Parallel()
	log := newLog(failing{}, nil)
	long := strings.Repeat("x", 2000)
	for i := range 900 {
		log.Logger().Info("line", "count", i, "detail", long)
	}
	log.Logger().Info("last", "detail", strings.Repeat("y", 100_000))
	kept := string(log.Recent())
	if len(kept) > 1<<20 || len(kept) < 1<<19 || strings.Contains(kept, `"count":0,`) ||
		!strings.Contains(kept, `"count":899,`) || !strings.Contains(kept, "last") {
		t.Errorf("%d bytes are kept", len(kept))
	}
}

// lockedBuffer is read while a timer of the log may write.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func (l *lockedBuffer) Reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.b.Reset()
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// Keys have one meaning each.
func TestKeys_AreUnique(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, k := range logs.Keys() {
		if seen[k.Name] || k.Meaning == "" {
			t.Errorf("key %q is there twice, or means nothing", k.Name)
		}
		seen[k.Name] = true
	}
}
