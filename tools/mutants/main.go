// Command mutants breaks the product on purpose, one small change at a time, and runs the tests
// that reach the change. A change that no test notices is a survivor: the tests do not say what
// that line is for.
//
//	tools/run mutants                              every mutant of every target; takes hours
//	tools/run mutants --sample 40 pipeline         40 mutants of one target, chosen by --seed
//	tools/run mutants --again pipeline             what survived last time, after tests were added
//	tools/run mutants --changed --sample 30        mutants of changed lines only; writes nothing
//	tools/run mutants --recount                    no tests: counts the reasons on the page again
//
// It writes docs/mutants.md: how many mutants of each target died, and the survivors, each with
// the reason why it may live. Reasons are written into the page by hand; later runs keep them as
// long as the code has the mutant, and list those that they drop.
// Tests that need a server are skipped without one, so what only they notice survives then: run
// it under `tools/run services --only postgres` for the targets that need the database.
//
// The checkout is never edited: the changed files are handed to the compiler with -overlay. All
// changes of a target but those of constants are compiled into one test binary and chosen with
// an environment variable, so that a mutant costs a run and no build.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

// target is a package that is broken, and the packages whose tests are to notice.
type target struct {
	dir string
	// files narrows the package to the files that match, as path.Match does.
	files []string
	// without are files that only hold the product to something, or change nothing without a build
	// tag: to break them breaks no product.
	without []string
	// more are packages whose tests are to notice too.
	more []string
}

// arguments are given to the tests of a package: ten thousand worlds for each mutant take too
// long, and a thousand meet nearly as much.
var arguments = map[string][]string{"agent/sim": {"-count", "1000"}}

var targets = []target{
	{dir: "controlplane/access"},
	{dir: "controlplane/seal"},
	{dir: "agent/engine", without: []string{"phases.go", "planted_off.go"},
		more: []string{"agent/sim"}},
	{dir: "agent/wire"},
	{dir: "controlplane/lifecycle", files: []string{
		"admit.go", "hosts.go", "place*.go", "preflight*.go", "queue.go", "refuse.go",
		"relocateroom.go",
	}},
	{dir: "controlplane/review"},
	{dir: "controlplane/gate"},
	{dir: "agent/sidecar", files: []string{"dial.go", "listeners.go", "reach.go", "relay.go"}},
	{dir: "ingress"},
	{dir: "pipeline"},
}

func (t target) testPackages() []string {
	return append([]string{t.dir}, t.more...)
}

type options struct {
	sample, parallel, least int
	seed                    int64
	changed, again, recount bool
	most                    time.Duration
	base, run               string
	dirs                    []string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := runMutants(ctx, parseOptions()); err != nil {
		fmt.Fprintln(os.Stderr, "mutants: FAILED:", err)
		stop()
		os.Exit(1)
	}
}

func parseOptions() (o options) {
	flag.IntVar(&o.sample, "sample", 0, "mutants of each target, or of all with --changed; 0 is all")
	flag.Int64Var(&o.seed, "seed", 1, "which mutants a sample consists of")
	flag.IntVar(&o.parallel, "parallel", max(1, runtime.NumCPU()/2), "mutants tested at a time")
	flag.BoolVar(&o.changed, "changed", false, "only mutants of lines that differ from --base")
	flag.DurationVar(&o.most, "most", 0, "after which time a target is left: a sample, by --seed")
	flag.BoolVar(&o.again, "again", false, "only what survived before, after tests were added")
	flag.StringVar(&o.run, "run", "", "with --again: only tests that match, such as those added")
	flag.BoolVar(&o.recount, "recount", false, "run nothing: count the reasons on the page again")
	flag.StringVar(&o.base, "base", "", "the commit to compare with; see findBase for its default")
	flag.IntVar(&o.least, "least", 85, "per cent that have to be killed or explained")
	flag.Parse()
	o.dirs = flag.Args()
	return o
}

func runMutants(ctx context.Context, o options) error {
	if o.again && (o.most > 0 || o.sample > 0 || o.changed) {
		return errors.New("--again tests all that survived: leave --most, --sample and --changed out")
	}
	if o.run != "" && !o.again {
		return errors.New("--run goes with --again: other tests may kill what these do not")
	}
	chosen, err := chooseTargets(o.dirs)
	if err != nil {
		return err
	}
	report, err := openReport()
	if err != nil { // before hours of tests, not after
		return err
	}
	if o.recount {
		return recountAll(ctx, chosen, report)
	}
	found, err := findAll(ctx, chosen, report, o)
	if err != nil {
		return err
	}
	var all []result
	for _, t := range chosen {
		if len(found[t.dir].picked) == 0 {
			continue
		}
		results, err := testTarget(ctx, t, found[t.dir], o)
		if err != nil {
			return fmt.Errorf("%s: %w", t.dir, err)
		}
		all = append(all, results...)
		if report, err = writeResults(t, found[t.dir].mutants, results, o); err != nil {
			return err
		}
	}
	return judge(all, report, o)
}

// writeResults puts the results of a target into the page, which somebody may have edited
// meanwhile.
func writeResults(t target, mutants []mutant, results []result, o options) (*report, error) {
	report, err := openReport()
	if err != nil {
		return nil, err
	}
	stale := report.replace(t, mutants, results, o)
	if o.changed {
		return report, nil
	}
	printStale(stale)
	return report, os.WriteFile(page, []byte(report.String()), 0o644)
}

