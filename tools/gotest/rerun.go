package main

import (
	"fmt"
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
	n := 0
	for _, tests := range r.tests {
		n += len(tests)
	}
	skipped := r.strict && len(r.skipped) > 0
	return !r.final && !skipped && 0 < n && n <= limit
}

// inexcusable reports whether a line of output stays a failure however often
// the test passes afterwards.
func inexcusable(line string) bool {
	return strings.Contains(line, "WARNING: DATA RACE") || strings.HasPrefix(line, "panic: ")
}

// rerun runs the failed tests once more, one package at a time with nothing
// beside it, and says whether any failed again. What passes now is listed as
// FLAKY and stays in sight: its first output is above, and it wants mending.
func rerun(first *report, args []string) (failed bool) {
	flags := slices.DeleteFunc(slices.Clone(args), isPackage)
	for pkg, tests := range first.tests {
		first.print(fmt.Sprintf("== again, alone: %s %s\n", short(pkg), strings.Join(tests, " ")))
		pattern := "^(" + strings.Join(tests, "|") + ")$"
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
