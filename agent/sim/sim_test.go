package sim_test

import (
	"flag"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/nullops/nullops/agent/sim"
)

var (
	seed  = flag.Uint64("seed", 0, "play this one seed")
	trace = flag.Bool("trace", false, "print what happens in the world of -seed")
	first = flag.Uint64("first", 1, "the first seed to play")
	count = flag.Int("count", worlds, "how many seeds to play")
)

// Ten thousand unlucky worlds, each of which has to come to a good end.
//
// fault: F64
func TestSimulator(t *testing.T) {
	if *seed != 0 {
		playOne(t)
		return
	}
	began := time.Now()
	all := runSeeds(*first, *count, sim.Options{})
	var settled []time.Duration
	met, events := map[string]int{}, 0
	for _, r := range all {
		if r.Err != nil {
			t.Errorf("%v\nplay it again: go test ./agent/sim -run TestSimulator -seed %d -trace",
				r.Err, r.Seed)
		}
		settled = append(settled, r.Settled)
		events += r.Events
		for what, n := range r.Met {
			met[what] += n
		}
	}
	slices.Sort(settled)
	took := time.Since(began)
	t.Logf("%d worlds, %d events in %s: %.0f worlds per second; settled after p50 %s, p99 %s, max %s",
		len(all), events, took.Round(time.Millisecond), float64(len(all))/took.Seconds(),
		settled[len(settled)/2], settled[len(settled)*99/100], settled[len(settled)-1])
	t.Logf("met: %v", met)
}

func playOne(t *testing.T) {
	o := sim.Options{}
	if *trace {
		o.Trace = func(line string) { t.Log(line) }
	}
	r := sim.Run(*seed, o)
	t.Logf("seed %d: %d events, trace %x, settled after %s", r.Seed, r.Events, r.Trace, r.Settled)
	if r.Err != nil {
		t.Error(r.Err)
	}
}

// runSeeds runs seeds side by side, until a few of them failed.
func runSeeds(from uint64, n int, o sim.Options) []sim.Report {
	var (
		mu   sync.Mutex
		all  []sim.Report
		next = from
		bad  int
		wg   sync.WaitGroup
	)
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for {
				mu.Lock()
				s := next
				next++
				stop := s >= from+uint64(n) || bad >= 3
				mu.Unlock()
				if stop {
					return
				}
				r := sim.Run(s, o)
				mu.Lock()
				all = append(all, r)
				if r.Err != nil {
					bad++
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return all
}

// The same seed is the same world, whatever ran before it.
func TestRun_IsTheSameForTheSameSeed(t *testing.T) {
	seen := map[uint64]uint64{}
	for s := uint64(1); s <= 200; s++ {
		a, b := sim.Run(s, sim.Options{}), sim.Run(s, sim.Options{})
		if a.Trace != b.Trace || a.Events != b.Events {
			t.Fatalf("seed %d: traces %x and %x, %d and %d events",
				s, a.Trace, b.Trace, a.Events, b.Events)
		}
		if other, known := seen[a.Trace]; known {
			t.Errorf("seeds %d and %d are the same world", s, other)
		}
		seen[a.Trace] = s
	}
}

// BenchmarkRun is what `make bench` shows as simulator.
func BenchmarkRun(b *testing.B) {
	s := uint64(0)
	for b.Loop() {
		s++
		if r := sim.Run(s, sim.Options{}); r.Err != nil {
			b.Fatal(r.Err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "schedules/s")
}
