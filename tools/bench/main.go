// Command bench measures NullOps beside what people would use without it: the
// docker command line, nginx, and a plain Go program.
//
//	make bench                           everything, written to docs/benchmarks.*
//	make bench ROWS=journal_fsync,simulator   only these; the other rows stay
//	make bench RESUME=1                  only what was not yet measured on this code
//	tools/run services -- tools/run bench --only deploy_example --runs 3
//	tools/run services -- tools/run bench --only api_,events_ --runs 1 --small
//
// The rows kubernetes_… need a cluster beside these servers, and are left out without one:
//
//	tools/run services -- tools/kubernetes/node.sh tools/run bench --only kubernetes_ --publish
//
// The line with --small only tries whether the rows still work, on little data.
//
// It starts the product as it is installed: control plane, ingress and agent are
// three processes with a real database, and everything measured goes through
// them. Ours and the peer take turns, so that a machine that slows down slows
// both. Medians are published as they are, also where a goal is missed.
//
// It runs under `tools/run services`, which gives it PostgreSQL, a Docker Engine
// and a registry with this repository's images. With --only nothing is written,
// unless --publish says so too: then these rows are replaced as soon as their group
// is measured, so that a run that was ended early goes on with --resume.
//
// Nothing is published from a tree with changes that no commit holds, nor while
// others load the machine: see quiet.go.
package main

import (
	"cmp"
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

	"github.com/nullops/nullops/internal/wait"
)

// options is the parsed command line.
type options struct {
	only   string
	runs   int
	binary string
	steps  bool
	// publish writes what --only chose too.
	publish bool
	// resume leaves out groups whose rows were published of the same code.
	resume bool
	// small tries whether rows work, on little data; it measures nothing.
	small bool
	// soak is how long the product is used, to see whether it grows; zero is not at all. Samples is
	// the file with what was seen.
	soak    time.Duration
	samples string
}

// chooseSize is how much of something a row has.
func (o options) chooseSize(full, small int) int {
	if o.small {
		return small
	}
	return full
}

func main() {
	// Children die with the thread that started them; it must be this one.
	runtime.LockOSThread()
	if len(os.Args) >= 4 && os.Args[1] == plainProxyCommand {
		exitWith(plainProxy(os.Args[2], os.Args[3], os.Args[4:]...))
		return
	}
	var o options
	flag.StringVar(&o.only, "only", "",
		"measure only what begins with one of these, with commas between; write no files")
	flag.BoolVar(&o.publish, "publish", false, "with --only: replace these rows in docs/benchmarks.*")
	flag.BoolVar(&o.resume, "resume", false, "leave out what is published of the same code")
	flag.IntVar(&o.runs, "runs", 5, "runs of each, at least 5 for published numbers")
	flag.StringVar(&o.binary, "binary", "bin/nullops", "the program to measure")
	flag.BoolVar(&o.small, "small", false, "try whether the rows work, on little data; with --only")
	flag.BoolVar(&o.steps, "steps", false, "tell how long each step of the example took")
	flag.DurationVar(&o.soak, "soak", 0, "use the product for so long, and see whether it grows")
	flag.StringVar(&o.samples, "samples", "",
		"the file of samples that --soak writes; without --soak, judge it again")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if o.soak > 0 || o.samples != "" {
		exitWith(runSoak(ctx, o))
		return
	}
	exitWith(runGroups(ctx, o))
}

func exitWith(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench: FAILED:", err)
		os.Exit(1)
	}
}

// group measures some results together. Each of its rounds yields one sample of
// every figure, ours and the peer's in turn.
type group struct {
	figures []figure
	// prepare makes what all rounds need; the second return value undoes it.
	prepare func(ctx context.Context, l *lab) (round, func(context.Context) error, error)
	// alone needs no product: nothing of it is started for this group.
	alone bool
	// undoWithin bounds the undoing of prepare; zero means a minute.
	undoWithin time.Duration
}

// round measures once; it adds a sample for each figure of its group.
type round func(ctx context.Context, s *samples) error

func allGroups() []group {
	return slices.Concat([]group{stepGroup(), latencyGroup()}, pipelineGroups(), clusterGroups(),
		[]group{deployGroup(), trafficGroup(), tracingGroup(), heldGroup(), memoryGroup(),
			crowdGroup(), journalGroup(), simulatorGroup(), settleGroup(),
			choicesGroup(), visibleGroup(), followGroup(),
			// These fill the database, which the groups before are not to notice.
			peopleGroup(), listenersGroup(), floodGroup()})
}

