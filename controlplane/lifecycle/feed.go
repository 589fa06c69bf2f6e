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
type feed struct {
	// turn is held by the one reading that is under way.
	turn chan struct{}

	mu sync.Mutex
	// next has not started; new callers join it.
	next *reading
	// last is the latest that ended well.
	last *reading
}

// reading is one question for many.
type reading struct {
	// after is the lowest mark of all callers that joined.
	after int64
	began time.Time
	// done is closed once news and err are set.
	done chan struct{}
	news news
	err  error
}

// changeSet is what changed after a mark, and the mark to use next.
type news struct {
	changed []change
	next    int64
}

type change struct {
	shown
	// mark is the transaction that changed the deployment last.
	mark int64
}

// errUnread is returned to callers that joined a query that panicked.
var errUnread = errors.New("what changed was not read")

func newFeed() *feed { return &feed{turn: make(chan struct{}, 1)} }

// readSince returns what changed after the mark, and possibly earlier changes: the
// caller compares each change's mark. The result was read after asOf.
func (f *feed) since(ctx context.Context, mark int64, asOf time.Time,
	read func(context.Context, int64) (news, error)) (news, error) {
	r, leads, behind := f.join(mark, asOf)
	if behind {
		// A caller that is far behind reads alone; otherwise everyone would read that much.
		return read(ctx, mark)
	}
	if leads {
		f.lead(ctx, r, read)
	}
	select {
	case <-r.done:
		return r.news, r.err
	case <-ctx.Done():
		return news{}, fmt.Errorf("wait for what changed: %w", context.Cause(ctx))
	}
}

// joinRead finds the query whose result fits, which may have ended. The caller that
// created it runs it (leads).
func (f *feed) join(mark int64, asOf time.Time) (r *reading, leads, behind bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.last != nil && mark < f.last.after {
		return nil, false, true
	}
	if f.last != nil && !f.last.began.Before(asOf) {
		return f.last, false, false
	}
	if f.next == nil {
		f.next, leads = &reading{after: mark, done: make(chan struct{})}, true
	}
	f.next.after = min(f.next.after, mark)
	return f.next, leads, false
}

// lead waits for its turn and reads. Others wait for it, so it does not end
// because the leader's listener left.
func (f *feed) lead(ctx context.Context, r *reading,
	read func(context.Context, int64) (news, error)) {
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
