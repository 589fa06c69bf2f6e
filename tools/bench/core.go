package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nullops/nullops/agent/sim"
)

// Rows of the agent's core, which need nothing of the product to run.

func journalGroup() group {
	g := group{prepare: prepareJournal, alone: true}
	for _, f := range []struct{ name, peer string }{
		{"journal_fsync", "write and fsync of each record"},
		{"journal_fsync_16", "write and fsync of each record"},
	} {
		g.figures = append(g.figures, figure{name: f.name, unit: "records/s", peer: f.peer,
			better: "higher"})
	}
	return g
}

// prepareJournal builds the agent's own benchmark: the journal has no door but
// the agent.
func prepareJournal(
	ctx context.Context, l *lab,
) (round, func(context.Context) error, error) {
	binary := filepath.Join(l.dir, "agent.test")
	if _, err := runCommand(ctx, nil, "go", "test", "-c", "-o", binary, "./agent"); err != nil {
		return nil, nil, err
	}
	do := func(ctx context.Context, s *samples) error {
		out, err := runCommand(ctx, nil, binary, "-test.run", "^$", "-test.bench", "^BenchmarkJournal$",
			"-test.benchtime", "3s")
		if err != nil {
			return err
		}
		perSecond := map[string]float64{}
		for _, name := range []string{"one", "sixteen", "plain"} {
			found := firstMatch(out, `\s(\S+) `+name+`/s`)
			if perSecond[name], err = strconv.ParseFloat(found, 64); err != nil {
				return fmt.Errorf("the benchmark said nothing of %s: %w:\n%s", name, err, out)
			}
		}
		for row, name := range map[string]string{"journal_fsync": "one",
			"journal_fsync_16": "sixteen"} {
			s.addOurs(row, perSecond[name])
			s.addPeer(row, perSecond["plain"])
		}
		return nil
	}
	return do, func(context.Context) error { return nil }, nil
}

// settleParts is how many parts BenchmarkSettle deals the places out to.
const settleParts = 5

// settleGroup kills the real agent at every place that it may die at, and looks how
// long the next one takes. Its tests look at everything but the time.
func settleGroup() group {
	return group{
		figures: []figure{{name: "settle_after_kill", unit: "s", peer: goalPeer,
			better: "lower", goal: 10}},
		prepare: prepareSettle,
		alone:   true,
	}
}

func prepareSettle(
	ctx context.Context, l *lab,
) (round, func(context.Context) error, error) {
	binary := filepath.Join(l.dir, "sweep.test")
	if _, err := runCommand(ctx, nil, "go", "test", "-c", "-o", binary, "./agent/sweep"); err != nil {
		return nil, nil, err
	}
	part := 0
	do := func(ctx context.Context, s *samples) error {
		out, err := runCommand(ctx, nil, "env", "-C", "agent/sweep", binary, "-test.run", "^$",
			"-test.benchtime", "1x", "-test.timeout", "20m",
			"-test.bench", fmt.Sprintf("^BenchmarkSettle$/^%d$", part%settleParts))
		if err != nil {
			return err
		}
		part++
		longest, err := strconv.ParseFloat(firstMatch(out, `\s(\S+) longest-s`), 64)
		if err != nil {
			return fmt.Errorf("the benchmark said nothing of the longest: %w:\n%s", err, out)
		}
		s.addOurs("settle_after_kill", longest)
		return nil
	}
	return do, func(context.Context) error { return nil }, nil
}

// simulated is how many worlds one run plays: some seconds' worth.
const simulated = 4000

// enoughWorlds is what ten thousand in a minute need.
const enoughWorlds = 10000.0 / 60

func simulatorGroup() group {
	return group{
		figures: []figure{{name: "simulator", unit: "schedules/s", peer: goalPeer,
			better: "higher", goal: enoughWorlds}},
		prepare: func(context.Context, *lab) (round, func(context.Context) error, error) {
			var from uint64
			do := func(_ context.Context, s *samples) error {
				began := time.Now()
				err := runSeeds(from+1, simulated)
				from += simulated
				s.addOurs("simulator", simulated/time.Since(began).Seconds())
				return err
			}
			return do, func(context.Context) error { return nil }, nil
		},
		alone: true,
	}
}

// runSeeds runs seeds on all cores. Each has to come to a good end.
func runSeeds(from, count uint64) error {
	var (
		next   atomic.Uint64
		group  sync.WaitGroup
		mu     sync.Mutex
		failed error
	)
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			for {
				n := next.Add(1) - 1
				if n >= count {
					return
				}
				r := sim.Run(from+n, sim.Options{})
				if r.Err != nil {
					mu.Lock()
					failed = errors.Join(failed, fmt.Errorf("seed %d: %w", r.Seed, r.Err))
					mu.Unlock()
				}
			}
		})
	}
	group.Wait()
	return failed
}
