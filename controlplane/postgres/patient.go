package postgres

import (
	"context"
	"fmt"
)

// kept is how many connections patient work leaves to everybody else. A page needs
// one at a time, and few people load one in the same moment.
const kept = 3

type patience struct{}

// Patient marks work that no person waits for: it never uses the last connections of
// the pool. Who waits for a connection stands in one line; without this, a thousand
// nodes that come back would be in it before whoever opens a page.
func Patient(ctx context.Context) context.Context {
	return context.WithValue(ctx, patience{}, true)
}

// turn waits until the work may have a connection, and says so when it had one.
func (s *Store) turn(ctx context.Context) (leave func(), err error) {
	if ctx.Value(patience{}) == nil {
		return func() {}, nil
	}
	select {
	case s.patient <- struct{}{}:
		return func() { <-s.patient }, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for a connection: %w", context.Cause(ctx))
	}
}
