// Command bench measures NullOps beside what people would use without it: the
// docker command line, nginx, and a plain Go program.
//
//	make bench                           everything, written to docs/benchmarks.*
//	tools/run services -- tools/run bench --only deploy_example --runs 3
//
// It starts the product as it is installed: control plane, ingress and agent are
// three processes with a real database, and everything measured goes through
// them. Ours and the peer take turns, so that a machine that slows down slows
// both. Medians are published as they are, also where a goal is missed.
//
// It runs under `tools/run services`, which gives it PostgreSQL, a Docker Engine
// and a registry with this repository's images. With --only nothing is written.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

// options is the parsed command line.
type options struct {
	only   string
	runs   int
	binary string
	steps  bool
}

func main() {
	// Children die with the thread that started them; it must be this one.
	runtime.LockOSThread()
	if len(os.Args) == 4 && os.Args[1] == plainProxyCommand {
		fatal(plainProxy(os.Args[2], os.Args[3]))
		return
	}
	var o options
	flag.StringVar(&o.only, "only", "", "measure only what begins with this; write no files")
	flag.IntVar(&o.runs, "runs", 5, "runs of each, at least 5 for published numbers")
	flag.StringVar(&o.binary, "binary", "bin/nullops", "the program to measure")
	flag.BoolVar(&o.steps, "steps", false, "tell how long each step of the example took")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	fatal(run(ctx, o))
}

func fatal(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench: FAILED:", err)
		os.Exit(1)
	}
}

// group measures some results together. Each of its rounds gives one sample of
// every figure, ours and the peer's in turn.
type group struct {
	figures []figure
	// prepare makes what all rounds need; the second return value undoes it.
	prepare func(ctx context.Context, l *lab) (round, func(context.Context) error, error)
}

// round measures once; it adds a sample for each figure of its group.
type round func(ctx context.Context, s *samples) error

func groups() []group {
	return []group{stepGroup(), deployGroup(), trafficGroup(), memoryGroup()}
}

func run(ctx context.Context, o options) (err error) {
	if o.runs < 1 || o.runs < 5 && o.only == "" {
		return errors.New("--runs: published numbers are medians of at least 5 runs")
	}
	chosen := selected(o.only)
	if len(chosen) == 0 {
		return fmt.Errorf("--only %s: there are %s", o.only, strings.Join(names(groups()), ", "))
	}
	machine := describeMachine(ctx)
	l, err := newLab(o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.close()) }()
	if err := l.start(ctx); err != nil {
		return err
	}
	var results []result
	for _, g := range chosen {
		found, err := measure(ctx, l, g, o.runs)
		if err != nil {
			return fmt.Errorf("%s: %w", g.figures[0].name, err)
		}
		results = append(results, found...)
	}
	printTable(os.Stdout, results)
	if o.only != "" {
		return nil
	}
	return publish(l.root, results, machine, o.runs)
}

func selected(prefix string) []group {
	return slices.DeleteFunc(groups(), func(g group) bool {
		return !slices.ContainsFunc(g.figures, func(f figure) bool {
			return strings.HasPrefix(f.name, prefix)
		})
	})
}

func names(all []group) []string {
	var names []string
	for _, g := range all {
		for _, f := range g.figures {
			names = append(names, f.name)
		}
	}
	return names
}

// measure runs a group. The first round warms caches up and does not count.
func measure(ctx context.Context, l *lab, g group, runs int) (_ []result, err error) {
	do, undo, err := g.prepare(ctx, l)
	if err != nil {
		return nil, err
	}
	defer func() {
		clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		err = errors.Join(err, undo(clean))
	}()
	s := &samples{}
	for i := range runs + 1 {
		if err := do(ctx, s); err != nil {
			return nil, err
		}
		if i == 0 {
			s.forget()
			continue
		}
		s.show(os.Stderr, i, runs)
	}
	return s.results(g.figures), nil
}
