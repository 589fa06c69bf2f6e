package cli

import (
	"strings"
	"testing"

	"github.com/nullops/nullops/controlplane/apiclient"
)

// Failed tests that only mark a run are beside its state, and named under the steps, without
// what would move the cursor of a terminal.
func TestPrintDeployment_TellsOfTests(t *testing.T) {
	tests := apiclient.TestSummary{Tests: 120, Failed: 3, Skipped: 2, Seconds: 41.52, Marked: true,
		Names: &[]string{"pays \x1b[2Jby card"}}
	d := apiclient.Deployment{Name: "cart", Status: "ready", Tests: &tests}
	run := apiclient.Run{Number: 1, Steps: []apiclient.Step{{Key: "e2e", Status: "done",
		Tests: &tests}, {Key: "web", Status: "done"}}}
	var b strings.Builder
	if err := printDeployment(&b, d, run); err != nil {
		t.Fatal(err)
	}
	got := b.String()
	for _, want := range []string{"cart  ready  tests: 3 of 120 failed, 2 skipped, in 41.5s\n",
		"\nTests of e2e: 3 of 120 failed, 2 skipped, in 41.5s\n  failed: pays ", "  and 2 more\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
	if strings.Contains(got, "\x1b") || strings.Contains(got, "Tests of web") {
		t.Errorf("it says %q", got)
	}
	problem := "no file matches"
	d.Tests = &apiclient.TestSummary{Problem: &problem, Marked: true}
	if said := detailOf(d); said != "tests: no results" {
		t.Errorf("without results: %q", said)
	}
}
