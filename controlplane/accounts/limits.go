package accounts

import (
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/nullops/nullops/controlplane"
)

// bucket says how many failures in a row are free, and how long one more takes.
type bucket struct {
	burst int
	every time.Duration
}

// Whoever mistypes notices nothing of these; who guesses gets some ten
// thousand tries a day at one person from anywhere.
const mostKeys = 20_000

// limits slows guessing down: per person and address, per address, and per
// person. A right password costs nothing.
type limits struct {
	mu   sync.Mutex
	keys map[string]*rate.Limiter
}

func newLimits() *limits { return &limits{keys: map[string]*rate.Limiter{}} }

// take uses up one try under each of the keys, or refuses. refund gives the
// tries back.
func (l *limits) take(user, address string, now time.Time) (refund func(), err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.keys) > mostKeys {
		l.forgetLocked(now)
	}
	var taken []*rate.Reservation
	refund = func() {
		for _, r := range taken {
			r.CancelAt(now)
		}
	}
	for key, b := range map[string]bucket{
		"pair " + user + " " + address: {burst: 10, every: 10 * time.Second},
		"address " + address:           {burst: 60, every: 2 * time.Second},
		"user " + user:                 {burst: 100, every: 6 * time.Second},
	} {
		r := l.limiterLocked(key, b).ReserveN(now, 1)
		taken = append(taken, r)
		if wait := r.DelayFrom(now); wait > 0 {
			refund()
			return nil, tooMany(wait)
		}
	}
	return refund, nil
}

func (l *limits) limiterLocked(key string, b bucket) *rate.Limiter {
	if have, ok := l.keys[key]; ok {
		return have
	}
	made := rate.NewLimiter(rate.Every(b.every), b.burst)
	l.keys[key] = made
	return made
}

// forgetLocked drops the buckets that are full again: they limit nothing.
func (l *limits) forgetLocked(now time.Time) {
	for key, r := range l.keys {
		if r.TokensAt(now) >= float64(r.Burst()) {
			delete(l.keys, key)
		}
	}
	// Under attack from everywhere, memory goes before memory of attackers.
	if len(l.keys) > mostKeys {
		clear(l.keys)
	}
}

func tooMany(wait time.Duration) error {
	return &controlplane.Error{
		Kind: controlplane.TooMany, Code: "too_many_attempts", RetryAfter: wait,
		Message: "too many failed attempts",
		Remedy:  "Wait a little and try again.",
	}
}

func busy() error {
	return &controlplane.Error{
		Kind: controlplane.TooMany, Code: "sign_in_busy", RetryAfter: 2 * time.Second,
		Message: "too many people are signing in at once",
		Remedy:  "Try again in a few seconds.",
	}
}
