package sim

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"
)

// Virtual times of the simulated world.
const (
	// settleWithin bounds the time from the last fault to the end of all work:
	// three deletes that hang until their timeout, and backoff between them.
	settleWithin = 20 * time.Minute
	judgeEvery   = time.Second
	// maxEvents is far beyond any world that makes progress.
	maxEvents = 200_000
)

// Options are of one run.
type Options struct {
	// Trace, if set, is called with one line per event.
	Trace func(line string)
	planted
}

// Report is the result of a world.
type Report struct {
	Seed uint64
	// Trace is a hash of everything that happened, in order.
	Trace uint64
	// Events counts what happened; Settled is how long after the last fault
	// nothing changed any more.
	Events  int
	Settled time.Duration
	// Met counts the kinds of trouble there were.
	Met map[string]int
	// Err is the first promise that was broken.
	Err error
}

// Run plays the world of a seed to its end.
func Run(seed uint64, o Options) Report {
	w := newWorld(seed, o)
	w.setUp()
	w.runEvents()
	return Report{Seed: seed, Trace: w.hash, Events: w.events, Settled: w.settled,
		Met: w.met, Err: w.err}
}

// world is everything there is.
type world struct {
	Options
	seed   uint64
	random *rand.Rand
	now    time.Duration
	queue  queue
	count  int
	events int
	hash   uint64
	met    map[string]int
	err    error
	// faulty is true until everything heals, at healed.
	faulty  bool
	healed  time.Duration
	settled time.Duration
	stage   int
	over    bool
	restAt  time.Duration

	deployments []*deployment
	disk        disk
	agent       agentModel
	docker      docker
	link        link
	plane       controlPlane
}

func newWorld(seed uint64, o Options) *world {
	//nolint:gosec // The same seed has to be the same world.
	random := rand.New(rand.NewPCG(seed, 0x6e756c6c6f7073))
	return &world{Options: o, seed: seed, random: random, met: map[string]int{}, faulty: true}
}

// event is something that is going to happen.
type event struct {
	at time.Duration
	// tie decides, by chance, what happens first of what happens at once.
	tie  uint64
	n    int
	what string
	do   func()
}

type queue []event

func (q queue) Len() int { return len(q) }

func (q queue) Less(i, k int) bool {
	a, b := &q[i], &q[k]
	if a.at != b.at {
		return a.at < b.at
	}
	if a.tie != b.tie {
		return a.tie < b.tie
	}
	return a.n < b.n
}

func (q queue) Swap(i, k int) { q[i], q[k] = q[k], q[i] }

// Push implements heap.Interface.
func (q *queue) Push(x any) { *q = append(*q, x.(event)) }

// Pop implements heap.Interface.
func (q *queue) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}

// scheduleEvent lets something happen later.
func (w *world) scheduleEvent(d time.Duration, what string, do func()) {
	w.count++
	heap.Push(&w.queue, event{w.now + d, w.random.Uint64(), w.count, what, do})
}

// runEvents lets things happen until the world is judged to be over.
func (w *world) runEvents() {
	for w.queue.Len() > 0 && w.err == nil && !w.over {
		e := heap.Pop(&w.queue).(event)
		w.now = e.at
		w.events++
		if w.events > maxEvents {
			w.failWorld("no end after %d events", w.events)
		}
		w.appendTrace(e.what)
		e.do()
	}
}

// appendTrace makes something part of the trace.
func (w *world) appendTrace(what string, details ...string) {
	h := w.hash ^ uint64(w.now)*0x9e3779b97f4a7c15
	for _, s := range append(details, what) {
		for i := range len(s) {
			h = (h ^ uint64(s[i])) * 0x100000001b3
		}
		h ^= h >> 29
	}
	w.hash = h
	if w.Trace == nil {
		return
	}
	w.Trace(fmt.Sprintf("%10.3f %s %s", w.now.Seconds(), what, strings.Join(details, " ")))
}

// failWorld ends the world: a promise is broken.
func (w *world) failWorld(format string, args ...any) {
	if w.err == nil {
		w.err = fmt.Errorf("seed %d, at %s: %s", w.seed, w.now, fmt.Sprintf(format, args...))
		w.appendTrace("BROKEN", w.err.Error())
	}
}

// injectFault says whether something goes wrong now, n times of 1000.
func (w *world) injectFault(n int, what string) bool {
	if !w.faulty || w.random.IntN(1000) >= n {
		return false
	}
	w.met[what]++
	w.appendTrace("fault", what)
	return true
}

func (w *world) oneIn(n int) bool { return w.random.IntN(100) < n }

func (w *world) randomBetween(low, high time.Duration) time.Duration {
	return low + time.Duration(w.random.Int64N(int64(high-low)))
}

func formatInt[T ~int | ~int8 | ~int64](n T) string { return strconv.FormatInt(int64(n), 10) }
