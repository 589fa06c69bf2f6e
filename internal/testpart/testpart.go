// Package testpart rotates slow tests: each belongs to one of seven parts, which its name decides,
// and a run of `make test` has one part, which the weekday decides. Seven days in a row have run
// all of them. NULLOPS_TEST_PART is the part of a run; without it, everything runs.
package testpart

import (
	"fmt"
	"hash/crc32"
	"os"
	"strconv"
	"testing"
)

const (
	// Parts is how many runs have all tests between them. ui/e2e/part.mjs has the same number.
	Parts = 7
	// Variable names the part of this run, 1 to Parts, or "all".
	Variable = "NULLOPS_TEST_PART"
	// salt was chosen so that the parts take about the same time. Another one moves tests between
	// them, in ui/e2e/part.mjs too.
	salt = "158901 "
)

// Ran and Left begin what a test in rotation writes; tools/gotest counts by them. A test that is
// left out is skipped, and that is no failure.
const (
	Ran  = "runs in part "
	Left = "left to part "
)

// PartOf returns the part that a test belongs to. Nothing but the name decides, so that a new test
// moves no other one.
func PartOf(name string) int {
	return int(uint64(crc32.ChecksumIEEE([]byte(salt+name)))*Parts>>32) + 1
}

// Rotate skips a test that belongs to the part of another run. It is the first statement of the
// test: what runs before it runs every time.
func Rotate(t testing.TB) {
	t.Helper()
	part, own := readPart(t), PartOf(t.Name())
	switch part {
	case 0:
	case own:
		t.Logf("%s%d of %d", Ran, own, Parts)
	default:
		t.Skipf("%s%d of %d", Left, own, Parts)
	}
}

// Pick returns those of a test's cases that belong to this run, in their order.
func Pick[T any](t testing.TB, cases []T) (picked []T) {
	t.Helper()
	part := readPart(t)
	if part == 0 {
		return cases
	}
	for _, c := range cases {
		if PartOf(fmt.Sprint(c)) == part {
			picked = append(picked, c)
		}
	}
	t.Logf("%s%d of %d: %d of %d cases", Ran, part, Parts, len(picked), len(cases))
	return picked
}

// readPart returns the part of this run, or 0 if everything runs.
func readPart(t testing.TB) int {
	t.Helper()
	value := os.Getenv(Variable)
	if value == "" || value == "all" {
		return 0
	}
	part, err := strconv.Atoi(value)
	if err != nil || part < 1 || part > Parts {
		t.Fatalf("%s is %q: set it to 1 to %d, or to all", Variable, value, Parts)
	}
	return part
}
