package main

import (
	"cmp"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/nullops/nullops/internal/testpart"
)

// event is one line of `go test -json`, see `go doc test2json`.
type event struct {
	Action      string
	Package     string
	ImportPath  string // of build events
	Test        string
	Output      string
	Elapsed     float64 // seconds
	FailedBuild string
}

// report prints packages as they end and sums up in finish.
type report struct {
	out    io.Writer
	strict bool

	output  map[[2]string]*strings.Builder // by package and test, until its verdict
	builds  map[string]*strings.Builder    // compiler messages by import path
	passed  map[string]int                 // top-level and subtests, by package
	failed  []string
	skipped []string
	slow    []timed

	// tests are the failed top-level tests by package, parts the failed subtests one
	// level below by package and test; final is set by what a second run must not
	// excuse: a data race, a panic, code that does not build.
	tests map[string][]string
	parts map[[2]string][]string
	final bool
	// whole are packages in which a test hung, so that others never ran.
	whole map[string]bool

	// reasons are the failed tests, each with the first lines in which it says why.
	reasons []string

	// ran and left are the tests in rotation that this run has, and those that another run has.
	ran, left []string
}

// Tests that take less than slowSeconds are not slow, and so many of the others are shown.
const (
	slowSeconds = 5
	slowShown   = 12
)

type timed struct {
	name    string
	seconds float64
}

func newReport(out io.Writer, strict bool) *report {
	return &report{
		out: out, strict: strict,
		output: map[[2]string]*strings.Builder{},
		builds: map[string]*strings.Builder{},
		passed: map[string]int{},
		tests:  map[string][]string{},
		parts:  map[[2]string][]string{},
		whole:  map[string]bool{},
	}
}

func (r *report) print(text string) { _, _ = io.WriteString(r.out, text) }

func (r *report) add(e event) {
	name := shortPackage(e.Package)
	if e.Test != "" {
		name += " " + e.Test
	}
	switch e.Action {
	case "output":
		builderOf(r.output, [2]string{e.Package, e.Test}).WriteString(e.Output)
		r.final = r.final || isInexcusable(e.Output)
		if e.Test != "" && strings.Contains(e.Output, ": "+testpart.Ran) {
			r.ran = append(r.ran, name)
		}
		if strings.HasPrefix(e.Output, hung) {
			r.whole[e.Package] = true
		}
	case "build-output":
		builderOf(r.builds, e.ImportPath).WriteString(e.Output)
	case "fail":
		r.failed = append(r.failed, name)
		r.final = r.final || e.FailedBuild != ""
		switch test, part, deeper := strings.Cut(e.Test, "/"); {
		case e.Test == "" || strings.Contains(part, "/"):
		case deeper:
			r.parts[[2]string{e.Package, test}] = append(r.parts[[2]string{e.Package, test}], part)
		default:
			r.tests[e.Package] = append(r.tests[e.Package], test)
		}
		// A package that failed though none of its tests did: nothing to run again.
		r.final = r.final || e.Test == "" && len(r.tests[e.Package]) == 0 && !r.whole[e.Package]
		if b, ok := r.builds[e.FailedBuild]; ok {
			r.print(b.String())
		}
		text := r.take(e)
		if e.Test != "" || e.FailedBuild != "" || isInexcusable(text) {
			r.reasons = append(r.reasons, name+firstReasons(text))
		}
		r.print(text)
		r.verdict(e, "FAIL")
	case "skip":
		switch text := r.take(e); {
		case e.Test == "":
		case strings.Contains(text, ": "+testpart.Left):
			r.left = append(r.left, name)
		default:
			r.skipped = append(r.skipped, name)
			r.print(text)
		}
	case "pass":
		r.take(e)
		r.verdict(e, "ok  ")
	}
}

// verdict counts a test, or prints the line of a package.
func (r *report) verdict(e event, word string) {
	if e.Test == "" {
		r.print(fmt.Sprintf("%s %-42s %6.1f s  %d tests\n",
			word, shortPackage(e.Package), e.Elapsed, r.passed[e.Package]))
		return
	}
	r.passed[e.Package]++
	if strings.Count(e.Test, "/") <= 1 {
		r.slow = append(r.slow, timed{shortPackage(e.Package) + " " + e.Test, e.Elapsed})
	}
}