// recountAll brings the page in line with its reasons and with the code.
func recountAll(ctx context.Context, chosen []target, report *report) error {
	for _, t := range chosen {
		mutants, err := findMutants(ctx, t)
		if err != nil {
			return fmt.Errorf("%s: %w", t.dir, err)
		}
		printStale(report.recount(t, mutants))
	}
	return os.WriteFile(page, []byte(report.String()), 0o644)
}

// printStale says which reasons were dropped, for who wants to write them for the new code.
func printStale(stale []string) {
	for _, line := range stale {
		fmt.Println("STALE    its code is gone, and so is its reason:", line)
	}
}

func openReport() (*report, error) {
	text, err := os.ReadFile(page)
	if err != nil {
		return nil, err
	}
	return readReport(string(text))
}

func chooseTargets(dirs []string) ([]target, error) {
	if len(dirs) == 0 {
		return targets, nil
	}
	var chosen []target
	for _, dir := range dirs {
		i := slices.IndexFunc(targets, func(t target) bool { return t.dir == filepath.Clean(dir) })
		if i < 0 {
			return nil, fmt.Errorf("%s is no target; the targets are in tools/mutants/main.go", dir)
		}
		chosen = append(chosen, targets[i])
	}
	return chosen, nil
}

// population is what a target has, and what of it is tested.
type population struct{ mutants, picked []mutant }

// findAll finds the mutants of the targets and picks the sample.
func findAll(ctx context.Context, chosen []target, known *report, o options) (
	map[string]population, error,
) {
	isMeant := func(mutant) bool { return true }
	switch {
	case o.again:
		isMeant = known.lists
	case o.changed:
		lines, err := findChangedLines(ctx, o.base)
		if err != nil {
			return nil, err
		}
		isMeant = lines.include
	}
	found := map[string]population{}
	var candidates []mutant
	for _, t := range chosen {
		mutants, err := findMutants(ctx, t)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t.dir, err)
		}
		mine := slices.DeleteFunc(slices.Clone(mutants), func(m mutant) bool { return !isMeant(m) })
		candidates = append(candidates, mine...)
		found[t.dir] = population{mutants, pickSample(mine, o.sample, o.seed)}
	}
	if !o.changed {
		return found, nil
	}
	fmt.Printf("mutants: %d of changed lines\n", len(candidates))
	picked := pickSample(candidates, o.sample, o.seed)
	for dir, p := range found {
		p.picked = slices.DeleteFunc(slices.Clone(picked), func(m mutant) bool { return m.dir() != dir })
		found[dir] = p
	}
	return found, nil
}

// judge prints the sum, and is an error when too few were killed or a survivor has no reason. A
// few of the mutants of a change may survive: it is judged by its share alone.
func judge(results []result, report *report, o options) error {
	killed, explained := 0, 0
	for _, r := range results {
		switch {
		case r.killed:
			killed++
		case report.reasons[r.mutant.id] != "":
			explained++
		}
	}
	if len(results) == 0 {
		fmt.Println("mutants: none to test")
		return nil
	}
	unexplained := len(results) - killed - explained
	fmt.Printf("mutants: %d run, %d killed, %d survived with a reason, %d without\n",
		len(results), killed, explained, unexplained)
	counted := killed
	if o.changed {
		counted += explained
	}
	if share := 100 * counted / len(results); share < o.least {
		return fmt.Errorf("tests noticed %d %% of the mutants, and have to notice %d %%: "+
			"add assertions that fail with the survivors above", share, o.least)
	}
	if unexplained > 0 && !o.changed {
		return fmt.Errorf("%d survivors are not explained: add assertions that fail with them, "+
			"or write into %s why they may live", unexplained, page)
	}
	return nil
}

// testTarget builds the target with its mutants and tests each.
func testTarget(ctx context.Context, t target, p population, o options) ([]result, error) {
	work, err := os.MkdirTemp("", "nullops-mutants-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(work) }()
	began := time.Now()
	b, err := newBuilder(ctx, work, t, o.run)
	if err != nil {
		return nil, err
	}
	coverage, err := b.measureCoverage(ctx, o.parallel)
	if err != nil {
		return nil, err
	}
	if err := b.freeConstants(ctx, p.picked); err != nil {
		return nil, err
	}
	binaries, refused, err := b.buildAll(ctx, p.picked)
	if err != nil {
		return nil, err
	}
	r := &runner{
		builder: b, coverage: coverage, binaries: binaries,
		baseline: map[string]time.Duration{},
	}
	if err := r.checkBaseline(ctx); err != nil {
		return nil, err
	}
	viable := slices.DeleteFunc(slices.Clone(p.picked), func(m mutant) bool {
		return slices.Contains(refused, m.number)
	})
	if o.most > 0 {
		viable = shuffle(viable, o.seed)
	}
	results := r.testAll(ctx, viable, o)
	if err := context.Cause(ctx); err != nil {
		return nil, errors.New("interrupted; nothing was written")
	}
	fmt.Printf("%s: %d of %d mutants in %.0f s\n", t.dir, len(results), len(p.mutants),
		time.Since(began).Seconds())
	return slices.DeleteFunc(results, func(r result) bool { return r.invalid }), nil
}

// joinDir names a package for the go command.
func joinDir(dir string) string { return "./" + strings.TrimPrefix(dir, "./") }
