package cli

import (
	"strings"
	"testing"
)

// A person who watches a deployment sees the progress of its pulls: bytes and layers, not each of
// the reports, and always the last.
func TestWatcher_ShowsPulls(t *testing.T) {
	var out strings.Builder
	w := &watcher{out: &out, run: 2}
	for _, data := range []string{
		`{"run":2,"step":"db","at":"2026-11-21T12:00:00Z"}`,
		`{"run":1,"step":"db","at":"2026-11-21T12:00:00Z","total_bytes":9}`,
		`{"run":2,"step":"db","at":"2026-11-21T12:00:00Z","pulled_bytes":1500000,` +
			`"total_bytes":38000000,"pulled_layers":1,"total_layers":4}`,
		`{"run":2,"step":"db","at":"2026-11-21T12:00:01Z","pulled_bytes":1600000,` +
			`"total_bytes":38000000,"pulled_layers":1,"total_layers":4}`,
		`{"run":2,"step":"db","at":"2026-11-21T12:00:02Z","pulled_bytes":38000000,` +
			`"total_bytes":38000000,"pulled_layers":4,"total_layers":4}`,
	} {
		if done, err := w.printEvent(sse{Event: "progress", Data: data}); err != nil || done {
			t.Fatalf("%s: done %t, error %v", data, done, err)
		}
	}
	want := "   db               pulling  1.5 MB of 38 MB, 1 of 4 layers\n" +
		"   db               pulling  38 MB of 38 MB, 4 of 4 layers\n"
	if out.String() != want {
		t.Errorf("shown:\n%swanted:\n%s", out.String(), want)
	}
}
