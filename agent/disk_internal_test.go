package agent

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nullops/nullops/agent/wire"
)

func TestDiskWatch_SaysHowTheDiskDoes(t *testing.T) {
	t0 := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	at := func(seconds int) time.Time { return t0.Add(time.Duration(seconds) * time.Second) }
	full := errors.New("no space left on device")
	for name, c := range map[string]struct {
		live     func(*diskWatch)
		now      int
		severity wire.Severity
		says     string
	}{
		"nothing was written yet": {func(*diskWatch) {}, 0, wire.SeverityOK, "quick"},
		"a write is under way": {func(w *diskWatch) { w.beginWrite(at(0)) }, 1, wire.SeverityOK,
			"quick"},
		"a write takes long": {func(w *diskWatch) { w.beginWrite(at(0)) }, 5, wire.SeverityWarning,
			"taking 5 seconds so far"},
		"a write took long": {func(w *diskWatch) { w.beginWrite(at(0)); w.endWrite(at(5), nil) }, 20,
			wire.SeverityWarning, "took 5 seconds"},
		"it was a while ago": {func(w *diskWatch) { w.beginWrite(at(0)); w.endWrite(at(5), nil) }, 60,
			wire.SeverityOK, "quick"},
		"a write was refused": {func(w *diskWatch) { w.beginWrite(at(0)); w.endWrite(at(0), full) }, 1,
			wire.SeverityCritical, "no space left on device"},
		"the next one is under way": {func(w *diskWatch) {
			w.beginWrite(at(0))
			w.endWrite(at(0), full)
			w.beginWrite(at(1))
		}, 1, wire.SeverityCritical, "no space left on device"},
		"the next one was not refused": {func(w *diskWatch) {
			w.beginWrite(at(0))
			w.endWrite(at(0), full)
			w.beginWrite(at(1))
			w.endWrite(at(1), nil)
		}, 2, wire.SeverityOK, "quick"},
	} {
		t.Run(name, func(t *testing.T) {
			var w diskWatch
			c.live(&w)
			found := w.writeCheck(at(c.now), "/data")
			if found.Severity != c.severity || !strings.Contains(found.Detail, c.says) ||
				(found.Severity == wire.SeverityOK) != (found.Remedy == "") {
				t.Errorf("got %+v", found)
			}
		})
	}
}
