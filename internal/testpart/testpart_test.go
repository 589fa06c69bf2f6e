package testpart_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/nullops/nullops/internal/testpart"
)

// In seven runs each test runs once, and in a run without a part each one runs.
func TestRotate_EachTestRunsInOnePart(t *testing.T) {
	const tests = 40
	ran := map[string]int{}
	runAll := func(value string) (count int) {
		t.Setenv(testpart.Variable, value)
		for n := range tests {
			f := &fakeTest{TB: t, name: fmt.Sprintf("TestEndToEnd/Story%d", n)}
			if f.run() {
				ran[f.name]++
				count++
			}
		}
		return count
	}
	for part := 1; part <= testpart.Parts; part++ {
		if count := runAll(strconv.Itoa(part)); count < tests/20 || count > tests/3 {
			t.Errorf("part %d has %d of %d tests", part, count, tests)
		}
	}
	for n := range tests {
		if name := fmt.Sprintf("TestEndToEnd/Story%d", n); ran[name] != 1 {
			t.Errorf("%s ran %d times in the seven parts", name, ran[name])
		}
	}
	for _, whole := range []string{"", "all"} {
		if count := runAll(whole); count != tests {
			t.Errorf("%q runs %d of %d tests", whole, count, tests)
		}
	}
}

// All parts together have every case once.
func TestPick_EachCaseIsInOnePart(t *testing.T) {
	var cases []string
	for n := range 40 {
		cases = append(cases, fmt.Sprintf("journal.append=kill@%d", n))
	}
	var together []string
	for part := 1; part <= testpart.Parts; part++ {
		t.Setenv(testpart.Variable, strconv.Itoa(part))
		together = append(together, testpart.Pick(t, cases)...)
	}
	slices.Sort(together)
	slices.Sort(cases)
	if !slices.Equal(together, cases) {
		t.Errorf("all parts are %v", together)
	}
	t.Setenv(testpart.Variable, "all")
	if picked := testpart.Pick(t, cases); !slices.Equal(picked, cases) {
		t.Errorf("all is %v", picked)
	}
}

// These parts are fixed. ui/src/rotation.test.ts has the same names: the two agree.
func TestPartOf_IsFixed(t *testing.T) {
	for name, part := range map[string]int{
		"TestEndToEnd/EngineDies": 5,
		"TestEndToEnd/Replicas":   1,
		"TestEndToEnd/Crowd":      7,
		"journal.append=kill@1":   3,
		"a story about “quotes”":  4,
	} {
		if got := testpart.PartOf(name); got != part {
			t.Errorf("%s is in part %d, wanted %d", name, got, part)
		}
	}
}

// A part that does not exist fails the test instead of running nothing.
func TestRotate_RefusesAPartThatIsNone(t *testing.T) {
	for _, wrong := range []string{"0", "8", "-1", "two"} {
		t.Setenv(testpart.Variable, wrong)
		f := &fakeTest{TB: t, name: "TestX"}
		if f.run() || !strings.Contains(f.failed, wrong) {
			t.Errorf("%q is refused with %q", wrong, f.failed)
		}
	}
}

// fakeTest is a test of any name that notes how it ends.
type fakeTest struct {
	testing.TB
	name, failed string
}

// run reports whether the test goes on behind Rotate.
func (f *fakeTest) run() (ran bool) {
	defer func() { _ = recover() }()
	testpart.Rotate(f)
	return true
}

func (f *fakeTest) Name() string        { return f.name }
func (f *fakeTest) Logf(string, ...any) {}

// As the methods of a real test, these two do not return.
func (f *fakeTest) Skipf(string, ...any) { panic("skipped") }
func (f *fakeTest) Fatalf(format string, args ...any) {
	f.failed = fmt.Sprintf(format, args...)
	panic("failed")
}
