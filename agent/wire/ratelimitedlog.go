package wire

import (
	"log/slog"
	"sync"
	"time"
)

// linesPerMinute is enough to see what happens and too little to fill a disk.
const linesPerMinute = 20

// rateLimitedLog limits how many log lines unauthenticated clients can cause.
type rateLimitedLog struct {
	log *slog.Logger

	mu         sync.Mutex
	since      time.Time
	lines      int
	suppressed int
}

func newRateLimitedLog(log *slog.Logger) *rateLimitedLog {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &rateLimitedLog{log: log}
}

func (q *rateLimitedLog) warn(message string, args ...any) {
	suppressed, ok := q.allowLine(time.Now())
	if !ok {
		return
	}
	if suppressed > 0 {
		args = append(args, "dropped", suppressed)
	}
	q.log.Warn(message, args...)
}

// allowLine reports whether one more line may be logged now, and how many were suppressed
// before it.
func (q *rateLimitedLog) allowLine(now time.Time) (suppressed int, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if now.Sub(q.since) > time.Minute {
		q.since, q.lines = now, 0
	}
	if q.lines >= linesPerMinute {
		q.suppressed++
		return 0, false
	}
	q.lines++
	suppressed, q.suppressed = q.suppressed, 0
	return suppressed, true
}
