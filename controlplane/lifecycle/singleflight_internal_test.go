package lifecycle

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"
)

// A caller that arrives during a query gets the result of a later one, which all waiting callers
// share: from the lowest of their marks, though each asked for less.
func TestFeed_SharesWhatWasReadAfterTheQuestion(t *testing.T) {
	t.Parallel()
	f := newFeed()
	began, release := make(chan int64, 3), make(chan struct{})
	read := func(_ context.Context, after int64) (changeSet, error) {
		began <- after
		<-release
		return changeSet{next: after + 100}, nil
	}
	var all sync.WaitGroup
	ask := func(mark, next int64) {
		asOf := time.Now()
		all.Go(func() {
			n, err := f.readSince(t.Context(), mark, asOf, read)
			if err != nil || n.next != next {
				t.Errorf("behind %d: %d, want %d: %v", mark, n.next, next, err)
			}
		})
	}
	ask(5, 105)
	if after := <-began; after != 5 {
		t.Errorf("the first begins behind %d", after)
	}
	// The first began before these asked.
	ask(9, 107)
	ask(7, 107)
	ask(8, 107)
	waits := func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.next != nil && f.next.after == 7
	}
	for end := time.Now().Add(time.Minute); !waits(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("they do not wait together")
		}
	}
	close(release)
	all.Wait()
	if after := <-began; after != 7 || len(began) != 0 {
		t.Errorf("the second begins behind %d, and %d more", after, len(began))
	}
}

// A failed query fails for all that wait for it, and for no later caller.
func TestFeed_WhatBreaksIsReadAgain(t *testing.T) {
	t.Parallel()
	f, broken := newFeed(), errors.New("broken")
	_, err := f.readSince(t.Context(), 1, time.Now(), func(context.Context, int64) (changeSet, error) {
		return changeSet{}, broken
	})
	if !errors.Is(err, broken) {
		t.Errorf("it says %v", err)
	}
	fine := func(_ context.Context, after int64) (changeSet, error) {
		return changeSet{next: after + 1}, nil
	}
	asOf := time.Now()
	for range 2 {
		if n, err := f.readSince(t.Context(), 4, asOf, fine); err != nil || n.next != 5 {
			t.Errorf("afterwards: %d %v", n.next, err)
		}
	}
	// Who comes back from long ago reads alone, and from where they were.
	if n, err := f.readSince(t.Context(), 2, asOf, fine); err != nil || n.next != 3 ||
		f.last.after != 4 {
		t.Errorf("who comes back: %d %v", n.next, err)
	}
}
