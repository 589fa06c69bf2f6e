package main

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// rerunLimit is how many failed tests may be run again; 0 when the environment
// does not say. More than a few failures are no accident of a busy machine.
func rerunLimit() int {
	n, err := strconv.Atoi(os.Getenv("NULLOPS_TEST_RERUN"))
	if err != nil {
		return 0
	}
	return n
}

// mayRerun reports whether the failures could be those of a busy machine.
func (r *report) mayRerun(limit int) bool {
	n := len(r.whole)
	for pkg, tests := range r.tests {
		for _, test := range tests {
			n += max(1, len(r.parts[[2]string{pkg, test}]))
		}
	}
	skipped := r.strict && len(r.skipped) > 0
	return !r.final && !skipped && 0 < n && n <= limit
}

// isInexcusable reports whether a line of output stays a failure however often
// the test passes afterwards.
func isInexcusable(line string) bool {
	return strings.Contains(line, "WARNING: DATA RACE") ||
		strings.HasPrefix(line, "panic: ") && !strings.HasPrefix(line, hung)
}

// hung begins what a package says in which a test did not end in time.
const hung = "panic: test timed out after"

// rerunFailed runs the failed tests once more, one at a time with nothing beside it, and
// says whether any failed again. Of a test with failed subtests only these run: all
// end-to-end stories are subtests of one. What passes now is listed as FLAKY and
// stays in sight: its first output is above, and it wants mending.
func rerunFailed(first *report, args []string) (failed bool) {
	flags := slices.DeleteFunc(slices.Clone(args), isPackage)
	for _, again := range first.again() {
		first.print(fmt.Sprintf("== again, alone: %s %s\n", shortPackage(again.pkg), again.pattern))
		second := newReport(first.out, first.strict)
		if runTests(second, append(slices.Clone(flags), "-count=1", "-run", again.pattern, again.pkg)) {
			failed = true
			continue
		}
		first.print(fmt.Sprintf("FLAKY %s %s: failed once, passed alone\n",
			shortPackage(again.pkg), again.pattern))
		if err := noteFlaky(os.Getenv("NULLOPS_TEST_FLAKY"), again.names); err != nil {
			first.print(fmt.Sprintf("gotest: the flaky tests are not recorded: %v\n", err))
			failed = true
		}
	}
	return failed
}

// noteFlaky appends the names to a file, from which tools/test.sh records them in
// docs/flaky.md. Without a file nobody asked for it.
func noteFlaky(file string, names []string) error {
	return appendText(file, strings.Join(names, "\n")+"\n")
}

func appendText(file, text string) error {
	if file == "" {
		return nil
	}
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// attempt is one `go test -run pattern pkg`; names are those of the tests that failed.
type attempt struct {
	pkg, pattern string
	names        []string
}

// again lists what a second run consists of.
func (r *report) again() (attempts []attempt) {
	for pkg := range r.whole { // all of it: those behind the hung test never ran
		attempts = append(attempts, attempt{pkg, ".", r.namesOfHung(pkg)})
	}
	for pkg, tests := range r.tests {
		if r.whole[pkg] {
			continue
		}
		for _, test := range tests {
			parts := r.parts[[2]string{pkg, test}]
			attempts = append(attempts,
				attempt{pkg, testPattern(test, parts), namesOf(pkg, test, parts)})
		}
	}
	return attempts
}

// namesOf names a test, or of its subtests the given ones.
func namesOf(pkg, test string, parts []string) (names []string) {
	name := shortPackage(pkg) + " " + test
	for _, part := range parts {
		names = append(names, name+"/"+part)
	}
	if len(parts) == 0 {
		names = []string{name}
	}
	return names
}

// namesOfHung names the tests that were running when their package's time was over.
func (r *report) namesOfHung(pkg string) (names []string) {
	for _, test := range r.tests[pkg] {
		names = append(names, namesOf(pkg, test, r.parts[[2]string{pkg, test}])...)
	}
	if len(names) == 0 {
		names = []string{shortPackage(pkg) + " (timed out)"}
	}
	return names
}

// testPattern matches a test, or of its subtests just the given ones.
func testPattern(test string, parts []string) string {
	if len(parts) == 0 {
		return "^" + test + "$"
	}
	quoted := make([]string, len(parts))
	for i, part := range parts {
		quoted[i] = regexp.QuoteMeta(part)
	}
	return "^" + test + "$/^(" + strings.Join(quoted, "|") + ")$"
}

func isPackage(arg string) bool {
	return strings.HasPrefix(arg, "./") || strings.HasPrefix(arg, "github.com/")
}
