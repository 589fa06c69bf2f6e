package logbook_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/nullops/nullops/controlplane/logbook"
	"github.com/nullops/nullops/pipeline"
)

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

func newLine(source string, second int) logbook.Line {
	return logbook.Line{At: noon.Add(time.Duration(second) * time.Second),
		Source: pipeline.StepKey(source), Text: source}
}

// sourceOf returns a source that said everything.
func sourceOf(all ...logbook.Line) <-chan logbook.Line {
	c := make(chan logbook.Line, len(all))
	for _, l := range all {
		c <- l
	}
	close(c)
	return c
}

func collectText(out <-chan logbook.Line) string {
	var order string
	for l := range out {
		order += l.Text
	}
	return order
}

// Lines of several sources come in the order of their times, however long one of
// them takes.
func TestMerge_OrdersByTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		late := make(chan logbook.Line)
		go func() {
			time.Sleep(time.Hour)
			late <- newLine("b", 2)
			close(late)
		}()
		out := make(chan logbook.Line)
		go func() {
			defer close(out)
			logbook.MergeLines(t.Context(), []<-chan logbook.Line{
				sourceOf(newLine("a", 1), newLine("c", 3)), late, sourceOf(),
			}, false, out)
		}()
		if got := collectText(out); got != "abc" {
			t.Errorf("order %q, want abc", got)
		}
	})
}

// A source that is silent does not hold up the others for longer than a moment,
// and none of their lines waits for it twice.
func TestMerge_LiveDoesNotWaitForTheSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		silent := make(chan logbook.Line)
		loud := make(chan logbook.Line, 1000)
		for i := range 1000 {
			loud <- newLine("a", i)
		}
		out := make(chan logbook.Line)
		go func() {
			defer close(out)
			logbook.MergeLines(t.Context(), []<-chan logbook.Line{loud, silent}, true, out)
		}()
		began := time.Now()
		for range 1000 {
			<-out
		}
		if waited := time.Since(began); waited > 5*time.Second {
			t.Errorf("1000 lines waited %s for a silent source", waited)
		}
		silent <- newLine("b", 2000)
		if l := <-out; l.Text != "b" {
			t.Errorf("the silent source said something, and %q came", l.Text)
		}
		close(loud)
		close(silent)
		if rest := collectText(out); rest != "" {
			t.Errorf("more came: %q", rest)
		}
	})
}

func TestChoice_Takes(t *testing.T) {
	l := logbook.Line{At: noon, Text: "GET /Orders 200"}
	for _, c := range []struct {
		name string
		logbook.LineFilter
		want bool
	}{
		{"everything", logbook.LineFilter{}, true},
		{"since then", logbook.LineFilter{Since: noon}, true},
		{"since later", logbook.LineFilter{Since: noon.Add(1)}, false},
		{"until then", logbook.LineFilter{Until: noon}, true},
		{"until earlier", logbook.LineFilter{Until: noon.Add(-1)}, false},
		{"found in another case", logbook.LineFilter{Search: "orders"}, true},
		{"not found", logbook.LineFilter{Search: "POST"}, false},
	} {
		if got := c.Matches(l); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
