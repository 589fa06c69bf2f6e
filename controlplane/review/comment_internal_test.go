package review

import (
	"strings"
	"testing"

	"github.com/nullops/nullops/controlplane"
)

// The comment tells what the tests came to, and the names of tests, which anybody who can open a
// pull request chooses, stay names.
func TestCommentText_TellsOfTests(t *testing.T) {
	t.Parallel()
	x := sampleReview()
	for name, c := range map[string]struct {
		tests controlplane.TestSummary
		want  string
	}{
		"passed": {controlplane.TestSummary{Tests: 120, Skipped: 2, Seconds: 41.49},
			"\nTests: 118 passed, 2 skipped, in 41 s.\n"},
		"failed": {controlplane.TestSummary{Tests: 120, Failed: 5, Seconds: 0.25, Marked: true,
			Names: []string{"pays by card", "@acme/everyone ![](http://evil.example/x.png)",
				"``` \n# Approved `x`"}},
			"\nTests: 5 of 120 failed, in 0.3 s.\n- `pays by card`\n" +
				"- `@acme/everyone ![](http://evil.example/x.png)`\n" +
				"- ```` ``` # Approved `x` ````\n- and 2 more\n"},
		"missing": {controlplane.TestSummary{Marked: true,
			Problem: "no file matches /results/*.xml"},
			"\nTests: no results.\n\n`no file matches /results/*.xml`\n"},
	} {
		got := commentText(x, []string{"http://a"}, &c.tests)
		if _, got, _ = strings.Cut(got, "- http://a\n"); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	x.State, x.Detail = controlplane.ReviewFailed, "e2e: 1 of 2 tests failed: <img src=x> @ada"
	want := "NullOps: `shop-12` failed: `e2e: 1 of 2 tests failed: <img src=x> @ada`\n"
	if got := commentText(x, nil, nil); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
