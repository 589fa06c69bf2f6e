// Package wait has the pauses of programs that must end as soon as their context does.
package wait

import (
	"context"
	"time"
)

// Sleep pauses for d. If ctx ends first, it returns the context's cause at once.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Seconds converts a setting in seconds, which may be a fraction.
func Seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// Retry repeats an attempt that may fail for a while, such as the first connection to a
// server that is just starting.
type Retry struct {
	// Every is the pause between two attempts, and For how long they go on, so that
	// For/Every is their number. There is always one.
	Every, For time.Duration
	// IsFinal reports whether repeating cannot help. If nil, it always can.
	IsFinal func(error) bool
	// Failed is called before each pause with the number of attempts made and their limit.
	Failed func(attempt, limit int)
}

// Do returns nil after the first attempt that succeeds, and otherwise the error of the last
// one: the attempts are used up, it was final, or ctx has ended.
func (r Retry) Do(ctx context.Context, attempt func() error) error {
	limit := max(1, int(r.For/r.Every))
	for n := 1; ; n++ {
		err := attempt()
		if err == nil {
			return nil
		}
		if r.IsFinal != nil && r.IsFinal(err) || n >= limit || ctx.Err() != nil {
			return err
		}
		if r.Failed != nil {
			r.Failed(n, limit)
		}
		_ = Sleep(ctx, r.Every) // The next attempt fails with the context's error.
	}
}