// slowest returns the tests that take the longest. A test that only waits for its subtests is not
// among them: they are.
func (r *report) slowest() []timed {
	parents := map[string]bool{}
	for _, t := range r.slow {
		pkg, test, _ := strings.Cut(t.name, " ")
		if parent, _, deeper := strings.Cut(test, "/"); deeper && t.seconds >= slowSeconds {
			parents[pkg+" "+parent] = true
		}
	}
	slow := slices.DeleteFunc(slices.Clone(r.slow), func(t timed) bool {
		return t.seconds < slowSeconds || parents[t.name]
	})
	slices.SortFunc(slow, func(a, b timed) int { return cmp.Compare(b.seconds, a.seconds) })
	return slow
}

// take returns and forgets the output of what just ended.
func (r *report) take(e event) string {
	key := [2]string{e.Package, e.Test}
	b, ok := r.output[key]
	if !ok {
		return ""
	}
	delete(r.output, key)
	return b.String()
}

// finish prints the summary and says whether anything failed.
func (r *report) finish() bool {
	slow := r.slowest()
	for _, t := range slow[:min(slowShown, len(slow))] {
		r.print(fmt.Sprintf("slow %6.1f s  %s\n", t.seconds, t.name))
	}
	for _, name := range r.skipped {
		r.print("SKIP " + name + "\n")
	}
	for _, name := range r.failed {
		r.print("FAIL " + name + "\n")
	}
	total := 0
	for _, n := range r.passed {
		total += n
	}
	if r.strict && len(r.skipped) > 0 {
		r.print("A skipped test is a failure here: all servers are running (NULLOPS_TEST_STRICT=1).\n")
	}
	r.print(fmt.Sprintf("go tests: %d run, %d failed, %d skipped%s\n",
		total, len(r.failed), len(r.skipped), r.rotation()))
	return len(r.failed) > 0 || r.strict && len(r.skipped) > 0
}

// rotation says how many tests were left to other runs, if any are in rotation.
func (r *report) rotation() string {
	if len(r.ran)+len(r.left) == 0 {
		return ""
	}
	return fmt.Sprintf("; in rotation: %d run, %d left to other days", len(r.ran), len(r.left))
}

// noteRotation appends the tests in rotation to a file, from which tools/test.sh sums up. Without a
// file nobody asked for it.
func (r *report) noteRotation(file string) error {
	var text strings.Builder
	for _, name := range r.ran {
		fmt.Fprintln(&text, "ran", name)
	}
	for _, name := range r.left {
		fmt.Fprintln(&text, "left", name)
	}
	return appendText(file, text.String())
}

// reasonLines is how many lines of a failed test are repeated at the end of a run, and
// reasonLength how many bytes of each.
const (
	reasonLines  = 3
	reasonLength = 300
)

// inTestFile matches what package testing writes before what a test says.
var inTestFile = regexp.MustCompile(`^\s+\w+\.go:\d+: `)

// firstReasons returns the first lines in which a test says why it failed, each on a line.
func firstReasons(output string) string {
	var b strings.Builder
	n := 0
	for line := range strings.Lines(output) {
		if n == reasonLines {
			break
		}
		if inTestFile.MatchString(line) || isInexcusable(line) || strings.HasPrefix(line, hung) {
			line = strings.TrimSpace(line)
			b.WriteString("\n    " + line[:min(len(line), reasonLength)])
			n++
		}
	}
	return b.String()
}

// noteReasons appends why tests failed to a file, which tools/test.sh shows last. Without a file
// nobody asked for it.
func (r *report) noteReasons(file string) error {
	if len(r.reasons) == 0 {
		return nil
	}
	return appendText(file, strings.Join(r.reasons, "\n")+"\n")
}

func shortPackage(pkg string) string {
	if pkg == "github.com/nullops/nullops" {
		return "."
	}
	return strings.TrimPrefix(pkg, "github.com/nullops/nullops/")
}

func builderOf[K comparable](m map[K]*strings.Builder, key K) *strings.Builder {
	b, ok := m[key]
	if !ok {
		b = &strings.Builder{}
		m[key] = b
	}
	return b
}
