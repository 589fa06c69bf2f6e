package main

import (
	"fmt"
	"maps"
	"os"
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
	for _, tests := range r.tests {
		n += len(tests)
	}
	skipped := r.strict && len(r.skipped) > 0
	return !r.final && !skipped && 0 < n && n <= limit
}

// inexcusable reports whether a line of output stays a failure however often
// the test passes afterwards.
func inexcusable(line string) bool {
	return strings.Contains(line, "WARNING: DATA RACE") ||
		strings.HasPrefix(line, "panic: ") && !strings.HasPrefix(line, hung)
}

// hung begins what a package says in which a test did not end in time.
const hung = "panic: test timed out after"

// rerun runs the failed tests once more, one package at a time with nothing
// beside it, and says whether any failed again. What passes now is listed as
// FLAKY and stays in sight: its first output is above, and it wants mending.
func rerun(first *report, args []string) (failed bool) {
	flags := slices.DeleteFunc(slices.Clone(args), isPackage)
	packages := maps.Clone(first.tests)
	for pkg := range first.whole {
		packages[pkg] = []string{"."} // all of them: those behind the hung one never ran
	}
	for pkg, tests := range packages {
		first.print(fmt.Sprintf("== again, alone: %s %s\n", short(pkg), strings.Join(tests, " ")))
		pattern := "^(" + strings.Join(tests, "|") + ")$"
		if first.whole[pkg] {
			pattern = "."
		}
		again := newReport(first.out, first.strict)
		if run(again, append(slices.Clone(flags), "-count=1", "-run", pattern, pkg)) {
			failed = true
			continue
		}
		for _, test := range tests {
			first.print(fmt.Sprintf("FLAKY %s %s: failed once, passed alone\n", short(pkg), test))
		}
	}
	return failed
}

func isPackage(arg string) bool {
	return strings.HasPrefix(arg, "./") || strings.HasPrefix(arg, "github.com/")
}
