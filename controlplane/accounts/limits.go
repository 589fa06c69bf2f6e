package accounts

import (
	"net/netip"
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

// The limits of failed attempts. A person who mistypes never reaches them; an attacker gets about
// ten thousand guesses a day per person.
var (
	pairBucket    = bucket{burst: 10, every: 10 * time.Second}
	networkBucket = bucket{burst: 60, every: 2 * time.Second}
	personBucket  = bucket{burst: 100, every: 6 * time.Second}
	// attackedBucket replaces pairBucket for a person whose own limit is used up:
	// every network still gets a few tries, so that guesses from many networks do
	// not keep the owner of the password out.
	attackedBucket = bucket{burst: 3, every: 10 * time.Minute}
	// knownBucket is for a browser or a network that the person signed in from.
	knownBucket = bucket{burst: 10, every: 10 * time.Second}
	// codeBucket is for codes of second factors, of which three of a million are good at a time:
	// somebody who knows the password has a chance of one in three thousand a day.
	codeBucket = bucket{burst: 6, every: 15 * time.Minute}
	// personCodeBucket bounds all networks together.
	personCodeBucket = bucket{burst: 20, every: 15 * time.Minute}
	// ceremonyBucket is for questions to passkeys, each of which is stored.
	ceremonyBucket = bucket{burst: 60, every: 2 * time.Second}
	// enrolmentBucket is for machines, of which many may be behind one address.
	enrolmentBucket = bucket{burst: 30, every: 5 * time.Second}
)

// mostKeys bounds the memory of limits.
const mostKeys = 20_000

// limits slows guessing down: per person and network, per network, and per
// person. A right password costs nothing.
type limits struct {
	mu   sync.Mutex
	keys map[string]*rate.Limiter
}

func newLimits() *limits { return &limits{keys: map[string]*rate.Limiter{}} }

// takePassword uses up one try at the password of the person of this name, or refuses with the time
// to wait. refund returns the try.
func (l *limits) takePassword(name, network string, now time.Time) (refund func(), err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.reservationsLocked(now)
	r.reserveTry("pair "+name+" "+network, pairBucket)
	r.reserveTry("network "+network, networkBucket)
	if r.wait > 0 {
		return r.refundAll()
	}
	if r.reserveTry("person "+name, personBucket); r.wait > 0 {
		r.wait = 0
		r.reserveTry("attacked "+name+" "+network, attackedBucket)
	}
	return r.finishOrRefund()
}

// takeNetwork uses up one try of a network, for what has no person yet.
func (l *limits) takeNetwork(network string, now time.Time) (refund func(), err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.reservationsLocked(now)
	r.reserveTry("network "+network, networkBucket)
	return r.finishOrRefund()
}

// takeCode uses up one try of a network at the codes of a person whose password it knows.
func (l *limits) takeCode(name, network string, now time.Time) (refund func(), err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.reservationsLocked(now)
	r.reserveTry("code "+name+" "+network, codeBucket)
	r.reserveTry("codes "+name, personCodeBucket)
	return r.finishOrRefund()
}

// takeCeremony uses up one question to a passkey of somebody who has not signed in.
func (l *limits) takeCeremony(network string, now time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.reservationsLocked(now)
	r.reserveTry("ceremony "+network, ceremonyBucket)
	_, err := r.finishOrRefund()
	return err
}

// takeEnrolment uses up one try of a network at a provisioning token. It is apart from the tries of
// people, whom machines that start again and again must not lock out.
func (l *limits) takeEnrolment(network string, now time.Time) (refund func(), err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.reservationsLocked(now)
	if r.reserveTry("enrolment "+network, enrolmentBucket); r.wait == 0 {
		return r.giveBack, nil
	}
	r.giveBack()
	return nil, &controlplane.Error{
		Kind: controlplane.TooMany, Code: "too_many_enrolments", RetryAfter: r.wait,
		Message: "too many failed attempts to enrol a machine came from this address",
		Remedy:  "Check the provisioning token, wait a little and try again.",
	}
}

// takeKnown uses up one try of a caller who proved a password before. key identifies the browser or
// network.
func (l *limits) takeKnown(key string, now time.Time) (refund func(), err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.reservationsLocked(now)
	r.reserveTry("known "+key, knownBucket)
	return r.finishOrRefund()
}

// reservations are tries that were used up together, and given back together.
type reservations struct {
	limits *limits
	now    time.Time
	taken  []*rate.Reservation
	wait   time.Duration
}

func (l *limits) reservationsLocked(now time.Time) *reservations {
	if len(l.keys) > mostKeys {
		l.forgetLocked(now)
	}
	return &reservations{limits: l, now: now}
}

// reserveTry uses up a try under one key. A bucket that is empty keeps its tries and
// sets how long to wait.
func (r *reservations) reserveTry(key string, b bucket) {
	one := r.limits.limiterLocked(key, b).ReserveN(r.now, 1)
	if wait := one.DelayFrom(r.now); wait > 0 {
		one.CancelAt(r.now)
		r.wait = max(r.wait, wait)
		return
	}
	r.taken = append(r.taken, one)
}

func (r *reservations) finishOrRefund() (refund func(), err error) {
	if r.wait > 0 {
		return r.refundAll()
	}
	return r.giveBack, nil
}

func (r *reservations) refundAll() (func(), error) {
	r.giveBack()
	return nil, tooMany(r.wait)
}

func (r *reservations) giveBack() {
	for _, one := range r.taken {
		one.CancelAt(r.now)
	}
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

// networkOf is what one party is assumed to control: an IPv4 address, or the /64
// of an IPv6 address, within which everybody chooses addresses freely. Text that
// is no address is its own network.
func networkOf(address string) string {
	ip, err := netip.ParseAddr(address)
	if err != nil {
		return address
	}
	ip = ip.Unmap().WithZone("")
	if ip.Is4() {
		return ip.String()
	}
	return netip.PrefixFrom(ip, 64).Masked().String()
}

func tooMany(wait time.Duration) error {
	return &controlplane.Error{
		Kind: controlplane.TooMany, Code: "too_many_attempts", RetryAfter: wait,
		Message: "too many failed attempts",
		Remedy: "Wait a little and try again, or use a browser that you signed in with " +
			"before: it has a limit of its own.",
	}
}

func busyError() error {
	return &controlplane.Error{
		Kind: controlplane.TooMany, Code: "sign_in_busy", RetryAfter: 2 * time.Second,
		Message: "too many people are signing in at once",
		Remedy:  "Try again in a few seconds.",
	}
}
