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

// channel is the one PostgreSQL channel that we use; topics are in the payload.
const channel = "nullops"

func formatPayload(topic controlplane.Topic, key string) string {
	return string(topic) + " " + key
}

// Listener receives PostgreSQL notifications and wakes subscribers.
//
// A wake-up means only "read again". Wake-ups coalesce: a busy subscriber finds one
// waiting, however many there were. After every (re)connect all subscribers are woken,
// because notifications may have been lost; and since a connection can die silently, a
// subscriber that must not miss changes also uses a ticker.
type Listener struct {
	store *Store
	log   *slog.Logger

	// hears is whether notifications arrive now.
	hears atomic.Bool

	mu   sync.Mutex
	subs map[*Subscription]struct{}
}

// IsListening reports whether notifications are received at once now; otherwise changes show
// at the subscribers' next tick.
func (l *Listener) IsListening() bool { return l.hears.Load() }

// everything marks that keys of notifications were lost.
const everything = ""

// NewListener makes a listener; it receives nothing before Run.
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
	// heard has the keys since the last call of Heard, if the subscription collects them.
	heard map[string]struct{}
}

// Subscribe returns a subscription that is woken for the topics. A key, if not empty,
// narrows it to one deployment or node. Close it when done. It is woken once at the
// beginning, so that the first read needs no special case.
func (l *Listener) Subscribe(key string, topics ...controlplane.Topic) *Subscription {
	wake := make(chan struct{}, 1)
	wake <- struct{}{}
	s := &Subscription{Wake: wake, wake: wake, key: key, topics: topics, owner: l}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.subs[s] = struct{}{}
	return s
}

// SubscribeKeys is Subscribe for many keys: Heard returns those that were notified since the
// last call.
func (l *Listener) SubscribeKeys(topics ...controlplane.Topic) *Subscription {
	s := l.Subscribe("", topics...)
	l.mu.Lock()
	defer l.mu.Unlock()
	s.heard = map[string]struct{}{everything: {}}
	return s
}

// TakeKeys returns the keys that were notified, or all=true if some may have been missed.
func (s *Subscription) TakeKeys() (keys []string, all bool) {
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

func (s *Subscription) matches(topic controlplane.Topic, key string) bool {
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
			"error", err, "retry_in", wait.String())
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

// listen uses a connection of its own: a connection that waits forever must not be taken from the
// pool.
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
		l.wakeSubscribers(controlplane.Topic(topic), key)
	}
}

func (l *Listener) wakeSubscribers(topic controlplane.Topic, key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for s := range l.subs {
		if s.matches(topic, key) {
			s.signal(key)
		}
	}
}

func (l *Listener) wakeAll() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for s := range l.subs {
		s.signal(everything)
	}
}

// signal never waits: one wake-up that was not yet taken is as good as two.
// The caller holds the listener's mutex.
func (s *Subscription) signal(key string) {
	if s.heard != nil {
		s.heard[key] = struct{}{}
	}
	select {
	case s.wake <- struct{}{}:
	default:
	}
}
