package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nullops/nullops/controlplane/accounts"
	"github.com/nullops/nullops/controlplane/jobs"
	"github.com/nullops/nullops/controlplane/postgres/pgtest"
)

// patience is for machines with other things to do.
const patience = 60 * time.Second

// counter is a job that counts its turns.
type counter struct {
	mu    sync.Mutex
	turns int
	first chan struct{}
}

func (c *counter) do(context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.turns++
	if c.turns == 1 {
		close(c.first)
	}
	return nil
}

// However many control planes there are, a job that is due is done by one.
func TestJobs_OneClaims(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t, os.DirFS("../../migrations"))
	hourly := &counter{first: make(chan struct{})}
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	// Each has a job of its own too, which says that it has had its look.
	looked := make(chan struct{}, 4)
	for i := range 4 {
		store := pgtest.Open(t, url)
		own := jobs.Job{Name: fmt.Sprint("own ", i), Every: time.Hour,
			Do: func(context.Context) error {
				looked <- struct{}{}
				return nil
			}}
		j := jobs.New(store, slog.New(slog.DiscardHandler),
			jobs.Job{Name: "hourly", Every: time.Hour, Do: hourly.do}, own)
		all.Go(func() { _ = j.Run(ctx) })
	}
	awaitDone(t, "the hourly job's turn", hourly.first)
	for range 4 {
		awaitDone(t, "everybody's look", looked)
	}
	cancel()
	all.Wait()
	// promise: G-05
	if hourly.turns != 1 {
		t.Errorf("a job due once an hour was done %d times by four at once", hourly.turns)
	}
}

// The database's clock ran hours ahead when a job was done, and was set right: it is due after its
// usual time, and not only after those hours.
func TestJobs_AreDoneThoughTheClockWasSetBack(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t, os.DirFS("../../migrations"))
	store := pgtest.Open(t, url)
	pgtest.Exec(t, url, `INSERT INTO jobs (name, every, next_at)
		VALUES ('late', interval '1 minute', now() + interval '3 hours')`)
	late := &counter{first: make(chan struct{})}
	j := jobs.New(store, slog.New(slog.DiscardHandler),
		jobs.Job{Name: "late", Every: time.Minute, Do: late.do})
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = j.Run(ctx) })
	awaitDone(t, "the late job's turn", late.first)
	cancel()
	running.Wait()
}

// Webhooks are told of a job that failed three times in a row, once, and of its first success
// after that. Until they are told it is due again within a minute, however rarely it is done.
func TestJobs_TellWhenOneKeepsFailing(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t, os.DirFS("../../migrations"))
	store := pgtest.Open(t, url)
	var failure error
	job := jobs.Job{Name: "daily", Every: 24 * time.Hour,
		Do: func(context.Context) error { return failure }}
	turn := func(failures int, dueSoon bool) {
		t.Helper()
		pgtest.Exec(t, url, "UPDATE jobs SET next_at = now() - interval '1 second'")
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() {
			_ = jobs.New(store, slog.New(slog.DiscardHandler), job).Run(ctx)
		})
		stored := fmt.Sprintf(`SELECT EXISTS (SELECT FROM jobs
			WHERE failures = %d AND next_at > now())`, failures)
		for late := time.Now().Add(patience); !pgtest.QueryValue[bool](t, url, stored); {
			if time.Sleep(20 * time.Millisecond); time.Now().After(late) {
				t.Fatalf("%d failures were not stored", failures)
			}
		}
		cancel()
		running.Wait()
		soon := pgtest.QueryValue[bool](t, url,
			"SELECT next_at <= now() + interval '1 minute' FROM jobs")
		if soon != dueSoon {
			t.Errorf("after %d failures it is due soon: %t", failures, soon)
		}
	}
	told := func() string {
		return pgtest.QueryValue[string](t, url, `SELECT coalesce(string_agg(event || ' ' || (data
			->> 'job') || ' ' || coalesce(data ->> 'reason', '-'), ', ' ORDER BY id), '') FROM notices`)
	}
	turn(0, false)
	failure = errors.New("no disk")
	turn(1, true)
	turn(2, true)
	if got := told(); got != "" {
		t.Errorf("after two failures webhooks are told %q", got)
	}
	failure = errors.New(strings.Repeat("x", 2000))
	turn(3, false)
	failure = errors.New("no disk")
	turn(4, false)
	failure = nil
	turn(0, false)
	turn(0, false)
	want := "controlplane.failing daily " + strings.Repeat("x", 500) +
		"…, controlplane.recovered daily -"
	if got := told(); got != want {
		t.Errorf("webhooks are told %q", got)
	}
}

