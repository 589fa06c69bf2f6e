package logs

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// linesAtOnce of the same line pass at any time, and linesASecond for as long as it takes: more
	// than anybody reads, and less than fills a disk within a day.
	linesAtOnce  = 1000
	linesASecond = 100
	// summaryAfter is how soon a line says how many were dropped.
	summaryAfter = 10 * time.Second
	// mostFloods bounds how many different lines are looked at.
	mostFloods = 1000
)

// floods limits how often a component says the same: lines are the same if their message is.
type floods struct {
	next    slog.Handler
	dropped atomic.Int64

	mu    sync.Mutex
	lines map[line]*flow
	// due is set while a summary is to be written.
	due bool
}

type line struct{ component, message string }

// flow is how much of a line may pass.
type flow struct {
	room    float64
	at      time.Time
	dropped int64
	level   slog.Level
}

func newFloods(next slog.Handler) *floods {
	return &floods{next: next, lines: map[line]*flow{}}
}

func (f *floods) allow(component string, r slog.Record) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	key := line{component, r.Message}
	one := f.lines[key]
	if one == nil {
		if len(f.lines) >= mostFloods {
			f.forgetLocked(r.Time)
		}
		one = &flow{room: linesAtOnce, at: r.Time}
		f.lines[key] = one
	}
	if passed := r.Time.Sub(one.at).Seconds(); passed > 0 {
		one.room = min(linesAtOnce, one.room+passed*linesASecond)
		one.at = r.Time
	}
	if one.room >= 1 {
		one.room--
		return true
	}
	one.dropped++
	one.level = max(one.level, r.Level)
	f.dropped.Add(1)
	if !f.due {
		f.due = true
		time.AfterFunc(summaryAfter, f.summarize)
	}
	return false
}

// forgetLocked forgets lines that were not dropped, of which there may be as many as there are
// texts: some messages name something.
func (f *floods) forgetLocked(now time.Time) {
	for key, one := range f.lines {
		if one.dropped == 0 && now.Sub(one.at).Seconds()*linesASecond >= linesAtOnce-one.room {
			delete(f.lines, key)
		}
	}
	if len(f.lines) >= mostFloods {
		clear(f.lines)
	}
}

// summarize says what was dropped since it last did.
func (f *floods) summarize() {
	f.mu.Lock()
	f.due = false
	var said []slog.Record
	for key, one := range f.lines {
		if one.dropped == 0 {
			continue
		}
		r := slog.NewRecord(time.Now(), one.level, "log lines were dropped: there were too many", 0)
		r.AddAttrs(slog.String(Component, key.component), slog.String("line", key.message),
			slog.Int64("dropped", one.dropped))
		said = append(said, r)
		one.dropped = 0
	}
	f.mu.Unlock()
	for _, r := range said {
		_ = f.next.Handle(context.Background(), r)
	}
}
