package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// readWithin bounds one reading of the feed.
const readWithin = 30 * time.Second

// changeReader lets all watchers of the deployment list share one query (single
// flight). A change wakes a thousand watchers at once, and one query answers them all.
// A caller never joins a query that started before it called; it waits for the next
// one.
type changeReader struct {
	// turn is held by the one query that is running.
	turn chan struct{}

	mu sync.Mutex
	// next has not started; new callers join it.
	next *sharedRead
	// last is the latest that ended well.
	last *sharedRead
}

// sharedRead is one question for many.
type sharedRead struct {
	// after is the lowest mark of all callers that joined.
	after int64
	began time.Time
	// done is closed once news and err are set.
	done chan struct{}
	news changeSet
	err  error
}

// changeSet is what changed after a mark, and the mark to use next.
type changeSet struct {
	changed []change
	next    int64
}

type change struct {
	sharedView
	// mark is the transaction that changed the deployment last.
	mark int64
}

// errUnread is returned to callers that joined a query that panicked.
var errUnread = errors.New("what changed was not read")

func newFeed() *changeReader { return &changeReader{turn: make(chan struct{}, 1)} }

// readSince returns what changed after the mark, and possibly earlier changes: the
// caller compares each change's mark. The result was read after asOf.
func (f *changeReader) readSince(ctx context.Context, mark int64, asOf time.Time,
	read func(context.Context, int64) (changeSet, error)) (changeSet, error) {
	r, leads, behind := f.joinRead(mark, asOf)
	if behind {
		// A caller whose mark is much older reads alone; otherwise all callers would read that
		// much.
		return read(ctx, mark)
	}
	if leads {
		f.leadRead(ctx, r, read)
	}
	select {
	case <-r.done:
		return r.news, r.err
	case <-ctx.Done():
		return changeSet{}, fmt.Errorf("wait for what changed: %w", context.Cause(ctx))
	}
}

// joinRead finds the query whose result fits, which may have ended. The caller that
// created it runs it (leads).
func (f *changeReader) joinRead(mark int64, asOf time.Time) (r *sharedRead, leads, behind bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.last != nil && mark < f.last.after {
		return nil, false, true
	}
	if f.last != nil && !f.last.began.Before(asOf) {
		return f.last, false, false
	}
	if f.next == nil {
		f.next, leads = &sharedRead{after: mark, done: make(chan struct{})}, true
	}
	f.next.after = min(f.next.after, mark)
	return f.next, leads, false
}

// leadRead waits for its turn and reads. Others wait for it, so it does not end
// because the leader's listener left.
func (f *changeReader) leadRead(ctx context.Context, r *sharedRead,
	read func(context.Context, int64) (changeSet, error)) {
	f.turn <- struct{}{}
	defer func() { <-f.turn }()
	// Its time begins with its turn: a slow reading before it takes none of it.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readWithin)
	defer cancel()
	f.mu.Lock()
	f.next, r.began = nil, time.Now()
	f.mu.Unlock()
	// The channel is closed also after a panic, so that no caller waits for ever.
	r.err = errUnread
	defer close(r.done)
	r.news, r.err = read(ctx, r.after)
	if r.err != nil {
		return
	}
	f.mu.Lock()
	f.last = r
	f.mu.Unlock()
}
