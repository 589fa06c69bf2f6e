package postgres_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/controlplane/postgres/pgtest"
	"github.com/nullops/nullops/migrations"
)

// However much patient work there is, and however long it takes: three others have a
// connection each in the meantime, and the work is all done in the end.
//
// fault: F18
func TestPatient_LeavesConnections(t *testing.T) {
	t.Parallel()
	const people = 3
	s := pgtest.New(t, migrations.FS)
	many := int(s.Stats().Max)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	over, inside := make(chan struct{}), make(chan struct{}, 10*many)
	var mu sync.Mutex
	var most, now, done int
	var machines sync.WaitGroup
	for range 10 * many {
		machines.Go(func() {
			err := s.InTx(postgres.WithLowPriority(ctx), func(*postgres.Tx) error {
				mu.Lock()
				now++
				most = max(most, now)
				mu.Unlock()
				defer func() { mu.Lock(); now--; mu.Unlock() }()
				inside <- struct{}{}
				<-over
				return nil
			})
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				done++
			}
		})
	}
	for range many - people {
		<-inside
	}
	var all, asked sync.WaitGroup
	all.Add(people)
	for range people {
		asked.Go(func() {
			err := s.Read(ctx, func(*postgres.Tx) error {
				all.Done()
				all.Wait()
				return nil
			})
			if err != nil {
				t.Errorf("beside work that waits: %v", err)
				all.Done()
			}
		})
	}
	asked.Wait()
	close(over)
	machines.Wait()
	if done != 10*many || most > many-people {
		t.Errorf("%d of %d were done, at most %d at once", done, 10*many, most)
	}
}

// A waiter whose context ends leaves the queue.
func TestPatient_GivesUp(t *testing.T) {
	t.Parallel()
	s := pgtest.New(t, migrations.FS)
	over := make(chan struct{})
	var machines sync.WaitGroup
	inside := make(chan struct{})
	for range s.Stats().Max - 3 {
		machines.Go(func() {
			_ = s.Read(postgres.WithLowPriority(t.Context()), func(*postgres.Tx) error {
				inside <- struct{}{}
				<-over
				return nil
			})
		})
		<-inside
	}
	ctx, cancel := context.WithCancel(postgres.WithLowPriority(t.Context()))
	ended := make(chan error)
	go func() { ended <- s.Read(ctx, func(*postgres.Tx) error { return nil }) }()
	cancel()
	if err := <-ended; err == nil {
		t.Error("it had a turn")
	}
	close(over)
	machines.Wait()
}
