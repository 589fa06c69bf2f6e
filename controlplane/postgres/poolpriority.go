package postgres

import (
	"context"
	"fmt"
)

// kept is how many connections low-priority work leaves to interactive requests. A page needs one
// at a time, and few people load one at the same moment.
const kept = 3

type lowPriorityKey struct{}

// WithLowPriority marks work with low priority: it never uses the last connections of the
// pool, which are for interactive requests. Without this, a thousand reconnecting
// nodes would queue for connections before the next page view.
func WithLowPriority(ctx context.Context) context.Context {
	return context.WithValue(ctx, lowPriorityKey{}, true)
}

// waitLowPriority waits until low-priority work may take a connection. The caller must
// call leave after it has returned the connection.
func (s *Store) waitLowPriority(ctx context.Context) (leave func(), err error) {
	if ctx.Value(lowPriorityKey{}) == nil {
		return func() {}, nil
	}
	select {
	case s.patient <- struct{}{}:
		return func() { <-s.patient }, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for a connection: %w", context.Cause(ctx))
	}
}