func runGroups(ctx context.Context, o options) (err error) {
	if err := o.check(); err != nil {
		return err
	}
	chosen := selectGroups(o.only)
	if len(chosen) == 0 {
		return fmt.Errorf("--only %s: there are %s", o.only, strings.Join(groupNames(allGroups()), ", "))
	}
	l, err := newLab(o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.close()) }()
	p := publisher{root: l.root, machine: describeMachine(ctx), runs: o.runs}
	if o.writes() {
		if err := p.openPage(ctx); err != nil {
			return err
		}
		if o.resume {
			chosen = slices.DeleteFunc(chosen, p.isDone)
		}
	}
	if slices.ContainsFunc(chosen, func(g group) bool { return !g.alone }) {
		if err := l.start(ctx); err != nil {
			return err
		}
	}
	return l.measureAll(ctx, chosen, o, &p)
}

// check refuses what could not be published but would be.
func (o options) check() error {
	if o.runs < 1 || o.runs < 5 && o.writes() {
		return errors.New("--runs: published numbers are medians of at least 5 runs")
	}
	if o.small && o.writes() {
		return errors.New("--small: what is measured on little data is not published")
	}
	return nil
}

// writes says whether the results are published.
func (o options) writes() bool { return o.only == "" || o.publish }

// interruptedWithin is how long after a failure a signal may be noticed that has ended the peers
// before it reached us: then no peer is to blame.
const interruptedWithin = time.Second

// measureAll continues with the next group when one fails: its rows stay as they were, and the
// others are not measured in vain.
func (l *lab) measureAll(ctx context.Context, chosen []group, o options, p *publisher) error {
	var failed error
	for _, g := range chosen {
		began := time.Now()
		found, err := l.measureGroup(ctx, g, o)
		if err == nil && o.writes() {
			err = p.publish(found)
		}
		if err != nil {
			if wait.Sleep(ctx, interruptedWithin) != nil {
				err = fmt.Errorf("interrupted, or out of time: %w", err)
			}
			err = fmt.Errorf("%s: %w", g.figures[0].name, err)
			fmt.Fprintln(os.Stderr, "bench: FAILED:", err)
			failed = errors.Join(failed, err)
		}
		printTable(os.Stdout, found)
		fmt.Fprintf(os.Stderr, "bench: %s took %s\n", g.figures[0].name,
			time.Since(began).Round(time.Second))
		if ctx.Err() != nil {
			break
		}
	}
	return failed
}

func selectGroups(prefixes string) []group {
	chosen := strings.FieldsFunc(prefixes, func(r rune) bool { return r == ',' || r == ' ' })
	return slices.DeleteFunc(allGroups(), func(g group) bool {
		return len(chosen) > 0 && !slices.ContainsFunc(g.figures, func(f figure) bool {
			return slices.ContainsFunc(chosen, func(prefix string) bool {
				return strings.HasPrefix(f.name, prefix)
			})
		})
	})
}

func groupNames(all []group) []string {
	var names []string
	for _, g := range all {
		for _, f := range g.figures {
			names = append(names, f.name)
		}
	}
	return names
}

// measureGroup runs a group. The first round warms caches up and does not count.
func (l *lab) measureGroup(ctx context.Context, g group, o options) (_ []result, err error) {
	if o.writes() {
		if err := l.others.awaitQuiet(ctx); err != nil {
			return nil, err
		}
	}
	do, undo, err := g.prepare(ctx, l)
	if err != nil {
		return nil, err
	}
	defer func() {
		clean, cancel := context.WithTimeout(context.WithoutCancel(ctx),
			cmp.Or(g.undoWithin, time.Minute))
		defer cancel()
		err = errors.Join(err, undo(clean))
	}()
	s := &samples{}
	if err := do(ctx, s); err != nil {
		return nil, err
	}
	s.forget()
	most, err := l.measureRounds(ctx, s, do, o)
	if err != nil {
		return nil, err
	}
	results := s.results(g.figures)
	for i := range results {
		results[i].Others = &most
	}
	return results, nil
}

// measureRounds repeats rounds that others disturbed, at most as many as count. It returns the most
// that others did in a round that counts.
func (l *lab) measureRounds(
	ctx context.Context, s *samples, do round, o options,
) (most disturbance, err error) {
	disturbed := 0
	for done := 0; done < o.runs; {
		s.turn++
		restore := s.snapshot()
		w := l.others.watch()
		err := do(ctx, s)
		during := w.stop()
		if err != nil {
			return most, err
		}
		if err := during.check(); err != nil && o.writes() {
			if disturbed++; disturbed > o.runs {
				return most, fmt.Errorf("others disturbed %d rounds, the last one: %w", disturbed, err)
			}
			fmt.Fprintln(os.Stderr, "bench: a round does not count:", err)
			restore()
			continue
		}
		done++
		most = most.max(during)
		s.show(os.Stderr, done, o.runs)
	}
	return most, nil
}
