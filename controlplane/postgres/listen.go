package postgres

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/nullops/nullops/controlplane"
)

// channel is the one PostgreSQL channel of ours; topics are in the payload.
const channel = "nullops"

func payload(topic controlplane.Topic, key string) string {
	return string(topic) + " " + key
}

// Listener hears commits and wakes who cares.
//
// A wake-up says only "look again". They coalesce: a subscriber that is busy
// finds one waiting, however many there were. After every (re)connect
// everybody is woken, because nobody knows what was missed; and since
// connections can die silently, who must not sleep for ever also ticks.
type Listener struct {
	store *Store
	log   *slog.Logger

	// hears is whether notifications arrive now.
	hears atomic.Bool

	mu   sync.Mutex
	subs map[*Subscription]struct{}
}

// Hears reports whether commits are heard of at once now, and not at the next
// tick of who cares.
func (l *Listener) Hears() bool { return l.hears.Load() }

// everything stands for the keys of wake-ups that were lost.
const everything = ""

// NewListener makes a listener; nothing is heard before Run.
func NewListener(s *Store, log *slog.Logger) *Listener {
	return &Listener{store: s, log: log, subs: map[*Subscription]struct{}{}}
}

// Subscription is one ear. Wake yields after something happened.
type Subscription struct {
	// Wake holds at most one wake-up.
	Wake   <-chan struct{}
	wake   chan struct{}
	key    string
	topics []controlplane.Topic
	owner  *Listener
	// heard are the keys since the last look, for who collects them.
	heard map[string]struct{}
}

// Subscribe wants to be woken for the topics. The key, if not empty, narrows
// that to one deployment or node. Close the subscription when done. It comes
// awake, so that the first look is not a special case.
func (l *Listener) Subscribe(key string, topics ...controlplane.Topic) *Subscription {
	wake := make(chan struct{}, 1)
	wake <- struct{}{}
	s := &Subscription{Wake: wake, wake: wake, key: key, topics: topics, owner: l}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.subs[s] = struct{}{}
	return s
}

// Collect is Subscribe for who looks after many keys: Heard gives those that
// were told since the last time.
func (l *Listener) Collect(topics ...controlplane.Topic) *Subscription {
	s := l.Subscribe("", topics...)
	l.mu.Lock()
	defer l.mu.Unlock()
	s.heard = map[string]struct{}{everything: {}}
	return s
}

// Heard gives the keys that were told, or all=true when some may have been
// missed.
func (s *Subscription) Heard() (keys []string, all bool) {
	s.owner.mu.Lock()
	defer s.owner.mu.Unlock()
	_, all = s.heard[everything]
	keys = make([]string, 0, len(s.heard))
	for key := range s.heard {
		keys = append(keys, key)
	}
	clear(s.heard)
	return keys, all
}

// Close ends the subscription. Its channel stays open and silent.
func (s *Subscription) Close() {
	s.owner.mu.Lock()
	defer s.owner.mu.Unlock()
	delete(s.owner.subs, s)
}

func (s *Subscription) cares(topic controlplane.Topic, key string) bool {
	if s.key != "" && key != s.key {
		return false
	}
	return slices.Contains(s.topics, topic)
}

// Run listens until the context ends, reconnecting for ever.
func (l *Listener) Run(ctx context.Context) error {
	const shortest, longest = 100 * time.Millisecond, 10 * time.Second
	wait := shortest
	for ctx.Err() == nil {
		began := time.Now()
		err := l.listen(ctx)
		if ctx.Err() != nil {
			break
		}
		if time.Since(began) > longest {
			wait = shortest
		}
		l.log.WarnContext(ctx, "database notifications lost, connecting again",
			"err", err, "wait", wait.String())
		pause := time.NewTimer(wait/2 + rand.N(wait/2))
		select {
		case <-ctx.Done():
		case <-pause.C:
		}
		pause.Stop()
		wait = min(2*wait, longest)
	}
	return ctx.Err()
}

// listen uses a connection of its own: one that waits for ever must not be
// taken from the pool.
func (l *Listener) listen(ctx context.Context) error {
	conn, err := pgx.ConnectConfig(ctx, l.store.pool.Config().ConnConfig)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer func() {
		bye, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = conn.Close(bye)
	}()
	if _, err := conn.Exec(ctx, "LISTEN "+channel); err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	l.hears.Store(true)
	defer l.hears.Store(false)
	l.wakeAll()
	for {
		n, err := conn.WaitForNotification(ctx)
		if err != nil {
			return fmt.Errorf("wait: %w", err)
		}
		topic, key, _ := strings.Cut(n.Payload, " ")
		l.wake(controlplane.Topic(topic), key)
	}
}

func (l *Listener) wake(topic controlplane.Topic, key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for s := range l.subs {
		if s.cares(topic, key) {
			s.knock(key)
		}
	}
}

func (l *Listener) wakeAll() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for s := range l.subs {
		s.knock(everything)
	}
}

// knock never waits: one wake-up that was not yet taken is as good as two.
// The caller holds the listener's mutex.
func (s *Subscription) knock(key string) {
	if s.heard != nil {
		s.heard[key] = struct{}{}
	}
	select {
	case s.wake <- struct{}{}:
	default:
	}
}
