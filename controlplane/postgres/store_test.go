package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/controlplane/postgres/pgtest"
	"github.com/nullops/nullops/migrations"
)

func startListener(t *testing.T, s *postgres.Store) *postgres.Listener {
	t.Helper()
	l := postgres.NewListener(s, slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); _ = l.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-ended })
	return l
}

// A commit wakes the subscribers of its topic and key, and nobody else.
func TestListener_WakesAtCommit(t *testing.T) {
	t.Parallel()
	s := pgtest.New(t, migrations.FS)
	l := startListener(t, s)
	mine := l.Subscribe("d1", controlplane.TopicDeployment)
	all := l.Subscribe("", controlplane.TopicDeployment, controlplane.TopicNode)
	other := l.Subscribe("d2", controlplane.TopicDeployment)
	for _, sub := range []*postgres.Subscription{mine, all, other} {
		defer sub.Close()
	}
	// The first wake-up is the subscription itself, the second the connect.
	drain := func() { <-mine.Wake; <-all.Wake; <-other.Wake }
	drain()
	err := s.InTx(t.Context(), func(tx *postgres.Tx) error {
		tx.NotifyOnCommit(controlplane.TopicDeployment, "d2")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	<-other.Wake
	<-all.Wake
	refused := errors.New("no")
	err = s.InTx(t.Context(), func(tx *postgres.Tx) error {
		tx.NotifyOnCommit(controlplane.TopicDeployment, "d2")
		return refused
	})
	if !errors.Is(err, refused) {
		t.Fatal(err)
	}
	err = s.InTx(t.Context(), func(tx *postgres.Tx) error {
		tx.NotifyOnCommit(controlplane.TopicDeployment, "d1")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	<-mine.Wake
	<-all.Wake
}

// Two processes that start at once both end up with the schema.
//
// fault: F10
func TestMigrate_TwoAtOnce(t *testing.T) {
	t.Parallel()
	url := pgtest.NewEmptyDatabase(t)
	done := make(chan error, 2)
	for range 2 {
		s := pgtest.Open(t, url)
		go func() { done <- s.Migrate(context.Background(), migrations.FS) }()
	}
	for range 2 {
		// promise: N-301
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// More work than connections waits instead of failing, and what was committed
// is there for the next process.
func TestStore_PoolsAndKeeps(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t, migrations.FS)
	first := pgtest.Open(t, url)
	var group errgroup.Group
	for i := range 40 {
		group.Go(func() error {
			return first.InTx(t.Context(), func(tx *postgres.Tx) error {
				return tx.Environments().Put(t.Context(), controlplane.Environment{
					ID:   controlplane.NewID[controlplane.EnvironmentID](),
					Name: fmt.Sprintf("e%02d", i), Domain: "localhost",
				})
			})
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	if got := first.Stats(); got.Max != 4 {
		t.Errorf("pool of %d connections, want 4", got.Max)
	}
	first.Close()
	err := pgtest.Open(t, url).Read(t.Context(), func(tx *postgres.Tx) error {
		all, err := tx.Environments().List(t.Context(), postgres.VisibleScope{All: true}, "", 100)
		// promise: N-300
		if len(all) != 40 {
			t.Errorf("%d environments after a restart, want 40", len(all))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A subscription for many keys returns the notified ones, each once; it begins with "some may have
// been missed".
func TestListener_CollectsKeys(t *testing.T) {
	t.Parallel()
	s := pgtest.New(t, migrations.FS)
	l := startListener(t, s)
	many := l.SubscribeKeys(controlplane.TopicNode)
	defer many.Close()
	tell := func(topic controlplane.Topic, keys ...string) {
		t.Helper()
		err := s.InTx(t.Context(), func(tx *postgres.Tx) error {
			for _, key := range keys {
				tx.NotifyOnCommit(topic, key)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	heard := map[string]bool{}
	hear := func() (all bool) {
		<-many.Wake
		keys, all := many.TakeKeys()
		for _, key := range keys {
			heard[key] = heard[key] || key != "" || !all
		}
		return all
	}
	if !hear() {
		t.Error("it believes that nothing was missed before it began")
	}
	// Notifications before the listener had connected are lost: it reports that.
	tell(controlplane.TopicNode, "n0")
	for !heard["n0"] {
		if hear() {
			tell(controlplane.TopicNode, "n0")
		}
	}
	tell(controlplane.TopicDeployment, "d1")
	// A deployment without a node notifies no node's session.
	tell(controlplane.TopicNode, "n1", "n1", "n2", "")
	for !heard["n1"] || !heard["n2"] {
		if hear() {
			t.Error("nothing was lost, and yet everybody is told")
		}
	}
	if heard["d1"] || heard[""] {
		t.Errorf("heard %v", heard)
	}
}