// A job that panics harms no other one, and is done again when it is due again.
//
// fault: F63
func TestJobs_OnePanicsAndOthersContinue(t *testing.T) {
	t.Parallel()
	store := pgtest.Open(t, pgtest.URL(t, os.DirFS("../../migrations")))
	var panics, others atomic.Int64
	bad := jobs.Job{Name: "a bad one", Every: time.Second, Do: func(context.Context) error {
		panics.Add(1)
		var none map[string]int
		none["a"]++ //nolint:staticcheck // this is what the test is about
		return nil
	}}
	again := make(chan struct{}, 64)
	good := jobs.Job{Name: "b good one", Every: time.Second, Do: func(context.Context) error {
		others.Add(1)
		if panics.Load() > 0 {
			again <- struct{}{}
		}
		return nil
	}}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	j := jobs.New(store, slog.New(slog.DiscardHandler), bad, good)
	go func() { defer close(ended); _ = j.Run(ctx) }()
	awaitDone(t, "the other job's turn", again)
	cancel()
	<-ended
	if panics.Load() == 0 || others.Load() == 0 {
		t.Errorf("%d panics, the other job ran %d times", panics.Load(), others.Load())
	}
}

func awaitDone(t *testing.T, what string, done <-chan struct{}) {
	t.Helper()
	select {
	case <-done:
	case <-time.After(patience):
		t.Fatalf("%s did not come within %s", what, patience)
	}
}

// What counts for a day or an evening goes when that is over, and not before.
func TestForget_TakesWhatIsOver(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t, os.DirFS("../../migrations"))
	store := pgtest.Open(t, url)
	pgtest.Exec(t, url, `
		INSERT INTO users (id, name, role, password_hash) VALUES
			('01900000-0000-7000-8000-00000000000a', 'ada', 'user', '$argon2id$x');
		INSERT INTO idempotency_keys (user_id, operation, key, request, object_id, created_at)
		SELECT '01900000-0000-7000-8000-00000000000a', 'create', 'old ' || n,
			decode(repeat('00', 32), 'hex'), gen_random_uuid(), now() - interval '25 hours'
		FROM generate_series(1, 1200) n;
		INSERT INTO idempotency_keys (user_id, operation, key, request, object_id)
		VALUES ('01900000-0000-7000-8000-00000000000a', 'create', 'young',
			decode(repeat('00', 32), 'hex'), gen_random_uuid());
		INSERT INTO sessions (id, user_id, hash, created_at, last_used_at, expires_at)
		SELECT gen_random_uuid(), '01900000-0000-7000-8000-00000000000a',
			decode(lpad(to_hex(n), 64, '0'), 'hex'), now() - interval '3 days',
			now() - interval '13 hours', now() + interval '1 day'
		FROM generate_series(1, 1200) n;
		INSERT INTO sessions (id, user_id, hash, created_at, last_used_at, expires_at)
		VALUES (gen_random_uuid(), '01900000-0000-7000-8000-00000000000a',
			decode(repeat('ff', 32), 'hex'), now(), now(), now() + interval '1 day')`)
	people, err := accounts.New(accounts.Config{Store: store,
		Log: slog.New(slog.DiscardHandler), MemoryKiB: 8, Iterations: 1, Parallelism: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, job := range []jobs.Job{jobs.ForgetKeys(store), jobs.ForgetSessions(people)} {
		if err := job.Do(t.Context()); err != nil {
			t.Fatalf("%s: %v", job.Name, err)
		}
	}
	keys := pgtest.QueryValue[int](t, url, "SELECT count(*) FROM idempotency_keys")
	sessions := pgtest.QueryValue[int](t, url, "SELECT count(*) FROM sessions")
	if keys != 1 || sessions != 1 {
		t.Errorf("%d keys and %d sessions are left; wanted the one of each that counts",
			keys, sessions)
	}
}

// A clock that someone sets is no reason to remove anything: not at once, and not before people had
// a day to see it.
//
// fault: F12
func TestClock_RestsAfterAJump(t *testing.T) {
	t.Parallel()
	var c jobs.JumpDetector
	wall, here := time.Now(), time.Now()
	step := func(database, real time.Duration) bool {
		wall, here = wall.Add(database), here.Add(real)
		_, rests := c.Compare(wall, here)
		return rests
	}
	if step(0, 0) || step(time.Hour, time.Hour) || step(9*time.Minute, 0) {
		t.Error("a clock that runs, or drifts by minutes, is taken for one that was set")
	}
	if !step(10*365*24*time.Hour, time.Second) {
		t.Error("ten years within a second go unnoticed")
	}
	if !step(23*time.Hour, 23*time.Hour) {
		t.Error("less than a day later it is forgotten")
	}
	if step(2*time.Hour, 2*time.Hour) {
		t.Error("more than a day later it still rests")
	}
	if step(-time.Hour, time.Second) {
		t.Error("a clock that was set back makes nothing expire early, and needs no rest")
	}
}
