package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/nullops/nullops/internal/wait"
)

const (
	// soakDeployments are there all the time; soakStable of them never change.
	soakDeployments, soakStable = 50, 40
	// soakVisits is how many requests a second visitors send.
	soakVisits = 200
	// soakListeners follow the list of deployments, and some of them a single one.
	soakListeners = 20
	// soakEvery is how often everything is counted.
	soakEvery = 15 * time.Second
	// soakRest is longer than any connection may idle.
	soakRest = 150 * time.Second
	// soakPublished is how long a run takes whose figures are published.
	soakPublished = time.Hour
)

// soak uses a product for a long time, to see whether anything in it grows.
type soak struct {
	*lab
	lasts time.Duration
	began time.Time
	file  *os.File
	// engineRoot is where the engine keeps its data.
	engineRoot string

	mu     sync.Mutex
	counts soakCounts
	// slow are the times of the visits since the last sample.
	slow []time.Duration
}

// runSoak uses the product and judges what was seen; without a time, it judges an earlier run.
func runSoak(ctx context.Context, o options) (err error) {
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	o.samples = cmp.Or(o.samples, filepath.Join(root, ".cache", "soak.jsonl"))
	if o.soak > 0 {
		if err := recordSoak(ctx, o); err != nil {
			return err
		}
	}
	run, err := readSoak(o.samples)
	if err != nil {
		return err
	}
	// The last sample is a little before the end.
	return run.report(root, o.publish || run.lasts() >= soakPublished-2*time.Minute)
}

func recordSoak(ctx context.Context, o options) (err error) {
	machine := describeMachine(ctx)
	l, err := newLab(o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.close()) }()
	l.crowd, l.metrics = soakDeployments, map[string]string{}
	if o.small {
		l.crowd = 6
	}
	for _, name := range soakProcesses() {
		if l.metrics[name], err = freeAddress(); err != nil {
			return err
		}
	}
	if err := l.start(ctx); err != nil {
		return err
	}
	s := &soak{lab: l, lasts: o.soak}
	if s.file, err = os.Create(o.samples); err != nil {
		return err
	}
	defer s.file.Close()
	return s.run(ctx, machine)
}

// run fills the node, uses it until the time is over, and removes everything.
func (s *soak) run(ctx context.Context, m machine) error {
	if err := s.apply(ctx, "soak.yaml", soakDocument); err != nil {
		return err
	}
	ids := make([]string, s.stable())
	fill := func(ctx context.Context, i int) error {
		if i >= len(ids) {
			return nil
		}
		d, _, err := s.deploy(ctx, crowdProject, crowdName(i))
		if err == nil {
			err = s.visitOne(ctx, i)
		}
		ids[i] = d.Id
		return err
	}
	if err := s.eachOf(ctx, fill); err != nil {
		return err
	}
	install, err := s.inspect(ctx, ids[0], "relay", "", `{{index .Config.Labels "nullops.install"}}`)
	if err != nil {
		return err
	}
	s.began = time.Now()
	if err := s.write(soakHeader{Began: s.began, Machine: m.facts,
		Commit:      readCommand(ctx, "git", "rev-parse", "--short", "HEAD"),
		Load:        firstMatch(readText("/proc/loadavg"), `^\S+`),
		Deployments: s.crowd, Stable: s.stable(), Visits: soakVisits,
		Listeners: soakListeners}); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "soak: %d deployments are ready\n", len(ids))
	if err := s.use(ctx, ids, install); err != nil {
		return err
	}
	if err := wait.Sleep(ctx, soakRest); err != nil {
		return err
	}
	if err := s.sample(ctx, install, true); err != nil {
		return err
	}
	clean, stop := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Minute)
	defer stop()
	return s.disperse(clean, append(ids, make([]string, s.crowd-len(ids))...), install)
}

// stable is how many deployments never change.
func (s *soak) stable() int { return s.crowd * soakStable / soakDeployments }

// use lets visitors, people and listeners work until the time is over.
func (s *soak) use(ctx context.Context, ids []string, install string) error {
	working, stop := context.WithTimeout(ctx, s.lasts)
	defer stop()
	group, working := errgroup.WithContext(working)
	group.Go(func() error { return s.visit(working) })
	group.Go(func() error { return s.listen(working, ids) })
	for worker := range soakWorkers {
		group.Go(func() error { return s.change(working, worker) })
	}
	group.Go(func() error {
		for {
			if err := s.sample(working, install, false); err != nil && working.Err() == nil {
				return err
			}
			if err := wait.Sleep(working, soakEvery); err != nil {
				return nil
			}
		}
	})
	err := group.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}
